"""From a text to a text: the same ids, close logits, the same likeliest token, the same string."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from clearhead.blocks import look_ahead_mask
from clearhead.decoding import DecodingOptions, decode
from clearhead.models import Bert, Esm, Gpt, Marian
from clearhead.pretrained import load
from tests.pretrained.reference import CLOSE, disturbed, furthest, saved
from tests.text import test_pretrained as files
from tests.text.test_sentencepiece_pair import MODELS, pieces, write

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
         "intermediate_size": 40, "max_position_embeddings": 64}  # fmt: skip


def reference(directory: Path, model: Any) -> Any:
    """Their model beside its tokenizer's files; it keeps the config.json that it writes."""
    return saved(disturbed(model), directory)


def rungs(ours: Tensor, theirs: Tensor) -> Tensor:
    """Close logits and the same likeliest tokens, which come back."""
    assert furthest(ours, theirs) <= CLOSE
    assert torch.equal(ours.argmax(-1), theirs.argmax(-1))
    return ours.argmax(-1)


@torch.no_grad()
def test_bert_predicts_the_same_masked_word(tmp_path: Path) -> None:
    files.wordpiece(tmp_path)
    theirs_tokenizer = transformers.BertTokenizer.from_pretrained(tmp_path)
    config = transformers.BertConfig(vocab_size=len(theirs_tokenizer), **SIZES)
    theirs = reference(tmp_path, transformers.BertForMaskedLM(config))
    ours, tokenizer = load(tmp_path)
    assert isinstance(ours, Bert)
    text = "The [MASK] sees a red bicycle."
    ids = torch.tensor([tokenizer.encode(text)])
    assert ids.tolist() == theirs_tokenizer([text])["input_ids"]
    place = int((ids[0] == tokenizer.special_ids["mask"]).nonzero())
    words = rungs(ours.heads["masked_lm"](ours(ids)), theirs(ids).logits)[0]
    found = tokenizer.decode([int(words[place])])
    assert found and found == theirs_tokenizer.decode([int(words[place])])


@torch.no_grad()
def test_gpt_continues_with_the_same_words(tmp_path: Path) -> None:
    files.byte_level(tmp_path)
    theirs_tokenizer = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    signs = {"bos_token_id": 0, "eos_token_id": 0}
    config = transformers.GPT2Config(
        vocab_size=len(theirs_tokenizer), n_embd=24, n_layer=2, n_head=3, n_positions=64, **signs
    )
    theirs = reference(tmp_path, transformers.GPT2LMHeadModel(config))
    ours, tokenizer = load(tmp_path)
    assert isinstance(ours, Gpt)
    ids = torch.tensor([tokenizer.encode("The cat sees")])
    assert ids.tolist() == theirs_tokenizer(["The cat sees"])["input_ids"]
    expected = theirs.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, min_new_tokens=20,
        do_sample=False, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    while ids.shape[1] < expected.shape[1]:
        ids = torch.cat([ids, rungs(ours.logits(ours(ids)), theirs(ids).logits)[:, -1:]], dim=1)
    assert tokenizer.decode(ids[0].tolist()) == theirs_tokenizer.decode(expected[0])


@torch.no_grad()
def test_esm_predicts_the_same_residue(tmp_path: Path) -> None:
    files.alphabet(tmp_path)
    theirs_tokenizer = transformers.EsmTokenizer.from_pretrained(tmp_path)
    config = transformers.EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, position_embedding_type="rotary",
        token_dropout=True, emb_layer_norm_before=False, **SIZES,
    )  # fmt: skip
    theirs = reference(tmp_path, transformers.EsmForMaskedLM(config))
    ours, tokenizer = load(tmp_path)
    assert isinstance(ours, Esm)
    protein = "MKTAYIAK<mask>RQISFVK"
    ids = torch.tensor([tokenizer.encode(protein)])
    assert ids.tolist() == theirs_tokenizer([protein])["input_ids"]
    residues = rungs(ours.heads["masked_lm"](ours(ids)), theirs(ids).logits)[0].tolist()
    expected = theirs_tokenizer.decode(residues, skip_special_tokens=True)
    assert tokenizer.decode(residues) == expected.replace(" ", "")


@pytest.fixture
def marian(tmp_path: Path) -> Path:
    both = ["</s>", "<unk>", *pieces(MODELS["source"]), *pieces(MODELS["target"]), "<pad>"]
    write(tmp_path, "vocab.json", list(dict.fromkeys(both)))
    for side, model in MODELS.items():
        (tmp_path / f"{side}.spm").write_bytes(model)
    settings = json.dumps({"source_lang": "en", "target_lang": "fr"})
    (tmp_path / "tokenizer_config.json").write_text(settings, encoding="utf-8")
    return tmp_path


@torch.no_grad()
def test_marian_gives_the_same_translation(marian: Path) -> None:
    theirs_tokenizer = transformers.MarianTokenizer.from_pretrained(marian)
    pad = theirs_tokenizer.pad_token_id
    config = transformers.MarianConfig(
        vocab_size=pad + 1, d_model=24, encoder_layers=2, decoder_layers=1, encoder_ffn_dim=40,
        decoder_ffn_dim=40, encoder_attention_heads=3, decoder_attention_heads=3,
        max_position_embeddings=64, pad_token_id=pad, decoder_start_token_id=pad,
        forced_eos_token_id=None, activation_function="swish", scale_embedding=True,
    )  # fmt: skip
    theirs = reference(marian, transformers.MarianMTModel(config))
    ours, tokenizer = load(marian)
    assert isinstance(ours, Marian)
    ids = tokenizer.encode("The cat sees a bicycle.")
    assert [ids] == theirs_tokenizer(["The cat sees a bicycle."])["input_ids"]
    written = theirs.generate(
        torch.tensor([ids]), num_beams=1, do_sample=False, bad_words_ids=[[pad]],
        max_length=None, max_new_tokens=15,
    )  # fmt: skip
    memory = ours.encode(torch.tensor([ids]))
    hidden = ours.decode(memory, None, written, look_ahead_mask(written.shape[1]))
    logits = ours.projection_layer.logits(hidden)  # type: ignore[operator]
    rungs(logits, theirs(torch.tensor([ids]), None, written).logits)
    options = DecodingOptions(beam_size=1, max_length=15, min_length=0)
    found = decode(ours, [ids], options)[0][0].ids
    expected = theirs_tokenizer.decode(written[0], skip_special_tokens=True)
    assert tokenizer.decode(found) == expected != ""
