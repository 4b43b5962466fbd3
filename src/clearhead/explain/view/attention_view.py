"""The attention view for notebooks, files and web pages."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap, Prediction
from clearhead.explain.view.page import frame, page, script, style
from clearhead.explain.view.payload import Start, Theme, payload
from clearhead.files import atomic_write


class AttentionView:
    """An interactive view of attention maps: the value of a notebook cell, or an HTML file.

        pair = sentence_pair(translator, "A woman reads a book.")
        AttentionView(attention_maps(translator, pair))

    If anywidget is installed (the extra `notebook`) and the notebook supports widgets, it is a
    widget; otherwise an HTML frame with the same content. `theme` "auto" follows the reader's
    system setting. `predictions` (see `next_tokens`) adds the probabilities of the next token.
    """

    def __init__(
        self,
        maps: Sequence[AttentionMap],
        title: str = "",
        start: Start | None = None,
        theme: Theme = "light",
        predictions: Sequence[Prediction] = (),
    ) -> None:
        self.maps = tuple(maps)
        start = start or _default_start(maps)
        self.payload: dict[str, Any] = payload(maps, title, start, theme, predictions)

    @property
    def html(self) -> str:
        """The HTML page."""
        return page(self.payload)

    def save(self, path: str | Path) -> None:
        """Write the HTML page.

        Raises:
            UserError: the name does not end in .html, or the file cannot be written.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise UserError(
                f"cannot write {path}: the view is a page; give a name that ends in .html, "
                "or use clearhead.explain.plots for svg, png and pdf"
            )
        atomic_write(path, self.html)

    @cached_property
    def widget(self) -> Any:
        """The same as an anywidget.

        Raises:
            UserError: anywidget is not installed.
        """
        try:
            import anywidget
            import traitlets
        except ImportError as error:
            raise UserError(
                "a notebook widget needs anywidget, which is not installed; "
                "pip install 'clearhead[notebook]'"
            ) from error

        class AttentionWidget(anywidget.AnyWidget):
            _esm = script()
            _css = style()
            payload = traitlets.Dict().tag(sync=True)

        return AttentionWidget(payload=self.payload)

    def _repr_html_(self) -> str:
        return frame(self.payload)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        try:
            shown = self.widget._repr_mimebundle_()
        except UserError:
            return bundle
        data = shown[0] if isinstance(shown, tuple) else shown or {}
        return {**data, **bundle}

    def __repr__(self) -> str:
        kinds = ", ".join(one.kind for one in self.maps)
        return f"AttentionView({kinds}: {self.payload['title']})"


def _default_start(maps: Sequence[AttentionMap]) -> Start:
    """Cross-attention in the layer that aligns best if there is any, else the first layer."""
    for index, one in enumerate(maps):
        if one.kind == "cross":
            return Start(map=index, layer=one.alignment_layer)
    return Start()
