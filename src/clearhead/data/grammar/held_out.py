"""What training never sees: these words in these constructions, these constructions together."""

from .features import Feature

# Each word, in the form it would have here, and each construction are common in training;
# only their meeting is kept back. (Hence prohibitions: `Open the door!` would ask for `Open`
# with a capital, which no other construction shows: a gap of vocabulary, not of grammar.
# And `brother`, not `uncle`: nothing else would tell that *oncle* asks for *l'*.)
HELD_OUT_WORDS: frozenset[Feature] = frozenset(
    [(verb, "negation") for verb in ("wash", "dance", "choose", "call", "admire", "sleep")]
    + [(verb, "question") for verb in ("draw", "swim", "carry", "invite", "repair", "wake up")]
    + [(verb, "object_pronoun") for verb in ("thank", "protect", "hide", "read", "send")]
    + [(verb, "prohibition") for verb in ("bring", "open", "use", "sing")]
    + [(noun, "before") for noun in ("tree", "castle", "dress", "horse", "umbrella")]
    + [(noun, "after") for noun in ("chair", "hat", "novel", "bus")]
    + [(noun, "relative_clause") for noun in ("cake", "dog", "letter", "nurse", "bike", "soldier")]
    + [(noun, "negation") for noun in ("tomato", "shirt", "bread", "key", "water", "guitar")]
    + [(noun, "possessor") for noun in ("phone", "brother", "boat", "shoe")]
    + [(name, "question") for name in ("Simon", "Julie")]
)

HELD_OUT_CONSTRUCTIONS: tuple[frozenset[str], ...] = (
    frozenset({"question", "negation", "object_pronoun"}),
    frozenset({"question", "relative_clause"}),
    frozenset({"comparison", "negation"}),
    frozenset({"double_pronoun"}),
)


def has_held_out_word(meetings: set[Feature]) -> bool:
    """Whether a word stands in a construction that training keeps from it."""
    return not HELD_OUT_WORDS.isdisjoint(meetings)


def has_held_out_construction(phenomena: set[str]) -> bool:
    """Whether constructions meet that never meet in training."""
    return any(meeting <= phenomena for meeting in HELD_OUT_CONSTRUCTIONS)
