"""Labels with probabilities, numbers, or vectors for sequences in a file, streamed."""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from clearhead.biology.answering import BATCH_TOKENS, hidden_of, scores_of, states_of
from clearhead.biology.domains import checked, other_strand
from clearhead.biology.model import Domain, Loaded, SequenceModel, load_for
from clearhead.biology.scale import in_units
from clearhead.data.sequences import Record
from clearhead.errors import UserError
from clearhead.evaluation.labelled import probabilities
from clearhead.models import Bert, Esm
from clearhead.pipelines.embedding import POOLINGS
from clearhead.pipelines.engines import Text
from clearhead.pipelines.text_model import TextModel

Floats = NDArray[np.float64]
AT_ONCE = 2048  # records
log = logging.getLogger(__name__)


class Prediction(NamedTuple):
    """What a model says of a record.

    `label` is a class, a string with a class for each position, or a number; `chances` the
    calibrated probabilities, (classes,) or (positions, classes), empty for numbers.
    """

    name: str
    label: str
    chances: Floats


class Predictor:
    """A model directory, ready for records.

    Raises:
        UserError: while predicting: a record's letters are not those of the model's domain.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded, self.config = loaded, loaded.config
        self._readers: dict[int, TextModel] = {}
        self._genes_checked = self.config.domain != "cells"

    @classmethod
    def from_pretrained(cls, directory: str | Path, domain: Domain) -> Self:
        """From a model directory or a run, for records of a domain.

        Raises:
            UserError: there is no model, or it is of another domain.
        """
        return cls(load_for(directory, domain))

    @property
    def columns(self) -> list[str]:
        """Names of what `rows` gives for each record."""
        if self.config.head == "token":
            return ["name", "labels", "probabilities"]
        if not self.config.labels:
            return ["name", "value"]
        return ["name", "label", *(f"p({label})" for label in self.config.labels)]

    def rows(self, records: Iterable[Record]) -> Iterator[list[str]]:
        """One row a record; positions' probabilities are those of the labels given."""
        return map(_row, self.predict(records))

    def predict(self, records: Iterable[Record]) -> Iterator[Prediction]:
        """One prediction a record, in order, streamed; refuses a model without labels at once."""
        if self.config.head == "masked":
            raise UserError("this model predicts masked tokens; fine-tune it first (train --model)")
        every, domain = iter(records), self.config.domain
        chunks = iter(lambda: [checked(record, domain) for record in islice(every, AT_ONCE)], [])
        return chain.from_iterable(map(self._predict, chunks))

    def _predict(self, records: list[Record]) -> Iterator[Prediction]:
        every = self.scores(records)
        if self.config.strands:
            turned = self.scores([other_strand(record) for record in records])
            every = [
                (one + (other[::-1] if one.ndim == 2 else other)) / 2
                for one, other in zip(every, turned, strict=True)
            ]
        labels = np.array(self.config.labels)
        for record, scores in zip(records, every, strict=True):
            if not len(labels):
                value = float(in_units(scores, self.config.scale)[0])
                yield Prediction(record.name, f"{value:.6g}", np.zeros(0))
                continue
            chosen = labels[scores.argmax(axis=-1)]
            yield Prediction(record.name, "".join(np.atleast_1d(chosen).tolist()), scores)

    def scores(self, records: list[Record]) -> list[Floats]:
        """Probabilities of classes, or standardized numbers, averaged over the members."""
        ids = self.encode(records)
        before = self.loaded.vocabulary.edges[0] if self.config.head == "token" else 0
        total: list[Any] = [0.0] * len(records)
        for model in self.loaded.models:
            for row, found in enumerate(scores_of(model, ids)):
                if found.ndim == 2:
                    found = found[before : before + len(records[row].sequence)]
                if self.config.labels:
                    found = probabilities(found, self.loaded.temperature)
                total[row] = total[row] + found / len(self.loaded.models)
        return total

    def encode(self, records: list[Record]) -> list[list[int]]:
        """Token ids.

        Raises:
            UserError: a sequence is longer than the model's positions or than a batch, or, where
                the model was trained on aligned sequences, of another length than they.
        """
        found = []
        exact, longest = self.config.length, self.config.longest
        cells = self.config.domain == "cells"
        if self.config.family in ("motif", "convolution") and not (exact or cells):
            longest = max(longest, BATCH_TOKENS)  # rotary positions have no end; memory has
        for record in records:
            try:
                ids = self.loaded.vocabulary.encode(record.sequence)
            except UserError as error:
                raise UserError(f"{record.place}: {error}") from error
            if cells:
                ids = self.loaded.vocabulary.fitted(ids, longest)
            elif len(ids) > longest or (exact and len(ids) != exact):
                edges = sum(self.loaded.vocabulary.edges)
                wanted = "exactly" if exact else "at most"
                hint = "give sequences of the training data's length" if exact else "cut it"
                raise UserError(
                    f"{record.place}: the sequence has {len(ids) - edges:,} tokens and this model "
                    f"takes {wanted} {longest - edges:,}; {hint}"
                )
            found.append(ids)
        if not self._genes_checked:
            self._check_genes(records)
        return found

    def _check_genes(self, records: list[Record]) -> None:
        """Warn once if most genes of the first cells have other names than those of training."""
        self._genes_checked = True
        genes = {part.rpartition(":")[0] for r in records for part in r.sequence.split()}
        if 2 * len(known := genes & self.loaded.vocabulary.ids.keys()) < len(genes):
            log.warning(
                "only %d of %d genes are known to the model, and the others are left out; give the "
                "genes the names that the model has", len(known), len(genes),
            )  # fmt: skip

    def vectors(self, records: Iterable[Record]) -> Iterator[tuple[str, Floats]]:
        """A name and a vector for each record: the mean over its true tokens, and members."""
        every = iter(records)
        while chunk := [checked(r, self.config.domain) for r in islice(every, AT_ONCE)]:
            ids = self.encode(chunk)
            total: list[Any] = [0.0] * len(chunk)
            for model in self.loaded.models:
                for row, vector in enumerate(self._pooled(model, ids)):
                    total[row] = total[row] + vector / len(self.loaded.models)
            yield from zip((record.name for record in chunk), total, strict=True)

    def _pooled(self, model: SequenceModel, ids: list[list[int]]) -> list[Floats]:
        before, after = self.loaded.vocabulary.edges
        if not isinstance(model.encoder, Bert | Esm):
            found = []
            for row, hidden in zip(ids, hidden_of(model, ids), strict=True):
                read, states = states_of(model.config, len(row))
                true = (read >= before) & (read < len(row) - after)
                found.append(hidden[np.unique(states[true])].mean(axis=0))
            return found
        if id(model) not in self._readers:  # the native engine, where there is a C compiler
            self._readers[id(model)] = TextModel(model.encoder, cast(Any, self.loaded.vocabulary))
        pooling = POOLINGS["inner" if before and after else "mean"]
        vectors = self._readers[id(model)].read([Text(row) for row in ids], pooling)
        return [vector.astype(np.float64) for vector in vectors]


def _row(found: Prediction) -> list[str]:
    if found.chances.ndim == 2:
        return [found.name, found.label, ",".join(f"{x:.3f}" for x in found.chances.max(axis=1))]
    return [found.name, found.label, *(f"{chance:.4f}" for chance in found.chances)]
