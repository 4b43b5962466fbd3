"""The server in docs/your_own_translator.md answers as the translator does."""

import re
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.testclient import TestClient

PAGE = Path(__file__).parents[2] / "docs" / "your_own_translator.md"
TEXTS = ["Where is the station?", "Good morning.", "She has two cats.", ""]


def test_the_server_of_the_page_answers_several_clients_at_once(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "server.py").write_text(code, encoding="utf-8")
    server = runpy.run_path(str(tmp_path / "server.py"))
    client, expected = TestClient(server["app"]), server["translator"].translate(TEXTS)
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: client.post("/translate", json={"texts": TEXTS}), "abc"))
    assert [answer.json() for answer in answers] == [{"translations": expected}] * 3
