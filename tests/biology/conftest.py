"""No curves are drawn, because drawing takes longer than a tiny run; training has tests of them."""

from tests.training.conftest import no_pictures

__all__ = ["no_pictures"]
