"""Text in, text out: the strings of `transformers`, streamed or not, alone or in company."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from clearhead import pipeline
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.errors import UserError
from clearhead.models import Gpt, GptConfig
from clearhead.pipelines.generation import GenerationConfig, TextGenerationPipeline
from clearhead.pipelines.text_generator import TextGenerator
from tests.pipelines.gpt import gpt
from tests.pipelines.models import bert

PROMPTS = ["The man reads", "", "Où est l'été ?", "a book on a table by the old window"]
WILD = SamplingOptions(max_new_tokens=40, temperature=1.5)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt")
    gpt(folder)
    return folder


@pytest.fixture(scope="module")
def write(directory: Path) -> TextGenerationPipeline:
    return pipeline("text-generation", model=directory, device="cpu")


@pytest.fixture(scope="module")
def writer(write: TextGenerationPipeline) -> TextGenerator:
    return write.generator


@pytest.mark.parametrize(
    "wrong", [{"num_return_sequences": "2"}, {"num_return_sequences": 2.0}, {"seed": 1.5},
              {"seed": "7"}, {"stop_strings": None}, {"stop_strings": [3]}],
)  # fmt: skip
def test_a_setting_of_a_wrong_type_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UserError, match=f"{name}="):
        GenerationConfig(**wrong)


def test_their_settings_are_refused(write: TextGenerationPipeline) -> None:
    for other in (transformers.GenerationConfig(max_new_tokens=3), {"max_new_tokens": 3}):
        with pytest.raises(UserError, match=r"GenerationConfig of clearhead\.pipelines"):
            write("The man", generation_config=other)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="generation_config is a"):
            list(write.stream("The man", other))  # type: ignore[arg-type]


def test_a_bos_token_outside_the_vocabulary_is_none(writer: TextGenerator) -> None:
    size = writer.tokenizer.vocab_size
    model = Gpt.from_config(GptConfig(size, d_model=8, layers=1, h=2, d_ff=8, bos_id=50256))
    with pytest.raises(UserError, match="the prompt is empty, and this model has no BOS token"):
        TextGenerator(model, writer.tokenizer).generate([""])


def test_greedy_strings_are_those_of_their_pipeline(
    directory: Path, write: TextGenerationPipeline
) -> None:
    model = transformers.GPT2LMHeadModel.from_pretrained(directory).eval()
    tokenizer = transformers.GPT2TokenizerFast.from_pretrained(directory)
    for prompt in (PROMPTS[0], *PROMPTS[2:]):
        ids: Any = tokenizer(prompt, return_tensors="pt")
        with torch.no_grad():
            written = model.generate(
                **ids, max_new_tokens=30, do_sample=False, pad_token_id=0, eos_token_id=0
            )
        expected = tokenizer.decode(written[0], skip_special_tokens=True)
        (answer,) = write(prompt, max_new_tokens=30, do_sample=False)
        assert answer == {"generated_text": expected}


def test_one_text_gives_its_answers_and_several_a_list_of_them(
    write: TextGenerationPipeline,
) -> None:
    config = GenerationConfig(max_new_tokens=8, num_return_sequences=3, seed=4)
    alone, several = (
        write(PROMPTS[0], generation_config=config),
        write(PROMPTS, generation_config=config),
    )
    assert several[0] == alone and [len(answers) for answers in several] == [3] * 4
    assert len({answer["generated_text"] for answer in alone}) == 3
    short = GenerationConfig(
        max_new_tokens=8, num_return_sequences=3, seed=4, return_full_text=False
    )
    rest = write(PROMPTS[0], generation_config=short)
    assert [PROMPTS[0] + one["generated_text"] for one in rest] == [
        one["generated_text"] for one in alone
    ]


def test_a_stream_joined_is_the_whole_text(writer: TextGenerator) -> None:
    for seed, prompt in enumerate(PROMPTS):
        (whole,) = writer.generate([prompt], WILD, seeds=[seed])
        pieces = list(writer.stream(prompt, WILD, seed=seed))
        assert "".join(pieces) == whole.text
        assert len(pieces) > 5 and all(pieces)


def test_a_text_is_the_same_alone_and_in_company(writer: TextGenerator) -> None:
    together = writer.generate(PROMPTS, WILD, seeds=[9, 8, 7, 6], rows=3)
    for one in together:
        assert writer.generate([one.prompt], WILD, seeds=[one.seed]) == [one]


def test_a_stop_string_ends_a_text_and_is_not_in_it(writer: TextGenerator) -> None:
    whole = [writer.generate([p], WILD, seeds=[3])[0].text for p in PROMPTS]
    stops = [text[len(text) // 2 :][:3] for text in whole]  # across tokens, wherever that is
    found = writer.generate(PROMPTS, WILD, stops, [3] * len(PROMPTS))
    for one, text in zip(found, whole, strict=True):
        assert one.ending == "stop"
        assert one.text == text[: len(one.text)] and not any(stop in one.text for stop in stops)
        assert any(text[len(one.text) :].startswith(stop) for stop in stops)
        streamed = "".join(writer.stream(one.prompt, WILD, stops, 3))
        assert streamed == one.text


def test_another_number_of_seeds_than_of_prompts_is_refused(writer: TextGenerator) -> None:
    with pytest.raises(UserError, match="1 seeds for 2 prompts"):
        writer.generate(["The man", "A dog"], seeds=[1])


def test_without_a_seed_no_two_texts_are_alike(writer: TextGenerator) -> None:
    found = writer.generate(["Once"] * 4, WILD)
    assert len({one.text for one in found}) == 4 and len({one.seed for one in found}) == 4


def test_an_end_for_want_of_positions_is_told(
    writer: TextGenerator, caplog: pytest.LogCaptureFixture
) -> None:
    options = SamplingOptions(max_new_tokens=200, ignore_eos=True)
    (found,) = writer.generate(["Once upon a time"], options, seeds=[1])
    assert found.ending == "positions" and "90 positions end" in caplog.text


def test_too_long_a_prompt_is_an_error(writer: TextGenerator) -> None:
    with pytest.raises(UserError, match=r"'word word .* has seq_len=90 positions"):
        writer.generate(["ok", "word " * 200])


def test_a_model_that_reads_is_shown_to_its_verbs(tmp_path: Path) -> None:
    bert(tmp_path, "BertForMaskedLM")
    with pytest.raises(
        UserError, match=r"a bert model, which encodes texts.*`clearhead fill-mask`"
    ):
        TextGenerator.from_pretrained(tmp_path)


def test_a_number_of_texts_below_one_is_an_error() -> None:
    with pytest.raises(UserError, match="num_return_sequences=0"):
        GenerationConfig(num_return_sequences=0)


def test_a_stop_string_may_be_a_special_token(tmp_path: Path) -> None:
    gpt(tmp_path)
    writer, greedy = TextGenerator.from_pretrained(tmp_path), SamplingOptions(8, temperature=0)
    (plain,) = generate(writer.model, [writer.encode("The man")], greedy)
    marker = writer.tokenizer.piece(plain.ids[2])
    writer.tokenizer._engine.add_special_tokens([marker])  # type: ignore[union-attr]
    (found,) = writer.generate(["The man"], greedy, stop=[marker])
    assert (found.ending, found.tokens) == ("stop", plain.ids.index(plain.ids[2]) + 1)
