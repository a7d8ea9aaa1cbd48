"""A table of answers that nobody vouches for is read within bounds, whatever its few bytes unpack to."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faultscape as fs
from faultscape.errors import ModelError
from faultscape.formats import tables as table_files
from faultscape.prediction.sources import tables
from refusals import refused

LONG = "x" * 10_001


def refusal_of(path: Path) -> str:
    with refused(ModelError) as error:
        tables.read(str(path))
    assert len(str(error.value)) < 1000
    return str(error.value)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.tsv.gz", "plain.csv"])
@pytest.mark.parametrize("body", [b"\n" * 8_000_000, b"p,cat\n" * 1_500_000])
def test_text_that_unpacks_to_more_than_is_read_is_left_off_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, body: bytes
) -> None:
    data = b"image,label\n" + body
    data = data.replace(b",", b"\t") if ".tsv" in name else data
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    monkeypatch.setattr(table_files, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(table_files, "_BLOCK", 1 << 16)
    unpacked, read = [], table_files._Counted.read

    def counted(stream: table_files._Counted, size: int = -1) -> bytes:
        unpacked.append(len(found := read(stream, size)))
        return found

    monkeypatch.setattr(table_files._Counted, "read", counted)
    assert f"{name}: unpacks to more than 0 GiB; at most this much is read" in refusal_of(tmp_path / name)
    assert sum(unpacked) < 4 << 20  # its first line is read once more


def test_more_rows_than_are_read_are_refused_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "MOST_ROWS", 100)
    (tmp_path / "rows.csv").write_text("image,label\n" + "p,cat\n" * 101)
    pq.write_table(pa.table({"image": ["p"] * 101, "label": ["cat"] * 101}), tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        assert f"{name}: has more than 100 rows; at most this many are read" in refusal_of(tmp_path / name)


def test_a_cell_that_is_too_long_is_named_by_file_line_and_column(tmp_path: Path) -> None:
    why = "the cell of column 'label' has 10,001 bytes; at most 10,000 are read"
    (tmp_path / "long.csv").write_text(f"image,label,note\np1,cat,{LONG}\np2,{LONG},\n")
    assert refusal_of(tmp_path / "long.csv").endswith(f"long.csv, line 3: {why}")
    (tmp_path / "image.csv").write_text(f"image,label\n{LONG},cat\n")
    assert "image.csv, line 2: the cell of column 'image' has 10,001 bytes" in refusal_of(
        tmp_path / "image.csv"
    )
    (tmp_path / "fits.csv").write_text(f"image,label,note\np1,{LONG[1:]},{LONG}\n")
    # a column that is not asked for does not matter
    assert tables.read(str(tmp_path / "fits.csv")).words.tolist() == [[LONG[1:]]]
    rows = 40_000  # more than one piece
    words = pa.array(["cat"] * (rows - 1) + [LONG])
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        pq.write_table(
            pa.table({"image": [f"p{k}" for k in range(rows)], "label": words.cast(kind)}),
            tmp_path / "long.parquet",
        )
        assert refusal_of(tmp_path / "long.parquet").endswith(f"long.parquet, line {rows + 1}: {why}")


@pytest.mark.slow
def test_a_word_that_a_small_parquet_file_repeats_is_never_written_out(tmp_path: Path) -> None:
    label = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int8), ["x" * 3_000_000])  # 3 TB of text
    pq.write_table(pa.table({"image": pa.array(range(1_000_000)), "label": label}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 10_000_000
    assert "bomb.parquet, line 2: the cell of column 'label' has 3,000,000 bytes" in refusal_of(
        tmp_path / "bomb.parquet"
    )


def test_words_that_are_short_enough_and_repeat_are_counted_as_often_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "MOST_BYTES", 1 << 22)
    label = pa.DictionaryArray.from_arrays(np.zeros(5_000, np.int8), ["x" * 1_000])
    pq.write_table(pa.table({"image": pa.array(range(5_000)), "label": label}), tmp_path / "many.parquet")
    assert "many.parquet: unpacks to more than 0 GiB" in refusal_of(tmp_path / "many.parquet")


def test_a_quotation_mark_that_stays_open_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_BLOCK", 1 << 14)
    (tmp_path / "open.csv").write_text('image,label\np1,"cat\n' + "p2,dog\n" * 10_000)
    assert (
        "open.csv: cannot be read as a table: a line is longer than 16,384 bytes; check for an unclosed quotation mark"
        in refusal_of(tmp_path / "open.csv")
    )


def test_columns_that_hold_neither_words_nor_numbers_and_too_many_columns_are_refused(tmp_path: Path) -> None:
    for column, kind in (
        ([[1]], "list"),
        ([{"a": 1}], "struct"),
        (pa.array([b"abc"], pa.binary(3)), "fixed_size_binary[3]"),
    ):
        pq.write_table(pa.table({"image": ["p"], "label": column}), tmp_path / "odd.parquet")
        assert f"column 'label' holds {kind}" in refusal_of(tmp_path / "odd.parquet")
    (tmp_path / "wide.csv").write_text(",".join(f"c{k}" for k in range(10_001)) + "\n")
    assert "wide.csv: has 10,001 columns; at most 10,000 are read" in refusal_of(tmp_path / "wide.csv")
    (tmp_path / "names.csv").write_text(f"{LONG},b{LONG}\n")
    assert "has no column `label`" in refusal_of(tmp_path / "names.csv")


@pytest.mark.slow
def test_one_long_word_takes_its_own_memory_and_not_that_of_every_row(tmp_path: Path) -> None:
    rows = 4_000
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    (tmp_path / "p.csv").write_text(
        "image,label\n" + "".join(f"p{k},cat\n" for k in range(rows)) + f"long,{LONG[1:]}\n"
    )
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "p.csv"), task="classification", classes=str(tmp_path / "classes.txt"))
    tracemalloc.start()
    try:
        assert fs.predict(study, {"net": str(tmp_path / "p.csv")}).models == {"net": (rows, 1)}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60_000_000, peak  # rows times the longest word are 160,000,000
    assert len((tmp_path / "study" / "failures.csv").read_text()) < 500
