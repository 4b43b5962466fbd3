"""What this processor multiplies natively: torch knows, but says so under private names."""

import torch
from torch import Tensor


def multiplies_int8(device: torch.device) -> bool:
    """Whether 8-bit integers are the fast ones here (VNNI)."""
    return device.type == "cpu" and _says_yes("_is_vnni_supported")


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether it takes bfloat16 as it is; a CPU without AVX512-BF16 takes ten times as long."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and _says_yes("_is_avx512_bf16_supported")


def multiplies_tiles() -> bool:
    """Whether it has matrix units (AMX): they take tiles of bfloat16 or 8-bit integers."""
    return _says_yes("_is_amx_tile_supported")


def onednn_takes(x: Tensor) -> bool:
    """Whether oneDNN has products of this format here; it refuses what would be far too slow."""
    if x.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if x.dtype == torch.bfloat16:  # from AVX-512 on
        asks = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
        return asks is not None and bool(asks())
    return x.dtype == torch.float32


def _says_yes(question: str) -> bool:
    """Not every torch has these names."""
    asks = getattr(torch.cpu, question, None)
    return asks is not None and bool(asks())
