"""How good the model is now, on sentences it does not learn from."""

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.data.pairs import Pair
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.search import in_eval_mode
from clearhead.models.transformer import Transformer
from clearhead.text import Tokenizer
from clearhead.training.objective import translation_loss
from clearhead.training.task import Verdict


class DevSet:
    """Some sentence pairs, encoded once."""

    def __init__(self, pairs: list[Pair], tokenizer: Tokenizer) -> None:
        self.pairs = pairs
        self.tokenizer = tokenizer
        self.sources = tokenizer.encode_batch([pair.source for pair in self.pairs])
        self.targets = tokenizer.encode_batch([pair.target for pair in self.pairs])

    def judge(self, model: Transformer, samples: int) -> Verdict:
        """Loss and greedy BLEU; the model's mode and the random states stay as they were.

        A sentence beyond the model's positions is cut: it is judged by its beginning.
        """
        with in_eval_mode(model), torch.inference_mode():
            loss = self._loss(model)
            translations = self._translate(model)
        shown = list(zip(self.pairs, translations, strict=True))[:samples]
        return Verdict(
            loss,
            len(self.pairs),
            {"bleu": _bleu(translations, [pair.target for pair in self.pairs])},
            [f"{pair.source}\n= {pair.target}\n→ {translation}" for pair, translation in shown],
        )

    def _loss(self, model: Transformer) -> float:
        limit = model.config.src_seq_len - 1
        order = sorted(range(len(self.pairs)), key=lambda i: len(self.sources[i]))
        total, tokens = 0.0, 0
        for start in range(0, len(order), 64):
            rows = order[start : start + 64]
            source = _padded([self.sources[i][:limit] for i in rows], model)
            target = _padded([self.targets[i][:limit] for i in rows], model)
            losses = translation_loss(model, source, target, 0.0)
            total, tokens = total + float(losses.nll), tokens + losses.tokens
        return total / max(1, tokens)

    def _translate(self, model: Transformer) -> list[str]:
        limit, eos = model.config.src_seq_len - 1, model.config.eos_id
        sources = [[*ids[:limit], eos] for ids in self.sources]
        results = decode(model, sources, DecodingOptions(beam_size=1))
        return [self.tokenizer.decode(best[0].ids) for best in results]


def _padded(rows: list[list[int]], model: Transformer) -> NDArray[np.int64]:
    width = max(map(len, rows)) + 1
    out = np.full((len(rows), width), model.config.pad_id, dtype=np.int64)
    for line, ids in zip(out, rows, strict=True):
        line[: len(ids)] = ids
        line[len(ids)] = model.config.eos_id
    return out


def _bleu(translations: list[str], references: list[str]) -> float:
    import sacrebleu  # only here: training on loss alone need not load it

    return float(sacrebleu.corpus_bleu(translations, [references]).score)
