"""Generation in ids: the tokens of `transformers`, alone and in company, cached or not."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.utils import logging

from clearhead.decoding.causal import CausalEngine
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import Continuation, generate
from clearhead.decoding.readable import decode
from clearhead.decoding.sampling import warped
from clearhead.errors import UserError
from clearhead.models import Gpt
from clearhead.pretrained import from_pretrained
from tests.decoding.tiny import make_model

SIZES: dict[str, dict[str, Any]] = {
    "narrow": {"n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 260, "vocab_size": 50},
    "deep": {"n_embd": 40, "n_layer": 5, "n_head": 4, "n_positions": 230, "vocab_size": 99,
             "n_inner": 56},
    "wide": {"n_embd": 96, "n_layer": 2, "n_head": 6, "n_positions": 400, "vocab_size": 1000},
}  # fmt: skip
LENGTHS = (11, 3, 1, 17)
Ids = list[int]


@cache
def pair(size: str) -> tuple[Any, Gpt]:
    """Theirs and ours, with the same random weights."""
    logging.disable_progress_bar()
    torch.manual_seed(20190214)
    config = transformers.GPT2Config(**SIZES[size], bos_token_id=2, eos_token_id=2)
    theirs = transformers.GPT2LMHeadModel(config)
    with torch.no_grad(), TemporaryDirectory() as folder:
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        theirs.eval().save_pretrained(Path(folder))
        ours = from_pretrained(folder)
    assert isinstance(ours, Gpt)
    return theirs, ours


def prompts(size: str, lengths: Sequence[int] = LENGTHS) -> list[Ids]:
    generator = torch.Generator().manual_seed(4)
    return [
        torch.randint(3, SIZES[size]["vocab_size"], (length,), generator=generator).tolist()
        for length in lengths
    ]


def theirs_alone(size: str, prompt: Ids, count: int, **settings: Any) -> Ids:
    ids = torch.tensor([prompt])
    written = pair(size)[0].generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False,
        pad_token_id=0, **settings,
    )  # fmt: skip
    return list(written[0, len(prompt) :].tolist())


def greedy(count: int, **more: Any) -> SamplingOptions:
    return SamplingOptions(max_new_tokens=count, temperature=0, ignore_eos=True, **more)


def ids_of(found: Sequence[Continuation]) -> list[Ids]:
    return [continuation.ids for continuation in found]


@pytest.mark.parametrize("size", SIZES)
def test_two_hundred_greedy_tokens_of_a_ragged_batch_are_theirs_alone(size: str) -> None:
    found = ids_of(generate(pair(size)[1], prompts(size), greedy(200)))
    expected = [theirs_alone(size, one, 200, eos_token_id=None) for one in prompts(size)]
    assert found == expected
    assert {len(ids) for ids in found} == {200}
    assert len({token for ids in found for token in ids}) > 5  # not one word over and over


def test_a_text_alone_has_the_tokens_that_it_has_in_a_batch() -> None:
    ours = pair("deep")[1]
    together = ids_of(generate(ours, prompts("deep"), greedy(60)))
    assert [ids_of(generate(ours, [one], greedy(60)))[0] for one in prompts("deep")] == together


@torch.no_grad()
def test_with_a_cache_is_without_one() -> None:
    ours, prompt = pair("wide")[1], prompts("wide")[0]
    ids = list(prompt)
    for _ in range(40):
        ids.append(int(ours.logits(ours(torch.tensor([ids]))[:, -1]).argmax()))
    assert ids_of(generate(ours, [prompt], greedy(40)))[0] == ids[len(prompt) :]


def test_with_a_repetition_penalty_greedy_tokens_are_theirs() -> None:
    options = greedy(80, repetition_penalty=1.3)
    found = ids_of(generate(pair("deep")[1], prompts("deep"), options))
    for one, ids in zip(prompts("deep"), found, strict=True):
        assert ids == theirs_alone("deep", one, 80, eos_token_id=None, repetition_penalty=1.3)


SAMPLING = SamplingOptions(
    max_new_tokens=30, temperature=0.9, top_k=20, top_p=0.95, min_p=0.01, repetition_penalty=1.1,
    ignore_eos=True,
)  # fmt: skip


def test_a_text_depends_on_its_seed_and_not_on_its_company() -> None:
    ours, seeds = pair("deep")[1], (5, 6, 7, 8)
    together = ids_of(generate(ours, prompts("deep"), SAMPLING, seeds))
    alone = [
        ids_of(generate(ours, [one], SAMPLING, [seed]))[0]
        for one, seed in zip(prompts("deep"), seeds, strict=True)
    ]
    assert together == alone
    assert ids_of(generate(ours, prompts("deep"), SAMPLING, seeds, rows=3)) == alone
    others = ids_of(generate(ours, prompts("deep"), SAMPLING, (1, 2, 3, 4)))
    assert all(a != b for a, b in zip(others, alone, strict=True))


def test_the_first_token_is_drawn_from_their_distribution() -> None:
    """Chi-square of 3,000 texts of one token; 1 in 1,000 would be above the bound."""
    theirs, ours = pair("narrow")
    prompt, count = prompts("narrow")[1], 3000
    options = SamplingOptions(max_new_tokens=1, temperature=1.5, top_k=12, ignore_eos=True)
    with torch.no_grad():
        logits = theirs(torch.tensor([prompt])).logits[:, -1]
    expected = warped(logits, options).softmax(-1)[0] * count
    found = generate(ours, [prompt] * count, options, rows=count)
    counts = torch.tensor(ids_of(found)).flatten().bincount(minlength=50)
    possible = expected > 0
    assert not counts[~possible].any()
    squares = (counts[possible] - expected[possible]) ** 2 / expected[possible]
    assert float(squares.sum()) < 31.3  # 11 degrees of freedom


def test_a_text_ends_with_its_end_sign_and_others_go_on() -> None:
    ours = pair("deep")[1]
    hot = SamplingOptions(max_new_tokens=150, temperature=3.0, top_k=0)
    free = SamplingOptions(max_new_tokens=150, temperature=3.0, top_k=0, ignore_eos=True)
    seeds = range(8)
    many = prompts("deep") * 2
    endless = generate(ours, many, free, seeds)
    found = generate(ours, many, hot, seeds)
    assert {one.ending for one in found} == {"eos", "length"}
    for whole, one in zip(endless, found, strict=True):
        end = whole.ids.index(2) if 2 in whole.ids else len(whole.ids)
        assert one.ids == whole.ids[:end]
        assert one.ending == ("eos" if 2 in whole.ids else "length")


def test_where_the_positions_end_a_text_ends_cleanly() -> None:
    ours = pair("deep")[1]  # 230 positions
    first, second = generate(ours, prompts("deep", (228, 5)), greedy(20))
    assert (len(first.ids), first.ending) == (3, "positions")
    assert (len(second.ids), second.ending) == (20, "length")
    assert first.ids == theirs_alone("deep", prompts("deep", (228, 5))[0], 3, eos_token_id=None)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [([], "prompt 1 is empty"), ([5] * 231, "prompt 1 has 231 tokens, and this model has seq_len"),
     ([99], "prompt 1 has ids from 99 to 99, and this model's vocabulary has 0 to 98")],
)  # fmt: skip
def test_a_prompt_that_cannot_be_is_named(prompt: Ids, message: str) -> None:
    with pytest.raises(UserError, match=message):
        generate(pair("deep")[1], [[5], prompt])


def test_damaged_weights_are_said_and_not_written_with() -> None:
    ours = from_saved_copy()
    with torch.no_grad():
        ours.decoder.norm.alpha.fill_(torch.nan)
    with pytest.raises(UserError, match="not finite"):
        generate(ours, [[5]])


def test_bfloat16_gives_nearly_the_same_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: True)
    ours, ids = pair("wide")[1], torch.tensor(prompts("wide")[:1])
    with torch.no_grad():
        expected = CausalEngine.of(ours).begin().step(ids)
        found = CausalEngine.of(ours, "bfloat16").begin().step(ids)
    assert found.dtype == torch.float32 and not torch.equal(found, expected)
    assert float((found - expected).norm() / expected.norm()) < 0.05


def test_int8_is_refused() -> None:
    with pytest.raises(UserError, match="does not compute in int8"):
        CausalEngine.of(pair("wide")[1], "int8")


def from_saved_copy() -> Gpt:
    import copy

    return copy.deepcopy(pair("narrow")[1])


WRONG_CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "one list of ids": ({"prompts": [5, 6]}, "not lists of ids"),
    "text": ({"prompts": ["ab"]}, "not lists of ids"),
    "too few seeds": ({"prompts": [[5], [6, 7]], "seeds": [3]}, "1 seeds for 2 prompts"),
    "one number": ({"prompts": [[5]], "seeds": 7}, "not lists of ids"),
    "no rows": ({"prompts": [[5]], "rows": -1}, "rows=-1 is not a whole number"),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_argument_is_named(call: str) -> None:
    arguments, message = WRONG_CALLS[call]
    with pytest.raises(UserError, match=message):
        generate(pair("narrow")[1], **arguments)


def test_seeds_may_be_an_array() -> None:
    given = prompts("narrow")[:2]
    model, seeds = pair("narrow")[1], [4, 11]
    assert generate(model, given, None, np.array(seeds)) == generate(model, given, None, seeds)  # type: ignore[arg-type]


def test_a_model_of_another_family_is_refused_by_its_name() -> None:
    translator: Any = make_model()
    with pytest.raises(UserError, match="a Transformer does not continue texts; give a Gpt"):
        generate(translator, [[5]])
    gpt: Any = pair("narrow")[1]
    with pytest.raises(UserError, match="a Gpt does not translate; give a Transformer"):
        decode(gpt, [[5]])
