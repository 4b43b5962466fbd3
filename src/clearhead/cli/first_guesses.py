"""Options of other programs, and what to write here instead: an answer to a first guess."""

from importlib.resources import files

DOMAINS = ("dna", "protein", "cells")


def advice(path: str, guess: str) -> str:
    """What to write instead of an option that `clearhead PATH` lacks; empty if unknown.

    No option begins with a hyphen and a space or digit, but an item of a list does.
    """
    if path == "translate" and not guess[1:2].isalpha() and guess[1:2] != "-":
        return "-- before a text that begins with a hyphen, or give -i FILE"
    return guesses().get(path, {}).get(guess, "")


def command_for(verb: str) -> str:
    """What to write instead of a verb that does not exist; empty if unknown.

    Words with spaces between them are a text to translate.
    """
    return 'clearhead translate "TEXT"' if " " in verb.strip() else advice("clearhead", verb)


def guesses() -> dict[str, dict[str, str]]:
    """The rows of first_guesses.tsv by command, then by option; the verbs are of `clearhead`."""
    found: dict[str, dict[str, str]] = {}
    text = files(__package__).joinpath("first_guesses.tsv").read_text(encoding="utf-8")
    for row in text.splitlines()[1:]:  # after the heading
        commands, options, instead = row.split("\t")
        for command in commands.split(", "):
            # In the order of the table, each name once.
            for name in dict.fromkeys(command.replace("*", domain) for domain in DOMAINS):
                found.setdefault(name, {}).update(dict.fromkeys(options.split(", "), instead))
    return found
