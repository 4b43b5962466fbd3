"""The view as a Jupyter widget."""

from typing import Any

from clearhead.errors import UserError
from clearhead.explain.view.bundle import script, style


def widget(payload: dict[str, Any]) -> Any:
    """An anywidget that renders the payload.

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

    return AttentionWidget(payload=payload)
