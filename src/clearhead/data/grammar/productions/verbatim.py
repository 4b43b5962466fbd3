"""What is copied unchanged: URLs, e-mail addresses, hashtags, file names, code, emoji, numbers."""

import unicodedata
from collections.abc import Callable
from functools import cache
from random import Random
from string import ascii_lowercase, ascii_uppercase

from ..lexicon import companies, family_names, first_names, group_by_kind, read, table
from .values import Filling, copied

_KINDS = ("domain", "extension", "airline", "emoji", "smiley", "code")


@cache
def _parts() -> dict[str, tuple[str, ...]]:
    name = "productions/verbatim_parts"
    return group_by_kind(read(name), f"{name}.tsv", _KINDS)


def _part(rng: Random, kind: str) -> str:
    return rng.choice(_parts()[kind])


def _word(rng: Random) -> str:
    return rng.choice(table("productions/verbatim_words"))[0]


def url(rng: Random) -> Filling:
    """`https://www.example.org/docs/model`, `docs.example.org/en`, `http://localhost:8080`."""
    draw = rng.random()
    if draw < 0.05:
        return _copied(f"http://localhost:{rng.randint(1000, 9999)}/{_word(rng)}")
    start = rng.choice(("https://www.", "https://", "http://www.", "www.", "https://", ""))
    part = f"{_word(rng)}." if draw < 0.2 else ""
    path = "".join(f"/{_path(rng)}" for _ in range(rng.randint(0 if start else 1, 3)))
    page, number = _word(rng), rng.randint(1, 999)
    end = rng.choice(("", "", "/", ".html", f"?id={number}", f"#{page}",
                      f"?q={page}&page={number}", f"?lang=en&{page}={number}"))  # fmt: skip
    return _copied(f"{start}{part}{_domain(rng)}{path}{end if path else ''}")


def _path(rng: Random) -> str:
    word = _word(rng)
    forms = (word, word, f"{word}-{_word(rng)}", f"{word}_{rng.randint(1, 99)}", word.capitalize())
    return rng.choice((*forms, str(rng.randint(1, 2030))))


def email(rng: Random) -> Filling:
    """`amara.diop@example.org`."""
    given, name = _ascii(rng.choice(first_names())[0]), _ascii(rng.choice(family_names()))
    office = rng.choice(("contact", "info", "support", "hello"))
    numbered = f"{name}{rng.randint(1, 99)}"
    forms = (f"{given}.{name}", f"{given[0]}.{name}", given, numbered, f"{given}_{name}", office,
             f"{given}-{name}", f"{name}.{given}", f"{given}+{_word(rng)}")  # fmt: skip
    part = f"{_word(rng)}." if rng.random() < 0.12 else ""
    return _copied(f"{rng.choice(forms)}@{part}{_domain(rng)}")


def hashtag(rng: Random) -> Filling:
    """`#DataScience`."""
    words = [_word(rng) for _ in range(rng.randint(1, 2))]
    joined = "".join(words) if rng.random() < 0.5 else "".join(map(str.capitalize, words))
    return _copied(f"#{joined}{rng.choice(('', '', str(rng.randint(2, 2030))))}")


def handle(rng: Random) -> Filling:
    """`@amara_42`."""
    given = _ascii(rng.choice(first_names())[0])
    return _copied(f"@{given}{rng.choice(('', '_' + _word(rng), str(rng.randint(1, 99))))}")


def file_name(rng: Random) -> Filling:
    """`report_v2.pdf`, `data/train.csv`."""
    folder = rng.choice(("", "", "", f"{_word(rng)}/", f"/home/{_word(rng)}/", "./", "~/",
                         f"C:\\{_word(rng)}\\", f"../{_word(rng)}/"))  # fmt: skip
    number = rng.choice(("", "", f"_v{rng.randint(1, 9)}", f"-{rng.randint(1, 2030)}"))
    joint = rng.choice(("", f"_{_word(rng)}"))
    return _copied(f"{folder}{_word(rng)}{joint}{number}{_part(rng, 'extension')}")


def code(rng: Random) -> Filling:
    """Inline code between backticks."""
    first, second = _word(rng), _word(rng)
    return _copied(f"`{_part(rng, 'code').format(first, rng.randint(0, 512), second)}`")


def function(rng: Random) -> Filling:
    """A function: `load_model()`."""
    argument = rng.choice(("", "", _word(rng), str(rng.randint(0, 99))))
    return _copied(f"`{_word(rng)}_{_word(rng)}({argument})`")


