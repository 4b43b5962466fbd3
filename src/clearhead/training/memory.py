"""The most memory that this process has held."""

import sys

import torch


def peak_memory() -> str:
    """In words: the process, and the GPU where there is one."""
    parts = [f"{host:.1f} GB"] if (host := peak_resident()) else []
    if torch.cuda.is_available():
        parts.append(f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB on the GPU")
    return " and ".join(parts) or "unknown"


def peak_resident() -> float:
    """Gigabytes of main memory; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows has none
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
