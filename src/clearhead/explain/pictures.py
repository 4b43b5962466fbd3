"""The former name of `clearhead.explain.plots`; it works for one release."""

import sys

from clearhead import plot_style
from clearhead.explain import plots
from clearhead.explain.plots import *  # noqa: F403
from clearhead.explain.plots import Plot as Picture

__all__ = [*plots.__all__, "Picture"]
__path__ = plots.__path__  # for modules such as `clearhead.explain.pictures.attention`
sys.modules[f"{__name__}.style"] = plot_style
