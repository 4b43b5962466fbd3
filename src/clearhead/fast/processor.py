"""What this processor multiplies natively, which torch reports by private functions."""

import torch


def multiplies_int8(device: torch.device) -> bool:
    """Whether 8-bit integers are the fast ones here (VNNI)."""
    return device.type == "cpu" and _says_yes("_is_vnni_supported")


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether it takes bfloat16 as it is; a CPU without AVX512-BF16 takes ten times as long."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and _says_yes("_is_avx512_bf16_supported")


def _says_yes(question: str) -> bool:
    """Not every torch has these names."""
    asks = getattr(torch.cpu, question, None)
    return asks is not None and bool(asks())
