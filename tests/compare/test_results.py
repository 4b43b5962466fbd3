import json
from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.compare.results import (
    Benchmark,
    Comparison,
    Results,
    as_markdown,
    format_number,
    read_json,
    write_json,
)
from clearhead.compare.timing import Machine, Measurement
from clearhead.errors import UserError

MACHINE = Machine("A chip", 2, 1, ["AVX2"], "", 0.25, "2.9", "3.11")
BENCHMARK = Benchmark(
    "Swimming",
    "m/s",
    {
        "we, é": [Measurement(0.5, 100), Measurement(0.25, 100), Measurement(1.0, 100)],
        "they": [Measurement(1.0, 100)] * 3,
    },
    [
        Comparison("we, é", "they", 1.5),
        Comparison("they", "we, é", 0.9),
        Comparison("they", "they"),
    ],
    {"they": "in a boat"},
    scale=2.0,
)
BENCHMARKS = [BENCHMARK, replace(BENCHMARK, comparisons=[])]
RESULTS = Results("clearhead bench x", "a pool", MACHINE, BENCHMARKS, ["x"])


def test_written_results_are_read_unchanged(tmp_path: Path) -> None:
    write_json(RESULTS, tmp_path / "r.json")
    again = read_json(tmp_path / "r.json")
    assert again == RESULTS
    assert as_markdown(again) == as_markdown(RESULTS)


def test_the_file_holds_every_measurement(tmp_path: Path) -> None:
    write_json(RESULTS, tmp_path / "r.json")
    record = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert record["benchmarks"][0]["measurements"]["they"] == [[1.0, 100]] * 3
    assert record["machine"]["abilities"] == ["AVX2"]


def test_a_file_of_format_version_1_is_read(tmp_path: Path) -> None:
    old = {
        "format_version": 1,
        "command": RESULTS.command,
        "setting": RESULTS.setting,
        "machine": MACHINE.__dict__,
        "remarks": RESULTS.remarks,
        "heats": [
            {
                "title": one.title,
                "unit": one.unit,
                "laps": one.measurements,
                "duels": [
                    {"ours": c.ours, "theirs": c.theirs, "bar": c.target} for c in one.comparisons
                ],
                "notes": one.notes,
                "per": one.scale,
            }
            for one in BENCHMARKS
        ],
    }
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    assert read_json(tmp_path / "old.json") == RESULTS


def test_the_table_shows_median_range_and_unit() -> None:
    table = as_markdown(RESULTS)
    assert "| median of 3 rounds (range) | ms | m/s | |" in table
    assert "| we, é | 500 (250 to 1,000) | 100 (50.0 to 200) |  |" in table
    assert "| they | 1,000 (1,000 to 1,000) | 50.0 (50.0 to 50.0) | in a boat |" in table


def test_the_table_marks_missed_targets() -> None:
    table = as_markdown(RESULTS)
    assert "| we, é against they | 2.00 (1.00 to 4.00) | ≥ 1.5 |" in table
    assert "| they against we, é | 0.50 (0.25 to 1.00) | ≥ 0.9: missed |" in table
    assert "| they against they | 1.00 (1.00 to 1.00) |  |" in table


def test_the_table_contains_machine_setting_and_remarks() -> None:
    table = as_markdown(RESULTS)
    assert table.startswith("`clearhead bench x`: a pool\n\nMachine: A chip, 2 cores, 1 thread, ")
    assert table.endswith("\n- x\n")


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for table in as_markdown(RESULTS).split("\n\n"):
        rows = [line for line in table.split("\n") if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_numbers_have_three_significant_digits() -> None:
    values = (1234.5, 12.34, 1.234, 0.1234, 0.01234, 1.2e-9, 0.0)
    expected = ["1,234", "12.3", "1.23", "0.12", "0.012", "1e-09", "0"]
    assert [format_number(value) for value in values] == expected


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"command": 1}', "\x00"])
def test_another_file_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="holds no benchmark results"):
        read_json(path)


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize(
    "benchmarks",
    [
        "[1]",
        '[{"title": "t", "unit": "u", "measurements": [], "comparisons": []}]',
        '[{"title": "t", "unit": "u", "measurements": {}, "comparisons": []}]',
        "[" * 100_000,
    ],
    ids=["number", "list", "empty", "deep"],
)
def test_a_file_of_something_else_is_one_line(benchmarks: str, tmp_path: Path) -> None:
    write_json(replace(RESULTS, benchmarks=[]), tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert '"benchmarks": []' in text
    changed = text.replace('"benchmarks": []', f'"benchmarks": {benchmarks}')
    (tmp_path / "r.json").write_text(changed, encoding="utf-8")
    with pytest.raises(UserError, match="holds no benchmark results"):
        read_json(tmp_path / "r.json")
