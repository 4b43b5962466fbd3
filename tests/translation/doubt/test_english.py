import pytest

from clearhead.translation.doubt.english import NO_WORDS, NOT_ENGLISH, doubt_of_language
from tests.corpora import corpus_pairs

FOREIGN = """
Je ne sais pas quoi faire.
Où est la gare, s'il vous plaît ?
J'aime beaucoup l'été.
Bonjour tout le monde
Ich habe heute keine Zeit.
Guten Morgen
Wo ist der Bahnhof?
Das Wetter ist schön, nicht wahr?
¿Dónde está la estación?
Me gusta mucho esta canción.
Buenos días, señor
No tengo dinero para el tren.
Dove si trova la stazione?
Grazie mille, sono molto felice.
Eu não sei o que fazer.
Onde fica a estação?
Ik heb geen tijd voor jou.
Ich wohne in Berlin.
Me llamo Pedro.
Come ti chiami?
Ik woon in Amsterdam.
Eu sou do Brasil.
Waar is het station?
Привет, как дела?
今日はいい天気ですね。
أين المحطة؟
Πού είναι ο σταθμός;
qwrtz xkcdfgh bvcxzl
""".strip().splitlines()


@pytest.mark.parametrize("source", FOREIGN)
def test_another_language_is_not_english(source: str) -> None:
    assert doubt_of_language(source) == NOT_ENGLISH


@pytest.mark.parametrize("source", ["", " ", "...", "?!", "🎂", "— …"])
def test_punctuation_has_no_words(source: str) -> None:
    assert doubt_of_language(source) == NO_WORDS


@pytest.mark.parametrize(
    "source",
    [
        "Unknown file format.",
        "Hello!",
        "Leïla Benali lives in São Paulo.",
        "A café in Zürich",
        "Dr. Schwarzenbach",
        "Paul met Mary.",
        "Visit Los Angeles!",
        "Van Gogh painted sunflowers.",
        "408",
        "GPT-4",
        "Price: £120 per night",
        "Vitamin E",
        "x = y + 1",
        "u coming tonight?",
        "Psst!",
        "5 Main Street, Boston, MA 02110",
        "He said 'je ne sais pas' to me and to her.",
    ],
)
def test_english_with_names_or_without_function_words_passes(source: str) -> None:
    assert doubt_of_language(source) == ""


def test_english_sentences_pass_and_french_ones_do_not() -> None:
    pairs = corpus_pairs()[::12]
    assert sum(bool(doubt_of_language(source)) for source, _ in pairs) <= len(pairs) / 1000
    assert sum(bool(doubt_of_language(target)) for _, target in pairs) >= len(pairs) * 0.98
