"""Whether this processor multiplies bfloat16 faster than float32."""

import timeit
from functools import cache

import torch

SIZE = 512  # of the matrices whose product is timed: about a millisecond on one core
REPEATS = 6


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether products in bfloat16 are faster than in float32 on this device."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and cpu_multiplies_bfloat16()


@cache
def cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for bfloat16 and they are faster than those for float32.

    This is true of Zen 4 and of processors with AMX. With Intel's AVX512-BF16 but without AMX, a
    product in bfloat16 takes 1.7 times as long as in float32.
    """
    ask = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # not every torch has it
    if ask is None or not ask():
        return False
    return time_of_product(torch.bfloat16) < time_of_product(torch.float32)


def time_of_product(dtype: torch.dtype) -> float:
    """Seconds for a product, the shortest: the first prepares the kernel, other work disturbs."""
    a = torch.ones(SIZE, SIZE, dtype=dtype)
    return min(timeit.repeat(lambda: a @ a, number=1, repeat=REPEATS))
