import json
from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.compare.hardware import Machine, describe, describe_machine
from clearhead.compare.race import Lap
from clearhead.compare.results import Duel, Heat, Results, read_json, write_json
from clearhead.compare.table import as_markdown
from clearhead.errors import UserError

MACHINE = Machine("A chip", 2, 1, ["AVX2"], "", 0.25, "2.9", "3.11")
HEAT = Heat(
    "Swimming",
    "m/s",
    {"we, é": [Lap(0.5, 100), Lap(0.25, 100), Lap(1.0, 100)], "they": [Lap(1.0, 100)] * 3},
    [Duel("we, é", "they", 1.5), Duel("they", "we, é", 0.9), Duel("they", "they")],
    {"they": "in a boat"},
    per=2.0,
)
RESULTS = Results("clearhead bench x", "a pool", MACHINE, [HEAT, replace(HEAT, duels=[])], ["x"])


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    write_json(RESULTS, tmp_path / "r.json")
    again = read_json(tmp_path / "r.json")
    assert again == RESULTS
    assert as_markdown(again) == as_markdown(RESULTS)


def test_the_file_holds_every_lap(tmp_path: Path) -> None:
    write_json(RESULTS, tmp_path / "r.json")
    record = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert record["heats"][0]["laps"]["they"] == [[1.0, 100]] * 3
    assert record["machine"]["abilities"] == ["AVX2"]


def test_the_table_shows_median_range_and_unit() -> None:
    table = as_markdown(RESULTS)
    assert "| median of 3 rounds (range) | ms | m/s | |" in table
    assert "| we, é | 500 (250 to 1,000) | 100 (50.0 to 200) |  |" in table
    assert "| they | 1,000 (1,000 to 1,000) | 50.0 (50.0 to 50.0) | in a boat |" in table


def test_the_table_says_which_bar_was_missed() -> None:
    table = as_markdown(RESULTS)
    assert "| we, é against they | 2.00 (1.00 to 4.00) | ≥ 1.5 |" in table
    assert "| they against we, é | 0.50 (0.25 to 1.00) | ≥ 0.9: missed |" in table
    assert "| they against they | 1.00 (1.00 to 1.00) |  |" in table


def test_the_table_names_machine_setting_and_remarks() -> None:
    table = as_markdown(RESULTS)
    assert table.startswith("`clearhead bench x`: a pool\n\nMachine: A chip, 2 cores, 1 threads, ")
    assert table.endswith("\n- x\n")


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for table in as_markdown(RESULTS).split("\n\n"):
        rows = [line for line in table.split("\n") if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"command": 1}', "\x00"])
def test_another_file_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="holds no results of this clearhead"):
        read_json(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        read_json(tmp_path / "none.json")


def test_the_machine_is_described_in_one_line() -> None:
    line = describe()
    assert "\n" not in line
    machine = describe_machine()
    assert machine.torch in line and f"{machine.threads} threads" in line
    assert Machine(**json.loads(json.dumps(machine.__dict__))) == machine
