"""The law of results: every one gives a table that the libraries of data frames read, HTML in which nothing
that a model is called is run, and a file from which an equal one is read.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import faultscape as fs
import made_results
from faultscape.errors import ResultError
from faultscape.results.files import KINDS
from faultscape.results.result import Result
from made_results import HOSTILE, MAKERS

EACH = pytest.mark.parametrize("name", MAKERS)


class Tags(HTMLParser):
    """What an HTML text shows, and its tags and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.styles = ""
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.styles += "".join(value or "" for name, value in attrs if name == "style")

    def handle_data(self, data: str) -> None:
        self.text += data


def refusal(path: Path) -> str:
    with pytest.raises(ResultError) as caught:
        fs.load(path)
    said = str(caught.value)
    assert "\n" not in said
    return said.replace(str(path), "FILE")


def test_every_kind_of_result_is_made_here() -> None:
    assert {type(make()).__name__ for make in MAKERS.values()} == set(KINDS)


@EACH
def test_a_table_has_the_columns_that_the_result_names_and_null_for_what_is_undefined(name: str) -> None:
    result = MAKERS[name]()
    table = result.to_arrow()
    columns = result._columns()
    assert table.column_names == [column.name for column in columns]
    assert len({*table.column_names}) == len(columns)
    assert table.num_rows == len(result._rows())
    for column in columns:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name), column.name
        assert column.says
        for value in table[column.name].to_pylist():
            assert value != ""
            assert not isinstance(value, float) or math.isfinite(value)


@EACH
def test_a_table_is_read_through_the_interface_of_arrow(name: str) -> None:
    result = MAKERS[name]()
    read = pa.RecordBatchReader.from_stream(result).read_all()
    assert read.equals(result.to_arrow())


@EACH
def test_html_runs_nothing_and_sets_no_colours(name: str) -> None:
    result = MAKERS[name]()
    seen = Tags()
    seen.feed(result._repr_html_())
    assert seen.tags <= {"div", "pre", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert seen.attributes <= {"style", "title"}
    assert not re.search(r"#[0-9a-f]{3}|rgb|white;|black", seen.styles)
    if HOSTILE in repr(result):
        assert HOSTILE in seen.text


@EACH
def test_what_was_saved_is_read_back_equal(name: str, tmp_path: Path) -> None:
    result = MAKERS[name]()
    result.save(tmp_path / "result.json")
    read = fs.load(tmp_path / "result.json")
    assert type(read) is type(result)
    assert read == result
    assert hash(read) == hash(result)
    assert repr(read) == repr(result)
    assert read.to_arrow().equals(result.to_arrow())


def test_undefined_and_missing_numbers_are_told_apart_when_read(tmp_path: Path) -> None:
    made_results.standings().save(tmp_path / "result.json")
    read: Any = fs.load(tmp_path / "result.json")
    assert math.isnan(read.rankings["mean"].scores["copy"])
    assert math.isnan(read.rankings["mean"].effective_labels)
    assert read.rankings["mean"].consistency_ratio is None
    assert read.matrices["resistance"][1][2] == math.inf


def test_results_of_other_contents_or_kinds_are_not_equal() -> None:
    one = made_results.slots()
    assert one == made_results.slots()
    assert one != replace(one, tied=1)
    assert one != made_results.draws()
    assert one != repr(one)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"result": "Popen"}, "FILE holds 'Popen', which is not a result; results are Agreement, "),
        ({"result": ["Slots"]}, "FILE holds \"['Slots']\", which is not a result"),
        ({"schema": 2}, "FILE has schema 2 of results, and this version reads 1; faultscape 0.1.0 wrote it"),
        ({"content": None}, "FILE is damaged: it is 'None'; make it again"),
        ({"content": {"modles": []}}, "FILE is damaged: Slots has no field 'modles'; make it again"),
        ({"content": {"models": []}}, "FILE is damaged: Slots has no definition; make it again"),
    ],
)
def test_a_file_that_is_no_result_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    made_results.slots().save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert refusal(path).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "FILE is not a result, which is JSON (Expecting value"),
        ("[1]", "FILE is not a result: expected an object, {...}; got [1]"),
        ("{}", "FILE is not a result: expected a file that `save` wrote, or standings.json"),
        ("[" * 100_000, "FILE is not a result: its lists are nested too deeply"),
        ("\udcff", "FILE is not a result, which is JSON ("),
    ],
)
def test_a_file_that_is_no_json_of_ours_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert refusal(path).startswith(said)


