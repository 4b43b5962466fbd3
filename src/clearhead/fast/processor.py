"""What this processor multiplies natively, which torch reports by a private function."""

import torch


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether it takes bfloat16 as it is; a CPU without AVX512-BF16 takes ten times as long."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    ask = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # not every torch has it
    return device.type == "cpu" and ask is not None and bool(ask())
