"""Megabytes without a line end are translated in parts, or refused; no text is lost silently."""

import io
import logging
import time

import pytest

from clearhead.data.lines import read_lines
from clearhead.errors import UserError
from clearhead.translation import lines
from clearhead.translation import translator as module
from clearhead.translation.lines import line_chunks
from tests.translation.tiny import parts, translator


@pytest.mark.parametrize("word", ["table ", "x", "TABLE AND ", "table, ", "\u00e9"])
def test_one_sentence_of_300_000_characters_is_cut_at_once_and_kept_whole(
    word: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = word * (300_000 // len(word))
    began = time.process_time()
    sources = translator().reader.read([text])
    assert time.process_time() - began < 60
    assert "".join(text[start:end] for start, end in (s.span for s in sources)).replace(
        " ", ""
    ) == text.replace(" ", "")
    assert max(len(source.ids) for source in sources) <= parts()[0].config.src_seq_len
    assert f"has {len(text.strip()):,} characters" in caplog.text


def test_many_sentences_are_translated_in_parts_with_progress(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The cat is on the table. I am fine. " * 5
    expected = translator().translate_detailed([text, "Hello."], alignment_layer=0)
    monkeypatch.setattr(module, "WINDOW", 4)
    with caplog.at_level(logging.INFO, "clearhead.translation"):
        found = translator().translate_detailed([text, "Hello."], alignment_layer=0)
    assert [best[0].text for best in found] == [best[0].text for best in expected]
    assert [best[0].alignment for best in found] == [best[0].alignment for best in expected]
    progress = [message for message in caplog.messages if message.endswith("sentences translated")]
    assert progress == [f"{done} of 11 sentences translated" for done in (4, 8, 11)]


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "MOST_LINE", 1 << 20)

    class Endless(io.RawIOBase):
        given = 0

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            self.given += len(buffer)
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

        def readable(self) -> bool:
            return True

    stream = Endless()
    with pytest.raises(UserError, match=r"line 1: more than .* without a line end"):
        list(line_chunks(io.BufferedReader(stream), "endless"))
    assert stream.given < 2 << 20


def test_an_endless_corpus_is_refused() -> None:
    with pytest.raises(UserError, match="/dev/zero, line 1: more than 64 MB without a line end"):
        list(read_lines("/dev/zero"))
