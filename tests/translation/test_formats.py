import json

from clearhead.translation.formats import FORMATS, Shown
from clearhead.translation.result import Translation

BEST = [
    Translation("Bonjour.", -1.5, -0.5, True, ((5, 6),), ((0, 0),)),
    Translation("Salut\nà toi", -2.5, -0.75, False, ((7,),), ((0, 0), (0, 1))),
]
ALL, NOTHING = Shown(scores=True, alignments=True), Shown()


def test_text_is_the_translation_and_what_was_asked_for() -> None:
    assert FORMATS["text"](4, "Hi.", BEST[:1], NOTHING) == ["Bonjour."]
    assert FORMATS["text"](4, "Hi.", BEST[:1], ALL) == ["-1.5000\tBonjour. ||| 0-0"]


def test_moses_counts_texts_and_keeps_one_line_each() -> None:
    assert FORMATS["moses"](4, "Hi.", BEST, ALL) == [
        "4 ||| Bonjour. ||| Score= -1.5000 ||| -0.5000 ||| 0-0",
        "4 ||| Salut à toi ||| Score= -2.5000 ||| -0.7500 ||| 0-0 0-1",
    ]


def test_jsonl_is_one_object_a_text_with_all_its_translations() -> None:
    (line,) = FORMATS["jsonl"](4, "Hi «.", BEST, ALL)
    assert "\n" not in line
    assert "«" in line
    assert json.loads(line) == {
        "id": 4,
        "source": "Hi «.",
        "translation": "Bonjour.",
        "translations": [
            {
                "text": "Bonjour.",
                "finished": True,
                "score": -1.5,
                "normalized": -0.5,
                "alignment": "0-0",
            },
            {
                "text": "Salut\nà toi",
                "finished": False,
                "score": -2.5,
                "normalized": -0.75,
                "alignment": "0-0 0-1",
            },
        ],
    }
    (bare,) = FORMATS["jsonl"](0, "Hi.", BEST[:1], NOTHING)
    assert json.loads(bare)["translations"] == [{"text": "Bonjour.", "finished": True}]
