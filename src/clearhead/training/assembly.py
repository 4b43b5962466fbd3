"""From a recipe's words to the things a run works with: its model and its batches."""

import dataclasses
from pathlib import Path
from typing import Any

from clearhead.data.batching import BatchPlan
from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig
from clearhead.models.transformer import Transformer
from clearhead.text import Tokenizer
from clearhead.training.translation_recipe import Model, TranslationRecipe


def make_model(recipe: TranslationRecipe, vocab_size: int) -> Transformer:
    """The recipe's model: freshly initialised, or with another model's weights.

    Raises:
        UserError: sizes that do not fit each other, or a vocabulary that is not the model's.
    """
    model = Transformer.from_config(make_config(recipe, vocab_size))
    if recipe.model.path:
        model.load_state_dict(Transformer.from_pretrained(recipe.model.path).state_dict())
    return model


def make_config(recipe: TranslationRecipe, vocab_size: int) -> TransformerConfig:
    """The sizes of `model.path`, or the preset with what the recipe changes in it."""
    m = recipe.model
    rates = _given(m, "dropout", "attention_dropout", "activation_dropout")
    if m.path:
        config = TransformerConfig.load(Path(m.path) / "config.json")
        if config.src_vocab_size != vocab_size:
            raise UserError(
                f"the model in {m.path} has {config.src_vocab_size} pieces, the vocabulary "
                f"{vocab_size}; leave vocabulary.path out to use the model's own"
            )
        return dataclasses.replace(config, **rates)
    return dataclasses.replace(
        TransformerConfig.preset(m.size, vocab_size),
        src_seq_len=m.seq_len,
        tgt_seq_len=m.seq_len,
        norm=m.norm,
        tie_embeddings=m.tie_embeddings,
        **_given(m, "d_model", "encoder_layers", "decoder_layers", "h", "d_ff"),
        **rates,
    )


def _given(section: Model, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(section, name)) is not None}


def make_plan(recipe: TranslationRecipe, tokenizer: Tokenizer) -> BatchPlan:
    """How the recipe cuts its corpus into batches."""
    return BatchPlan(
        max_tokens=recipe.run.batch_tokens,
        window=recipe.run.window,
        seed=recipe.run.seed,
        pad_id=tokenizer.pad_id,
        eos_id=tokenizer.eos_id,
    )
