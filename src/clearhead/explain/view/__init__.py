"""The attention view: one self-contained HTML component for notebooks, files and web pages."""

from clearhead.explain.view.bertviz import head_view, model_view
from clearhead.explain.view.page import AttentionView
from clearhead.explain.view.payload import Start

__all__ = ["AttentionView", "Start", "head_view", "model_view"]
