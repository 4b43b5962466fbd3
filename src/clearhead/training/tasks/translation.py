"""Learning to translate: sentence pairs, a `Transformer`, BLEU."""

from pathlib import Path

import torch

from clearhead.data.batch import Batch
from clearhead.data.batching import TokenBatches
from clearhead.models.config import TransformerConfig
from clearhead.models.transformer import Transformer
from clearhead.training.assembly import make_config, make_model, make_plan
from clearhead.training.corpus import (
    TrainingPairs,
    prepare_corpus,
    prepare_dev,
    prepare_tokenizer,
)
from clearhead.training.objective import Losses, make_objective
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Score, Verdict, Words
from clearhead.training.translation_recipe import TranslationRecipe
from clearhead.training.validation import DevSet

ABOUT = """\
A Transformer trained with clearhead; use it with `clearhead translate --model DIRECTORY`
or `clearhead.Translator.from_pretrained(DIRECTORY)`."""
BLEU = Score("bleu", "BLEU", "BLEU of greedy translations")


class Translation:
    """Every target token from the source sentence and the target tokens before it."""

    def __init__(self, recipe: TranslationRecipe, run: RunDirectory, ground: Ground) -> None:
        self.tokenizer = prepare_tokenizer(recipe, run.root)
        self.model = self._make_model(recipe, run)
        corpus = prepare_corpus(recipe, self.tokenizer, run.data, self.model.config.src_seq_len)
        self.dev = DevSet(prepare_dev(recipe, run.dev), self.tokenizer)
        self.batches = TokenBatches(corpus, make_plan(recipe, self.tokenizer))
        o = recipe.optimizer
        self.objective = make_objective(o.label_smoothing, o.consistency, ground.length_step)
        title = f"{recipe.data.source_lang} → {recipe.data.target_lang} translator"
        self.words = Words(
            title, ABOUT, "target tokens", "sentences, greedy", "clearhead translate --model", BLEU
        )

    @classmethod
    def check(cls, recipe: TranslationRecipe) -> None:
        """Refuse corpora that are not there and sizes that do not fit each other."""
        for spec in (recipe.data.train, recipe.data.dev):
            TrainingPairs(spec, recipe.data)
        if not recipe.model.path:
            make_config(recipe, recipe.vocabulary.size)

    def losses(self, model: Transformer, batch: Batch) -> Losses:
        """Smoothed cross-entropy of the true translation."""
        return self.objective(model, batch)

    def judge(self, model: Transformer, samples: int) -> Verdict:
        """Perplexity of the references, BLEU of greedy translations."""
        return self.dev.judge(model, samples)

    def save(self, model: Transformer, directory: Path) -> None:
        """What `clearhead.Translator` loads."""
        model.save_pretrained(directory, torch.float32)
        self.tokenizer.save(directory)

    def blank(self) -> Transformer:
        """Readable parts only."""
        return Transformer.from_config(self.model.config)

    def introduction(self) -> str:
        """How many pairs, how many pieces."""
        pairs, pieces = len(self.batches.corpus), self.tokenizer.vocab_size
        return f"{pairs:,} pairs, vocabulary {pieces:,}"

    def _make_model(self, recipe: TranslationRecipe, run: RunDirectory) -> Transformer:
        if run.resumable and recipe.model.path:  # which may have moved since
            return Transformer.from_config(TransformerConfig.load(run.last / "config.json"))
        return make_model(recipe, self.tokenizer.vocab_size)
