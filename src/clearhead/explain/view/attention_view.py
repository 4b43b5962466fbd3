"""The attention view for notebooks, files and pages."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.view.page import frame, page
from clearhead.explain.view.payload import Start, Theme, payload
from clearhead.files import atomic_write


class AttentionView:
    """Shows itself as the last line of a notebook's cell, or is saved as one HTML file.

        AttentionView(look(translator, sentence(translator, "A woman reads a book.")))

    Where anywidget is installed (the extra `notebook`) and the notebook can show widgets it
    is one; everywhere else it is an HTML frame with the same view in it. `theme` auto follows
    what the reader has chosen for all pages.
    """

    def __init__(
        self,
        maps: Sequence[AttentionMap],
        title: str = "",
        start: Start | None = None,
        theme: Theme = "light",
    ) -> None:
        self.maps = tuple(maps)
        self.payload: dict[str, Any] = payload(maps, title, start or _first_look(maps), theme)

    @property
    def html(self) -> str:
        """The page."""
        return page(self.payload)

    def save(self, path: str | Path) -> None:
        """Write the page.

        Raises:
            UserError: the name does not end in .html, or the file cannot be written.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise UserError(
                f"cannot write {path}: the view is a page; give a name that ends in .html, "
                "or draw a picture (clearhead.explain.pictures) for svg, png and pdf"
            )
        atomic_write(path, self.html)

    @cached_property
    def widget(self) -> Any:
        """The same as an anywidget.

        Raises:
            UserError: anywidget is not installed.
        """
        from clearhead.explain.view.widget import widget

        return widget(self.payload)

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


def _first_look(maps: Sequence[AttentionMap]) -> Start:
    """Cross-attention, where there is some, in the last layer but one; else the first layer."""
    for place, one in enumerate(maps):
        if one.kind == "cross":
            return Start(map=place, layer=max(0, len(one.layers) - 2))
    return Start()