def test_a_folder_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "FILE is not a file; give the path of a result, such as STUDY/standings.json"
    assert refusal(tmp_path / "none.json") == "FILE: there is no such file"
    with pytest.raises(ResultError, match="cannot be written: there is no folder"):
        made_results.slots().save(tmp_path / "none" / "result.json")


class OneLineError(Exception):
    """A file was refused in one line."""


def loaded(path: Path) -> Result:
    try:
        return fs.load(path)
    except ResultError as error:
        if "\n" in str(error):
            raise
        raise OneLineError from error


OTHERS: tuple[Any, ...] = (7, "x", None, [], {}, [None, "x"], [7], -1e300)
MOST = 60  # parts of each result that are damaged, from its beginning to its end


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the parts of a JSON value are, as keys from outside to inside."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


def with_other(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """Return a copy of a JSON value in which a part is another."""
    copy = json.loads(json.dumps(value))
    inside = copy
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = other
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MAKERS if not name.startswith("no ")])
def test_whatever_part_is_damaged_it_is_refused_in_one_line_or_can_be_looked_at(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    MAKERS[name]().save(path)
    held = json.loads(path.read_text())
    found = list(places(held["content"]))
    for k, place in enumerate(found[:: 1 + len(found) // MOST]):
        path.write_text(json.dumps(held | {"content": with_other(held["content"], place, OTHERS[k % 8])}))
        with suppress(OneLineError):
            read = loaded(path)
            assert isinstance(read, Result)
            read._repr_html_()


@pytest.mark.parametrize("path", [None, "", 3, {"a": 1}])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ResultError, match="load: expected the path of a result"):
        fs.load(path)


@pytest.mark.parametrize(
    ("name", "text", "instead"),
    [
        ("scores.csv", "model,score", "; a table of scores is ranked by `fs.rank_table`"),
        ("maps.npy", "\x93NUMPY", "; maps of a model are read by `fs.predict`"),
        ("coco.json", '{"annotations": []}', "; masks of COCO are read by `fs.predict`, labels by"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_reads_it(
    name: str, text: str, instead: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert instead in refusal(tmp_path / name)


def test_a_file_elsewhere_is_refused_under_its_own_name() -> None:
    with pytest.raises(ResultError, match=r"^s3://bucket/standings.json is not on this machine; download it"):
        fs.load("s3://bucket/standings.json")


@pytest.mark.parametrize("path", [None, "", 3])
def test_a_result_is_saved_to_a_path(path: Any) -> None:
    with pytest.raises(ResultError, match="save: expected the path of a file"):
        made_results.slots().save(path)


def test_pandas_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ResultError) as caught:
        made_results.slots().to_pandas()
    said = "to_pandas needs pandas, which is not installed: pip install 'faultscape[plot]'"
    assert str(caught.value) == said


@EACH
def test_pandas_has_the_same_rows(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas, an extra")
    result = MAKERS[name]()
    frame = result.to_pandas()
    assert list(frame.columns) == result.to_arrow().column_names
    assert len(frame) == result.to_arrow().num_rows
    pd.testing.assert_frame_equal(frame, pd.DataFrame.from_arrow(result), check_dtype=False)


@EACH
def test_polars_has_the_same_rows(name: str) -> None:
    pl = pytest.importorskip("polars", reason="needs polars, which the tests install")
    result = MAKERS[name]()
    assert pl.DataFrame(result).to_dicts() == result.to_arrow().to_pylist()


@EACH
def test_duckdb_has_the_same_rows(name: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    result = MAKERS[name]()
    table = result.to_arrow()
    columns = ", ".join(f'"{column}"' for column in table.column_names)
    found = duckdb.sql(f"SELECT {columns} FROM result").fetchall()
    assert found == [tuple(row.values()) for row in table.to_pylist()]


def test_narwhals_takes_a_result() -> None:
    narwhals = pytest.importorskip("narwhals", reason="needs narwhals")
    frame = narwhals.from_arrow(made_results.draws(), backend=pa)
    assert frame["image"].to_list() == ["street/1", HOSTILE]


def test_matplotlib_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ResultError) as caught:
        made_results.standings().plot()
    said = "plot needs matplotlib, which is not installed: pip install 'faultscape[plot]'"
    assert str(caught.value) == said
