import gzip
import importlib
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clearhead.cli.data import app
from clearhead.data import open_pairs
from clearhead.data.download import CATALOGUE, Corpus, Member, RemoteFile
from clearhead.errors import UserError
from tests.data.server import serving


def test_list_shows_every_corpus_with_its_licence() -> None:
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    for name, corpus in CATALOGUE.items():
        assert name in result.stdout
        assert corpus.licence in result.stdout


def test_get_prints_on_stdout_only_what_data_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving({"/p.tsv.gz": gzip.compress(b"Go.\tVa !\n")}) as site:
        members = (Member("p.tsv"),)
        file = RemoteFile("p.tsv.gz", (f"{site.address}/p.tsv.gz",), members)
        corpus = Corpus("small", "1", "20 B", "CC BY 2.0", (file,), "{}/p.tsv")
        monkeypatch.setitem(CATALOGUE, "small", corpus)
        result = CliRunner().invoke(app, ["get", "small"])
    assert (result.exit_code, result.stdout) == (0, "data/small/p.tsv\n")
    assert "CC BY 2.0" in result.stderr
    assert "--data data/small/p.tsv" in result.stderr
    assert list(open_pairs(result.stdout.strip())) == [("Go.", "Va !")]


def test_the_next_command_survives_a_directory_with_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = Corpus("small", "1", "20 B", "CC BY 2.0", (), "{}/p.tsv")
    monkeypatch.setitem(CATALOGUE, "small", corpus)
    result = CliRunner().invoke(app, ["get", "small", "--dir", "my data"])
    assert result.stdout == "my data/small/p.tsv\n"
    command = result.stderr.splitlines()[-1].removeprefix("train on it with: ")
    assert shlex.split(command)[-2:] == ["--data", "my data/small/p.tsv"]


def test_an_unknown_name_is_the_users_error() -> None:
    result = CliRunner().invoke(app, ["get", "nothing-like-it"])
    assert isinstance(result.exception, UserError)


def test_the_module_loads_nothing_of_the_data_room() -> None:
    source = Path(importlib.import_module("clearhead.cli.data").__file__ or "")
    top = [line for line in source.read_text(encoding="utf-8").splitlines() if "import" in line]
    assert not [line for line in top if line.startswith("from clearhead")]
