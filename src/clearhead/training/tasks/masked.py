"""Learning to say what is hidden: plain text, a `Bert`, the share of hidden words found."""

from clearhead.data.hidden import HiddenBatches
from clearhead.data.masking import Masked as Hidden
from clearhead.data.masking import Vocabulary
from clearhead.models import Bert, BertConfig
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_wordpiece
from clearhead.training.language_model import begun_model
from clearhead.training.language_objective import masked_loss
from clearhead.training.language_recipe import MaskedRecipe
from clearhead.training.language_text import Layout, prepare_dev, prepare_ribbon, prepare_tokenizer
from clearhead.training.masked_dev import MaskedDev
from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Score, Words
from clearhead.training.tasks.language import Language

LAYOUT = Layout(learn_wordpiece, FastTokenizer.wordpiece)
ABOUT = """\
A BERT trained with clearhead to fill in hidden words; use it with
`clearhead fill-mask --model DIRECTORY`, or load the directory with `transformers`."""
WORDS = Words(
    "Masked language model",
    ABOUT,
    "hidden words",
    "texts",
    "clearhead fill-mask --model",
    Score("accuracy", "accuracy", "Share of hidden words found", 3),
)


class Masked(Language):
    """15 % of all words, hidden anew in each epoch, from what stands around them."""

    words, config = WORDS, BertConfig

    def __init__(self, recipe: MaskedRecipe, run: RunDirectory, ground: Ground) -> None:
        self.tokenizer = prepare_tokenizer(recipe, run, LAYOUT)
        signs = self.tokenizer.signs
        self.model = begun_model(recipe, run, Bert, lambda: Bert.from_config(self._config(recipe)))
        dev = prepare_dev(recipe, run)  # first: what is wrong with it can still be mended
        size = self.tokenizer.vocab_size
        length = min(recipe.model.seq_len, self.model.config.seq_len)
        ribbon = prepare_ribbon(recipe, run, self._bare, signs["sep"], size, length - 2)
        rows = max(1, recipe.run.batch_tokens // length)
        vocabulary = Vocabulary(size, tuple(sorted(set(signs.values()))), signs["mask"])
        frame = (signs["cls"], signs["sep"], signs["pad"])
        self.batches = HiddenBatches(ribbon, vocabulary, frame, length, rows, recipe.run.seed)
        self.dev = MaskedDev(dev, self.tokenizer, vocabulary, length)

    def losses(self, model: Bert, batch: Hidden) -> Losses:
        """Cross-entropy of what is hidden, at these places only."""
        return masked_loss(model, batch.ids, batch.labels)

    def _bare(self, texts: list[str]) -> list[list[int]]:
        """Ids without the signs around a text."""
        return [ids[1:-1] for ids in self.tokenizer.encode_batch(texts)]

    def _config(self, recipe: MaskedRecipe) -> BertConfig:
        m = recipe.model
        return BertConfig(
            vocab_size=self.tokenizer.vocab_size,
            seq_len=m.seq_len,
            d_model=m.d_model,
            layers=m.layers,
            h=m.h,
            d_ff=m.d_ff,
            dropout=m.dropout,
            attention_dropout=m.dropout,
            activation=m.activation,
            pad_id=self.tokenizer.signs["pad"],
            heads=("masked_lm",),
            # BERT's 0.02 is of 768 features. As it is in a narrow model, words look alike for
            # so long that nothing but their frequencies is learned for hundreds of steps.
            initial_std=0.02 * (768 / m.d_model) ** 0.5,
        )
