"""Learning to say what comes next: plain text, a `Gpt`, perplexity and bits a byte."""

from clearhead.data.blocks import BlockBatches, BlockPlan, Blocks
from clearhead.models import Gpt, GptConfig
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_byte_level
from clearhead.training.causal_dev import CausalDev
from clearhead.training.language_model import begun_model
from clearhead.training.language_objective import causal_loss
from clearhead.training.language_recipe import CausalRecipe
from clearhead.training.language_text import Layout, prepare_dev, prepare_ribbon, prepare_tokenizer
from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Score, Words
from clearhead.training.tasks.language import Language

LAYOUT = Layout(learn_byte_level, FastTokenizer.byte_level)
ABOUT = """\
A GPT-2 trained with clearhead; use it with `clearhead generate --model DIRECTORY`, or load the
directory with `transformers`."""
WORDS = Words(
    "Language model",
    ABOUT,
    "tokens",
    "texts",
    "clearhead generate --model",
    Score("bits_per_byte", "bits a byte", "Bits a byte", 3),
)


class Causal(Language):
    """Every token from the tokens before it."""

    words, config = WORDS, GptConfig

    def __init__(self, recipe: CausalRecipe, run: RunDirectory, ground: Ground) -> None:
        self.tokenizer = prepare_tokenizer(recipe, run, LAYOUT)
        self.sign = self.tokenizer.signs["eos"]
        self.model = begun_model(recipe, run, Gpt, lambda: Gpt.from_config(self._config(recipe)))
        dev = prepare_dev(recipe, run)  # first: what is wrong with it can still be mended
        encode, vocab_size = self.tokenizer.encode_batch, self.tokenizer.vocab_size
        length = min(recipe.model.seq_len, self.model.config.seq_len)
        ribbon = prepare_ribbon(recipe, run, encode, self.sign, vocab_size, length + 1)
        rows = max(1, recipe.run.batch_tokens // length)
        self.batches = BlockBatches(ribbon, BlockPlan(length, 1, rows, recipe.run.seed))
        self.dev = CausalDev(dev, self.tokenizer, self.batches.plan)

    def losses(self, model: Gpt, batch: Blocks) -> Losses:
        """Cross-entropy of every next token."""
        return causal_loss(model, batch.ids)

    def _config(self, recipe: CausalRecipe) -> GptConfig:
        m = recipe.model
        return GptConfig(
            vocab_size=self.tokenizer.vocab_size,
            seq_len=m.seq_len,
            d_model=m.d_model,
            layers=m.layers,
            h=m.h,
            d_ff=m.d_ff,
            dropout=m.dropout,
            attention_dropout=m.dropout,
            embedding_dropout=m.dropout,
            activation=m.activation,
            bos_id=self.sign,
            eos_id=self.sign,
        )
