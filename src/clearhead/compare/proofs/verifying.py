"""Try proofs, now, on this machine."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch

from clearhead.compare.peers import left_out
from clearhead.compare.proofs.peers import PEERS, Peer
from clearhead.compare.proofs.proof import Finding, Proof
from clearhead.errors import UserError

ALL, SEED = "all", 20170612


@dataclass(frozen=True)
class Verdict:
    """One proof, tried."""

    peer: str
    proof: Proof
    finding: Finding
    seconds: float

    @property
    def met(self) -> bool:
        """Whether the bound holds here."""
        return self.finding.within(self.proof.bound)


@dataclass(frozen=True)
class Verification:
    """All verdicts, whose versions they are about, and who was left out."""

    verdicts: list[Verdict]
    versions: dict[str, str]
    remarks: list[str]

    @property
    def missed(self) -> int:
        """How many proofs fail."""
        return sum(not verdict.met for verdict in self.verdicts)


def verify(name: str = ALL, say: Callable[[str], None] = print) -> Verification:
    """Every proof against one peer, or against all that are installed.

    Raises:
        UserError: there is no such peer, or its packages are missing.
    """
    chosen = PEERS if name == ALL else {name: find_peer(name)}
    present = {key: peer for key, peer in chosen.items() if not peer.missing}
    remarks = [
        left_out(key, " and ".join(peer.missing), peer.install)
        for key, peer in chosen.items()
        if peer.missing
    ]
    verdicts: list[Verdict] = []
    for key, peer in present.items():
        say(f"{key}: {peer.title}")
        verdicts.extend(attempts(key, peer.proofs()))
    return Verification(verdicts, {key: p.versions for key, p in present.items()}, remarks)


def find_peer(name: str) -> Peer:
    """The peer of this name, with everything that it needs.

    Raises:
        UserError: nobody is called so, or a package is missing.
    """
    if name not in PEERS:
        raise UserError(f"there is no peer {name!r}; choose from {', '.join([*PEERS, ALL])}")
    peer = PEERS[name]
    if missing := peer.missing:
        raise UserError(
            f"verifying against {name} needs {' and '.join(missing)}, not installed here; "
            f"install with: {peer.install}"
        )
    return peer


def attempts(peer: str, proofs: Iterable[Proof]) -> Iterator[Verdict]:
    """Each with the same random numbers in every run; the caller's generator is left alone."""
    for proof in proofs:
        start = time.perf_counter()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            finding = proof.find()
        yield Verdict(peer, proof, finding, time.perf_counter() - start)
