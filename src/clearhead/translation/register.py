"""One form of address in a text: all its sentences say *tu*, or all say *vous*.

Sentences are translated one by one, and English *you* does not say which is meant. Where the
translations of a text mix both, its sentences are searched for again with a wider beam, and the
form with the more probable hypotheses is taken for all. A sentence keeps its translation if all
hypotheses with this form are much less probable.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clearhead.decoding.engine import DecodingOptions, Engine, Hypothesis
from clearhead.text import BothLanguages
from clearhead.translation.sources import Source

BEAMS = 12
TU, VOUS = "tu", "vous"
POLITE = 0.5  # nats by which vous may be less probable: it suits several people, and unknown ones
_TU = re.compile(r"\b(?:tu|te|toi|ton|ta|tes|tien|tienne)\b|\bt'", re.IGNORECASE)
_VOUS = re.compile(r"\b(?:vous|votre|vos|vôtre)\b|\b(?!ch|n|r|ass)\w+ez\b", re.IGNORECASE)
MOST = 4.0  # nats by which a hypothesis with the form may be less probable than the best one


def forms_of_address(french: str) -> set[str]:
    """*tu*, *vous*, both or neither; an imperative such as *ferme* shows neither."""
    return {form for form, pattern in ((TU, _TU), (VOUS, _VOUS)) if pattern.search(french)}


@dataclass(frozen=True)
class OneForm:
    """Called with the sources of texts and their hypotheses; returns these, or others."""

    engine: Engine
    tokenizer: BothLanguages
    options: DecodingOptions

    def __call__(
        self, sources: Sequence[Source], found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """The hypotheses of every source, best first."""
        forms = [self._forms(hypotheses[0]) for hypotheses in found]
        of_text: dict[int, set[str]] = {}
        for source, own in zip(sources, forms, strict=True):
            of_text.setdefault(source.text, set()).update(own)
        again = [i for i, s in enumerate(sources) if forms[i] and len(of_text[s.text]) > 1]
        if not again:
            return found
        beams = max(BEAMS, self.options.beam_size)
        wide = replace(self.options, beam_size=beams, n_best=beams)
        more = self.engine.decode([sources[i].ids for i in again], wide)
        candidates = dict(zip(again, more, strict=True))
        best = list(found)
        for text in dict.fromkeys(sources[i].text for i in again):
            together = {i: candidates[i] for i in again if sources[i].text == text}
            for i, chosen in self._one_form(together).items():
                rest = [h for h in found[i] if h.ids != chosen.ids]
                first = replace(chosen, normalized=max(chosen.normalized, found[i][0].normalized))
                best[i] = [first, *rest][: len(found[i])]
        return best

    def _forms(self, hypothesis: Hypothesis) -> set[str]:
        return forms_of_address(self.tokenizer.decode(hypothesis.ids))

    def _one_form(self, candidates: dict[int, list[Hypothesis]]) -> dict[int, Hypothesis]:
        """Of each sentence of a text the best hypothesis with the better form, if it has one."""
        choices = [
            {i: self._best(found, form) for i, found in candidates.items()} for form in (VOUS, TU)
        ]
        polite, familiar = (sum(cost for cost, _ in one.values()) for one in choices)
        better = choices[0] if polite + POLITE >= familiar else choices[1]
        return {i: hypothesis for i, (_, hypothesis) in better.items() if hypothesis}

    def _best(self, found: list[Hypothesis], form: str) -> tuple[float, Hypothesis | None]:
        """The most probable without the other form, and how much less probable it is than all."""
        highest = max(hypothesis.score for hypothesis in found)
        fitting = [h for h in found if self._forms(h) <= {form} and h.score >= highest - MOST]
        best = max(fitting, key=lambda h: h.score, default=None)
        return (best.score - highest if best else -MOST), best