def command(rng: Random) -> Filling:
    """A command of a terminal: `pip install wiki`."""
    form = rng.choice(("pip install {}", "git checkout {}", "cd {}", "python {}.py", "ls -l {}",
                       "make {}", "npm run {}", "cat {}.txt", "ssh {}", "mkdir {}"))  # fmt: skip
    return _copied(f"`{form.format(_word(rng))}`")


def emoji(rng: Random) -> Filling:
    """One emoji or two, or a smiley of letters."""
    if rng.random() < 0.12:
        return _copied(_part(rng, "smiley"))
    return _copied("".join(rng.choices(_parts()["emoji"], k=rng.choice((1, 1, 1, 2)))))


def version(rng: Random) -> Filling:
    """`3.11.4`."""
    parts = [rng.randint(0, 20) for _ in range(rng.randint(2, 3))]
    return _copied(".".join(map(str, parts)))


def room(rng: Random) -> Filling:
    """`408`, `12B`."""
    number = rng.randint(1, 40) if rng.random() < 0.3 else rng.randint(101, 1450)
    letter = rng.choice("ABCD") if rng.random() < 0.15 else ""
    return _numbered(f"{number}{letter}")


def flight(rng: Random) -> Filling:
    """`AF123`, `BA 2490`."""
    space = rng.choice(("", "", " "))
    return _numbered(f"{_part(rng, 'airline')}{space}{rng.randint(10, 9999)}")


def phone(rng: Random) -> Filling:
    """A phone number in one of several forms."""
    a, b, c = rng.randint(200, 989), rng.randint(100, 999), rng.randint(1000, 9999)
    pairs = " ".join(f"{rng.randint(0, 99):02d}" for _ in range(4))
    forms = (f"{b}-{c}", f"{a}-{b}-{c}", f"({a}) {b}-{c}", f"+1 {a} {b} {c}", f"06 {pairs}",
             f"+33 6 {pairs}", f"01 {pairs}", f"{a} {b} {c}", f"{a}.{b}.{c}", f"1-800-{b}-{c}",
             f"+44 20 7{b} {c}", f"+32 4{pairs}", f"+1-{a}-{b}-{c}")  # fmt: skip
    return _numbered(rng.choice(forms))


def postcode(rng: Random) -> Filling:
    """`75011`, `H2X 1Y4`."""
    a, b, c = rng.choices(ascii_uppercase, k=3)
    x, y, z = (rng.randint(1, 9) for _ in range(3))
    return _numbered(rng.choice((f"{rng.randint(10_000, 98_999)}", f"{a}{x}{b} {y}{c}{z}")))


def reference(rng: Random) -> Filling:
    """The number of an order or an invoice: `#10482`, `B-2041`."""
    letters = "".join(rng.choices(ascii_uppercase, k=2))
    number = rng.randint(100, 99_999)
    forms = (f"#{number}", f"{letters[0]}-{number}", f"{letters}{number}", str(number))
    return _numbered(rng.choice(forms))


def _domain(rng: Random) -> str:
    name = rng.choice((_word(rng), _ascii(rng.choice(companies())), _word(rng)
                       + rng.choice(ascii_lowercase) + _word(rng)))  # fmt: skip
    return f"{name}.{_part(rng, 'domain')}"


def _ascii(name: str) -> str:
    plain = unicodedata.normalize("NFD", name.lower().replace("ı", "i").replace("ø", "o"))
    return "".join(letter for letter in plain if letter in ascii_lowercase)


def _copied(text: str) -> Filling:
    return copied(text, "copy", f"copy:{text}")


def _numbered(text: str) -> Filling:
    return copied(text, "copy", f"copy:{text}" if len(text) > 2 else "")


# Slots of one line: a seat 14C, a gate B12, the number of a platform or a chapter, `batch_size`.
SHORT: dict[str, Callable[[Random], Filling]] = {
    "seat": lambda rng: _numbered(f"{rng.randint(1, 48)}{rng.choice('ABCDEF')}"),
    "gate": lambda rng: _numbered(f"{rng.choice('ABCDEF')}{rng.randint(1, 60)}"),
    "number": lambda rng: copied(str(rng.randint(1, 60)), "number"),
    "variable": lambda rng: _copied(
        f"`{_word(rng)}_{_word(rng)}`" if rng.random() < 0.7 else f"`{_word(rng)}`"
    ),
}
