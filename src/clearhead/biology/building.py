"""A model for given data: from scratch, or with the encoder of a pre-trained one."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from clearhead.biology.domains import DOMAINS
from clearhead.biology.encoder import ConvolutionConfig, MotifConfig
from clearhead.biology.examples import Parts, both_strands
from clearhead.biology.model import HeadName, ModelConfig, SequenceModel, load_for
from clearhead.biology.recipe import BiologyModel, BiologyRecipe, PretrainingRecipe
from clearhead.biology.scale import scale_of
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.sequences import Record
from clearhead.errors import UserError


def new_vocabulary(
    recipe: BiologyRecipe | PretrainingRecipe, sequences: Iterable[str]
) -> Vocabulary:
    """The one of model.path, or one that is fitted to the sequences."""
    path, domain = recipe.model.path, recipe.data.domain
    if path:
        return load_for(path, domain).vocabulary
    return DOMAINS[domain].vocabulary(recipe.tokens, sequences)


def unlabelled_model(recipe: PretrainingRecipe, vocabulary: Vocabulary) -> SequenceModel:
    """A model that predicts masked tokens, fresh or the one of model.path.

    Of a model that was trained on labels, the encoder is kept.

    Raises:
        UserError: there is no model, it is of another domain, or of aligned sequences alone.
    """
    path, domain = recipe.model.path, recipe.data.domain
    sizes: Any = _sizes(recipe.model, recipe.model.max_length, vocabulary)
    if not path:
        return SequenceModel(ModelConfig(domain, sizes, "masked"))
    old = load_for(path, domain).models[0]
    if old.config.head == "masked" and not old.config.facts:
        return old
    if old.config.length:
        raise UserError(f"{path} reads only sequences of its length; give another --model")
    model = SequenceModel(ModelConfig(domain, old.config.encoder, "masked"))
    model.encoder.load_state_dict(old.encoder.state_dict())
    return model


def new_model(recipe: BiologyRecipe, parts: Parts, vocabulary: Vocabulary) -> SequenceModel:
    """A model with a fresh head.

    Raises:
        UserError: sizes that do not fit each other, or no pre-trained model at model.path.
    """
    m = recipe.model
    pretrained = load_for(m.path, recipe.data.domain) if m.path else None
    aligned = m.layout == "aligned"
    length = len(vocabulary.encode(parts.train[0].sequence)) if aligned else 0
    columns: tuple[int, ...] = ()
    if m.linear == "positions" and aligned:
        strands = recipe.augment.both_strands
        columns = varying(both_strands(parts.train) if strands else parts.train, vocabulary)
    sizes: Any = _sizes(m, len(columns) or length or m.max_length, vocabulary)
    if pretrained:
        sizes = pretrained.config.encoder
        columns = pretrained.config.columns
        if isinstance(sizes, MotifConfig) and aligned and not sizes.aligned:
            pool = m.pool if pretrained.config.family == "motif" else 1
            sizes = dataclasses.replace(sizes, aligned=True, seq_len=length, pool=pool)
    fixed = aligned and isinstance(sizes, MotifConfig)
    config = ModelConfig(
        domain=recipe.data.domain,
        encoder=dataclasses.replace(
            sizes, dropout=m.dropout, attention_dropout=m.attention_dropout
        ),
        head=_head(parts, fixed),
        labels=tuple(parts.labels),
        head_dropout=m.head_dropout,
        linear="positions" if m.linear == "positions" and aligned else "",
        strands=recipe.augment.both_strands,
        scale=scale_of(parts, m.logarithm),
        length=length if fixed else 0,
        columns=columns,
    )
    model = SequenceModel(config)
    if config.linear:
        start_at_zero(model)
    if pretrained:
        with torch.no_grad():
            old = dict(pretrained.models[0].encoder.named_parameters())
            for name, weight in model.encoder.named_parameters():
                if name in old:  # the positions of aligned sequences are new
                    weight.copy_(old[name])
    return model


def start_at_zero(model: SequenceModel) -> None:
    """The head says nothing at first: training begins at the linear part."""
    last = model.head.get_submodule("linear")
    for parameter in last.parameters():
        torch.nn.init.zeros_(parameter)


def _sizes(m: BiologyModel, longest: int, vocabulary: Vocabulary) -> MotifConfig:
    kind = MotifConfig if m.kind == "transformer" else ConvolutionConfig
    return kind(
        vocab_size=len(vocabulary.tokens),
        seq_len=longest,
        d_model=m.d_model,
        layers=m.layers,
        h=m.h,
        d_ff=m.d_ff,
        dropout=m.dropout,
        attention_dropout=m.attention_dropout,
        token_width=m.token_width,
        motif=m.motif,
        pool=m.pool if m.layout == "aligned" and m.kind == "transformer" else 1,
        aligned=m.layout == "aligned",
        pad_id=vocabulary.specials["pad"],
    )


def _head(parts: Parts, aligned: bool) -> HeadName:
    if parts.answer == "positions":
        return "token"
    return "aligned" if aligned else "pooled"


def varying(records: Iterable[Record], vocabulary: Vocabulary) -> tuple[int, ...]:
    """The token positions that differ between training sequences of one length."""
    ids = np.array([vocabulary.encode(record.sequence) for record in records])
    return tuple(np.flatnonzero((ids != ids[0]).any(axis=0)).tolist())
