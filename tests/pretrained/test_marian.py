"""Marian: the numbers and the translations of `transformers`, from its files, and back."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from clearhead.blocks import decoder_mask, look_ahead_mask
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.explain.capture import capture
from clearhead.models.marian import Marian
from clearhead.pretrained import from_pretrained, save_pretrained
from clearhead.pretrained.marian import SEARCH, log_search_settings
from tests.pretrained.reference import (
    CLOSE,
    attention_mask,
    check_layers,
    disturbed,
    furthest,
    ragged,
    same_state,
    saved,
)

VOCABULARY, PAD, END = 70, 69, 0
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "heads": 3, "ffn": 28},
    "deep": {"d_model": 40, "encoder_layers": 4, "decoder_layers": 2, "heads": 4, "ffn": 64},
    "wide": {"d_model": 192, "encoder_layers": 2, "decoder_layers": 3, "heads": 6, "ffn": 768},
}


def configuration(size: str, **more: Any) -> Any:
    sizes = dict(SIZES[size])
    heads, ffn = sizes.pop("heads"), sizes.pop("ffn")
    for half in ("encoder", "decoder"):
        sizes |= {f"{half}_attention_heads": heads, f"{half}_ffn_dim": ffn}
    signs = {"pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": END}
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "scale_embedding": True,
             "activation_function": "swish", "forced_eos_token_id": None}  # fmt: skip
    return transformers.MarianConfig(**sizes | signs | usual | more)


def model_of(config: Any) -> Any:
    model = disturbed(transformers.MarianMTModel(config))
    model.final_logits_bias.normal_()
    return model


def reference(directory: Path, size: str, **more: Any) -> Any:
    return saved(model_of(configuration(size, **more)), directory)


def loaded(directory: Path) -> Marian:
    model = from_pretrained(directory)
    assert isinstance(model, Marian)
    return model


def sentences(lengths: tuple[int, ...], vocabulary: int = VOCABULARY) -> Tensor:
    ids = ragged(vocabulary - 1, lengths, PAD)
    for row, length in enumerate(lengths):
        ids[row, length - 1] = END
    return ids


def logits_of(model: Marian, src: Tensor, tgt: Tensor) -> Tensor:
    src_mask = attention_mask(src, PAD)[1]
    hidden = model.decode(model.encode(src, src_mask), src_mask, tgt, look_ahead_mask(tgt.shape[1]))
    logits: Tensor = model.projection_layer.logits(hidden)  # type: ignore[operator]
    return logits


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scaled", [True, False])
@torch.no_grad()
def test_every_layer_equals_theirs(tmp_path: Path, size: str, scaled: bool) -> None:
    theirs = reference(tmp_path, size, scale_embedding=scaled)
    ours = loaded(tmp_path)
    src, tgt = sentences((7, 64, 2, 19)), ragged(VOCABULARY - 1, (23, 64, 5, 64), PAD)
    tgt[:, 0] = PAD
    real, src_mask = attention_mask(src, PAD)
    answer = theirs(src, real, tgt, output_hidden_states=True, output_attentions=True)
    logits = logits_of(ours, src, tgt)
    assert furthest(logits, answer.logits) <= CLOSE
    assert torch.equal(logits.argmax(-1), answer.logits.argmax(-1))
    reading = theirs.get_encoder()(src, real, output_hidden_states=True, output_attentions=True)
    check_layers(
        ours, lambda: ours.encode(src, src_mask), reading, ("src_pos", "encoder"), real.bool()
    )
    paths = ["tgt_pos", *(f"decoder.layers.{n}" for n in range(theirs.config.decoder_layers))]
    with capture(ours, *paths, "decoder.layers.*.*.weights") as seen:
        logits_of(ours, src, tgt)
    for path, state in zip(paths, answer.decoder_hidden_states, strict=True):
        assert furthest(seen[path], state) <= CLOSE
    for name, weights in (("self", answer.decoder_attentions), ("cross", answer.cross_attentions)):
        for n, layer in enumerate(weights):
            mine = seen[f"decoder.layers.{n}.{name}_attention_block.weights"]
            assert furthest(mine, layer) <= CLOSE


def test_a_target_that_begins_with_the_padding_token_may_be_padded(tmp_path: Path) -> None:
    """The mask of labels would hide the begin sign, which is the padding's: say so here."""
    ids = torch.tensor([[PAD, 5, 6, END, PAD]])
    hidden = decoder_mask(ids, PAD)
    assert not hidden[0, 0, 0].any()  # hence Marian's decoder is given the look-ahead mask alone


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformers_loads_what_we_save_bit_identically(
    tmp_path: Path, shared: bool, dtype: torch.dtype
) -> None:
    more = {} if shared else {"decoder_vocab_size": 75}
    config = configuration("deep", share_encoder_decoder_embeddings=shared, **more)
    theirs = saved(model_of(config).to(dtype), tmp_path / "a")
    save_pretrained(from_pretrained(tmp_path / "a", dtype=None), tmp_path / "b")
    same_state(theirs, type(theirs).from_pretrained(tmp_path / "b", dtype="auto"))


