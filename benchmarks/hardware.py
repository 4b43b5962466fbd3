"""What the figures of a benchmark were measured on, in one line."""

from clearhead.compare.hardware import describe

__all__ = ["describe"]
