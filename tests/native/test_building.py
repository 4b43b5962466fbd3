"""The library compiles where there is a C compiler; elsewhere installation goes on without it."""

import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clearhead.native.building import LIBRARY, SOURCES, compile_library, compiler
from tests.laws.tree import ROOT

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


def test_without_a_compiler_the_reason_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert compile_library(tmp_path / LIBRARY.name) == "no C compiler (cc, gcc or clang) is on PATH"
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_a_compiler_that_fails_is_named_with_its_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhead.native.building.SOURCES", tmp_path)  # there is nothing in it
    (tmp_path / "broken.c").write_text("int main(void) { return }", encoding="utf-8")
    target = tmp_path / "out" / LIBRARY.name
    target.parent.mkdir()
    reason = compile_library(target)
    assert reason.startswith(f"{compiler()} failed: ") and "broken.c" in reason
    assert "\n" not in reason
    assert not list(target.parent.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script")
def test_the_messages_of_a_compiler_may_have_any_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "latin1"
    script.write_bytes(b"#!/bin/sh\necho 'erreur : \xab x \xbb' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    assert "failed: erreur" in compile_library(tmp_path / LIBRARY.name)


@needs_compiler
def test_the_compiler_of_the_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    found = str(compiler())
    monkeypatch.setenv("CC", f"{found} -DCHOSEN")
    assert compiler() == f"{found} -DCHOSEN"
    monkeypatch.setenv("CC", "a-compiler-that-is-not-here")
    assert compiler() == found


@needs_compiler
def test_no_source_has_a_warning(tmp_path: Path) -> None:
    assert compile_library(tmp_path / LIBRARY.name, ["-Wall", "-Wextra", "-Werror"]) == ""
    assert (tmp_path / LIBRARY.name).stat().st_size > 10_000


def build_wheel(folder: Path, path: str) -> zipfile.ZipFile:
    """The wheel of a copy of the sources, made where PATH is this."""
    pytest.importorskip("hatchling", reason="optional: pip install hatchling")
    copy = folder / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "_native*")
    shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    environment = {key: value for key, value in os.environ.items() if key != "CC"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=copy, env=environment | {"PATH": path}, check=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def answer_of(installed: Path, code: str) -> str:
    """What Python prints where only this folder holds the package."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=installed, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_pip_accepts_the_platform_of_a_wheel_built_with_any_python_on_a_mac() -> None:
    pytest.importorskip("hatchling", reason="optional: pip install hatchling")
    from packaging.tags import mac_platforms

    tag = runpy.run_path(str(ROOT / "hatch_build.py"))["platform_tag"]
    for platform in ("macosx-14-arm64", "macosx-11.1-arm64"):  # of Homebrew, of conda
        assert tag(platform) in mac_platforms((14, 5), "arm64")
    assert tag("macosx-10.13-universal2") == "macosx_10_13_universal2"
    assert tag("win-amd64") == "win_amd64" and tag("linux-x86_64") == "linux_x86_64"


@pytest.mark.slow
@needs_compiler
def test_a_wheel_made_with_a_compiler_holds_the_library(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, os.environ["PATH"])
    assert wheel.filename is not None and "-py3-none-" in wheel.filename
    assert not wheel.filename.endswith("-any.whl")
    assert f"clearhead/native/{LIBRARY.name}" in wheel.namelist()
    wheel.extractall(tmp_path / "installed")
    code = "from clearhead.native.model import kernel_names; print(kernel_names()[-1])"
    assert answer_of(tmp_path / "installed", code) == "portable"


@pytest.mark.slow
def test_a_wheel_made_without_a_compiler_is_pure_python(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    wheel = build_wheel(tmp_path, str(empty))
    assert wheel.filename is not None and wheel.filename.endswith("-py3-none-any.whl")
    names = wheel.namelist()
    assert not [name for name in names if LIBRARY.name in name]
    assert "clearhead/native/model.py" in names
    assert {f"clearhead/native/c/{path.name}" for path in SOURCES.iterdir()} <= set(names)
    wheel.extractall(tmp_path / "installed")
    code = "from clearhead.native.library import library; library()"
    answer = answer_of(tmp_path / "installed", code)
    assert "no compiled engine" in answer and "readable" in answer