@torch.no_grad()
def test_two_vocabularies_have_two_embedding_matrices(tmp_path: Path) -> None:
    theirs = reference(
        tmp_path, "tiny", share_encoder_decoder_embeddings=False, decoder_vocab_size=75
    )
    src, tgt = sentences((9, 4)), ragged(75, (6, 6), PAD)
    expected = theirs(src, attention_mask(src, PAD)[0], tgt).logits
    assert furthest(logits_of(loaded(tmp_path), src, tgt), expected) <= CLOSE


@torch.no_grad()
def test_in_bfloat16_our_error_is_not_larger_than_theirs(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "wide")
    src, tgt = sentences((33, 33)), ragged(VOCABULARY - 1, (41, 41), PAD)
    truth = theirs.double()(src, None, tgt).logits
    rounded = theirs.to(torch.bfloat16)(src, None, tgt).logits
    ours = from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert isinstance(ours, Marian)
    our_error = (logits_of(ours, src, tgt).double() - truth).square().mean().sqrt()
    their_error = (rounded.double() - truth).square().mean().sqrt()
    assert our_error <= 1.1 * their_error


def test_the_layout_of_our_translator_is_refused(tmp_path: Path) -> None:
    reference(tmp_path, "tiny")
    with pytest.raises(UserError, match=r"use clearhead\.pretrained\.save_pretrained"):
        loaded(tmp_path).save_pretrained(tmp_path, torch.float16)
    with pytest.raises(UserError, match=r"use clearhead\.pretrained\.from_pretrained"):
        Marian.from_pretrained(tmp_path)


def test_encoder_and_decoder_of_different_widths_are_refused(tmp_path: Path) -> None:
    theirs = model_of(configuration("tiny", decoder_ffn_dim=32))
    theirs.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="encoder_ffn_dim=28 and decoder_ffn_dim=32"):
        from_pretrained(tmp_path)


def test_search_settings_of_the_file_that_differ_from_ours_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "clearhead")
    ours = '{"num_beams": 4, "length_penalty": 1, "no_repeat_ngram_size": null, "min_length": 0}'
    for content in (ours, "{}"):
        (tmp_path / "generation_config.json").write_text(content, encoding="utf-8")
        log_search_settings(tmp_path)
    assert not caplog.records
    content = '{"num_beams": 6, "length_penalty": 1.0, "no_repeat_ngram_size": 2'
    content += ', "forced_bos_token_id": 5}'
    (tmp_path / "generation_config.json").write_text(content, encoding="utf-8")
    log_search_settings(tmp_path)
    found = "num_beams=6, no_repeat_ngram_size=2, forced_bos_token_id=5"
    assert f"has {found}, which clearhead does not apply" in caplog.text
    assert "set beam_size=6, no_repeat_ngram=2 (" in caplog.text


def test_the_defaults_of_the_search_are_those_of_decoding_options() -> None:
    ours = [option for option in SEARCH.values() if option[0]]
    assert ours and all(getattr(DecodingOptions(), name) == usual for name, usual in ours)
