"""A new flag is a decision: it must show up in a diff of tests/laws/cli_options.txt."""

from tests.laws.cli_options import SNAPSHOT, listing


def test_verbs_and_options_are_the_committed_ones() -> None:
    committed = SNAPSHOT.read_text(encoding="utf-8")
    assert listing() == committed, "meant? `make options` rewrites the list, commit it"


def test_no_verb_repeats_an_option() -> None:
    lines = listing().splitlines()
    assert len(lines) == len(set(lines))
