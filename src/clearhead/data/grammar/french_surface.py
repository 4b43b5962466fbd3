"""Where French words meet: elision, liaison forms, contraction, spacing."""

from .bitext import Word

# A narrow no-break space stands before ? and !, as French typography wants.
THIN = "\u202f"
_VOWELS = "aeiouâàéèêëîïôœh"
# These begin with a vowel letter or h, but nothing elides before them.
_ASPIRATED = ("héros", "hibou", "hérisson", "haricot", "hache", "harpe", "hockey", "huit", "onze")
_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
_SPACED = "?!"


def starts_with_vowel(text: str) -> bool:
    """Whether a word begins with a vowel sound, so that le becomes l' before it."""
    lower = text.lower()
    return lower == "y" or (lower[0] in _VOWELS and not lower.startswith(_ASPIRATED))


def join(words: list[Word]) -> list[Word]:
    """Put every word into the form that its neighbour asks for."""
    return _contract(_elide(words))


def _elide(words: list[Word]) -> list[Word]:
    out = list(words)
    # From the right: whether que elides depends on the word after it alone.
    for index in range(len(out) - 2, -1, -1):
        this, following = out[index], out[index + 1].text
        if this.text == "si" and following in ("il", "ils"):
            out[index] = this._replace(text="s'")
        elif this.before_vowel and starts_with_vowel(following):
            out[index] = this._replace(text=this.before_vowel)
    return out


def _contract(words: list[Word]) -> list[Word]:
    out: list[Word] = []
    for this in words:
        fused = _CONTRACTED.get((out[-1].text, this.text)) if out else None
        if fused:
            out[-1] = Word(fused, out[-1].links | this.links)
        else:
            out.append(this)
    return out


def text(words: list[Word]) -> str:
    """The sentence as it is written, from words that `join` has been over."""
    out = ""
    for item in words:
        if item.text in _SPACED:
            out += THIN
        elif out and not out.endswith("'") and item.text not in ".,":
            out += " "
        out += item.text
    return out[0].upper() + out[1:]
