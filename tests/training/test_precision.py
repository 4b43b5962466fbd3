"""Device and number format are chosen, said, and refused in one line where they are not there."""

import pytest
import torch

from clearhead.errors import UserError
from clearhead.fast.accelerate import ON_CPU, ON_GPU
from clearhead.training import precision
from clearhead.training.precision import Ground, choose_device, choose_ground


@pytest.mark.parametrize(
    ("capable", "asked", "dtype", "words"),
    [
        (True, "auto", torch.bfloat16, "bfloat16 with float32 master weights (native"),
        (False, "auto", torch.float32, "float32 (no bfloat16 units here)"),
        (True, "fp32", torch.float32, "float32 (as asked)"),
        (False, "bf16", torch.bfloat16, "bfloat16 with float32 master weights (as asked, but"),
    ],
)
def test_the_number_format_and_why(
    capable: bool,
    asked: str,
    dtype: torch.dtype,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: capable, raising=False)
    ground = choose_ground("cpu", asked)  # type: ignore[arg-type]
    assert ground.dtype == dtype and ground.device.type == "cpu"
    assert ground.why.startswith("cpu, ") and words in ground.why


def test_a_torch_that_does_not_tell_means_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert choose_ground("cpu", "auto").dtype == torch.float32


@pytest.mark.parametrize("name", ["tpu", "", "gpu", "cuda:x", "cuda:", "cuda:-1", "CUDA", "cpu:1x"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is unknown; expected auto, cpu, cuda, cuda:N or mps"):
        choose_device(name)


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in ("cuda", "cuda:0", "mps", "cpu:3"):
        with pytest.raises(UserError, match="is not available"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match="has 2 cuda devices"):
        choose_device("cuda:2")


def test_the_device_decides_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    monkeypatch.setattr(precision, "keep_freed_memory", lambda: kept.append(True))
    cpu = Ground(torch.device("cpu"), torch.bfloat16, "")
    gpu = Ground(torch.device("cuda:1"), torch.bfloat16, "")
    for ground in (cpu, gpu):
        ground.prepare()
    assert kept == [True]
    assert (cpu.twins, gpu.twins) == (ON_CPU, ON_GPU)
    assert (cpu.length_step, gpu.length_step) == (1, 8)


def test_auto_takes_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"
