"""All sentences of a text say tu, or all say vous."""

from collections.abc import Sequence

import pytest

from clearhead.decoding import DecodingOptions, Hypothesis
from clearhead.translation import Translator
from clearhead.translation.result import TU, VOUS, OneForm, forms_of_address
from clearhead.translation.sources import Source
from tests.translation.tiny import translator


@pytest.mark.parametrize(
    ("french", "forms"),
    [
        ("Tu viens.", {TU}),
        ("Je t'appelle ce soir.", {TU}),
        ("Voici ta clé.", {TU}),
        ("Fermez la porte.", {VOUS}),
        ("Où est votre clé ?", {VOUS}),
        ("Si tu finis tôt, vérifiez tout.", {TU, VOUS}),
        ("Il a assez bu chez nous, le nez en l'air, au rez-de-chaussée.", set()),
        ("C'est l'été, cette table est à moi.", set()),
    ],
)
def test_a_form_is_seen_in_pronouns_possessives_and_verbs(french: str, forms: set[str]) -> None:
    assert forms_of_address(french) == forms


class Listed:
    """An engine that finds the same hypotheses for a sentence again."""

    def __init__(self, found: dict[int, list[Hypothesis]]) -> None:
        self.found, self.calls = found, 0

    def decode(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions
    ) -> list[list[Hypothesis]]:
        self.calls += 1
        return [self.found[source[0]] for source in sources]


def searched(*sentences: dict[str, float], texts: Sequence[int]) -> tuple[list[str], int]:
    """The translation of each sentence, of which these are found with these scores."""
    tokenizer = translator().tokenizer

    def hypotheses(of: dict[str, float]) -> list[Hypothesis]:
        return [Hypothesis(tokenizer.encode_target(t), s, s, True) for t, s in of.items()]

    engine = Listed({i: hypotheses(of) for i, of in enumerate(sentences)})
    sources = [Source(text, (0, 1), [i], False) for i, text in enumerate(texts)]
    first = [[engine.found[i][0]] for i in range(len(sentences))]
    found = OneForm(engine, tokenizer, DecodingOptions())(sources, first)  # type: ignore[arg-type]
    return [tokenizer.decode(best[0].ids) for best in found], engine.calls


ASK = {"Tu viens ?": -0.4, "Vous venez ?": -1.0}
TELL = {"Je vous attends.": -0.3, "Je t'attends.": -1.5}


def test_the_more_probable_form_is_taken_for_the_whole_text() -> None:
    assert searched(ASK, TELL, texts=[0, 0]) == (["Vous venez ?", "Je vous attends."], 1)
    familiar = {"Je t'attends.": -0.3, "Je vous attends.": -2.5}
    found, _ = searched(ASK, familiar, {"Vos clés ?": -0.3, "Tes clés ?": -0.8}, texts=[0, 0, 0])
    assert found == ["Tu viens ?", "Je t'attends.", "Tes clés ?"]


def test_texts_with_one_form_are_not_searched_again() -> None:
    assert searched(ASK, TELL, texts=[0, 1]) == (["Tu viens ?", "Je vous attends."], 0)
    assert searched(ASK, {"Il part.": -0.1}, texts=[0, 0]) == (["Tu viens ?", "Il part."], 0)


def test_one_sentence_that_mixes_both_is_a_text_too() -> None:
    mixed = {"Si tu viens, sonnez.": -0.5, "Si vous venez, sonnez.": -0.9}
    assert searched(mixed, texts=[0]) == (["Si vous venez, sonnez."], 1)


def test_a_translation_stays_if_the_others_are_much_less_probable() -> None:
    stays = {"Bonne chance à toi !": -0.1, "Bonne chance à vous !": -9.0}
    found, _ = searched(TELL, stays, {"Vous venez ?": -0.1, "Tu viens ?": -3.0}, texts=[0, 0, 0])
    assert found == ["Je vous attends.", "Bonne chance à toi !", "Vous venez ?"]


def test_the_shipped_translator_addresses_the_reader_of_a_letter_in_one_way() -> None:
    shipped = Translator.from_pretrained()
    letter = (
        "Dear Mrs. Brown, I hope you are well. Could you send me the file? Thank you for your help."
    )
    (translation,) = shipped.translate([letter])
    assert forms_of_address(translation) == {VOUS}


def test_the_sentences_of_a_text_are_compared_whatever_the_other_texts_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "You are my son, and I love you. Could you please sign here, sir?"
    t = Translator.from_pretrained()
    alone = t.translate([text], beam_size=1)
    monkeypatch.setattr("clearhead.translation.translator.WINDOW", 2)
    assert t.translate(["Yes.", text, "No."], beam_size=1)[1:2] == alone
