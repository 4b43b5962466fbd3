"""Kernels that this processor may lack: NEON under emulation, AVX-VNNI in another encoding."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clearhead.native.building import FLAGS, SOURCES, compiler
from tests.native.library import KERNELS

DRIVER = Path(__file__).parent / "compare_kernels.c"
ARM_COMPILER, ARM_EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
on_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64" or compiler() is None, reason="needs a compiler for x86-64"
)


def compare(compile_: list[str], kernels: str, sources: Path, folder: Path) -> Path:
    """The compiled comparison of these kernels with the portable ones."""
    program = folder / "compare"
    command = [*compile_, *FLAGS, "-Wall", "-Wextra", "-Werror", f"-DKERNELS={kernels}"]
    command += ["-I", str(sources), "-o", str(program), str(DRIVER)]
    command += [*map(str, sorted(sources.glob("kernels_*.c"))), "-lm"]
    subprocess.run(command, check=True)
    return program


def assert_equal(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(": yes\n")


@pytest.mark.skipif(
    not (shutil.which(ARM_COMPILER) and shutil.which(ARM_EMULATOR)),
    reason=f"needs {ARM_COMPILER} and {ARM_EMULATOR}",
)
def test_neon_equals_the_portable_kernels(tmp_path: Path) -> None:
    program = compare([ARM_COMPILER, "-static"], "kernels_neon", SOURCES, tmp_path)
    assert_equal([ARM_EMULATOR, str(program)])


@on_x86
@pytest.mark.skipif("AVX512-VNNI" not in KERNELS, reason="needs a processor with AVX512-VNNI")
def test_avx_vnni_equals_the_portable_kernels(tmp_path: Path) -> None:
    """In the encoding of AVX-512: the same instruction, which more processors have."""
    sources = tmp_path / "c"
    shutil.copytree(SOURCES, sources)
    kernels = sources / "kernels_avxvnni.c"
    text = kernels.read_text(encoding="utf-8")
    assert text.count("%{vex%} ") == 1
    kernels.write_text(text.replace("%{vex%} ", ""), encoding="utf-8")
    assert_equal([str(compare(str(compiler()).split(), "kernels_avxvnni", sources, tmp_path))])


@on_x86
@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
def test_avx_vnni_is_encoded_without_avx_512(tmp_path: Path) -> None:
    target, source = tmp_path / "kernels.o", SOURCES / "kernels_avxvnni.c"
    command = [*str(compiler()).split(), *FLAGS, "-c", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    code = subprocess.run(["objdump", "-d", target], capture_output=True, text=True, check=True)
    instructions = [line.split("\t") for line in code.stdout.splitlines() if "vpdpbusd" in line]
    assert len(instructions) > 20
    assert {bytes_[:2] for _, bytes_, _ in instructions} == {"c4"}  # VEX; that of AVX-512 is 62
    assert not re.search(r"%zmm|%ymm(1[6-9]|2\d|3[01])|%k[0-7]", code.stdout)
