"""Probes run an answer and record what can be seen of it; one function for each subject.

A probe receives a `Run` and is called once for each case, a choice of sizes that are all
different, batch 1 included. Importing this package registers every probe.
"""

from clearhead.learn.probes import attention, biology, decoding, layers, stacks, training, values
from clearhead.learn.probes.registry import PROBES, Case, Probe, probe

__all__ = [
    "PROBES",
    "Case",
    "Probe",
    "attention",
    "biology",
    "decoding",
    "layers",
    "probe",
    "stacks",
    "training",
    "values",
]
