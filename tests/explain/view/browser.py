"""Headless Chromium without a network, for the tests of the view."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
# Resolves at the first paint of the view, in milliseconds since the navigation began.
NOTE_FIRST_PAINT = """
window.painted = new Promise((done) => {
  const look = () => window.attentionView
    ? attentionView.ready.then(() => requestAnimationFrame(() => setTimeout(() => {
        done(performance.now());
      })))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
});
"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; without one the test is skipped, or fails where CLEARHEAD_REQUIRE_BROWSER=1."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        if os.environ.get("CLEARHEAD_REQUIRE_BROWSER") == "1":
            pytest.fail("CLEARHEAD_REQUIRE_BROWSER=1, but there is no Chromium or no playwright")
        pytest.skip("needs Chromium on the PATH and the package playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One page, opened without network; its errors and requests are recorded."""

    def __init__(self, browser: Any, file: Path, before: str = "") -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(viewport={"width": 1100, "height": 760}, offline=True)
        context.add_init_script(NOTE_FIRST_PAINT + before)
        self.page = context.new_page()
        self.page.on("console", lambda message: self._keep(message.type, message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        # Time that the page's thread has worked, not waited for its turn.
        self.inspector = context.new_cdp_session(self.page)
        self.inspector.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(file.as_uri())
        wall = float(self.page.evaluate("window.painted"))
        self.first_paint = min(wall, self.worked())  # milliseconds

    def _keep(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(text)

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.page.context.close()

    def worked(self) -> float:
        """Milliseconds of processor time that the page has spent until now."""
        metrics = self.inspector.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")

    def settle(self) -> None:
        """Until what was chosen is seen."""
        self.page.evaluate("attentionView.ready.then(() => true)")

    def word(self, side: str, place: int) -> str:
        """A selector."""
        return f"[role=option][data-side={side}][data-place='{place}']"

    def asked(self) -> str:
        """The line above the weights."""
        return str(self.page.inner_text(".ch-asked"))

    def answers(self) -> list[str]:
        """The tokens with their weights."""
        self.page.wait_for_timeout(60)
        return [
            " ".join(text.split()) for text in self.page.locator(".ch-readout li").all_inner_texts()
        ]
