"""Files of a study are put whole or not at all, and what a killed run left is cleared away."""

from __future__ import annotations

import csv
import errno
import hashlib
import os
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.process import made_aside
from faultscape.study.folder import put
from faultscape.study.tables.logs import Failure, read_failures, rename_rows, replace_failures
from refusals import refused, refused_line

OLD, NEW = b"old" * 1000, b"new" * 100_000


@contextmanager
def a_disk_that_takes_no_more_than(size: int) -> Iterator[None]:
    """Let every write beyond so many bytes of a file fail, as on a full disk: the first bytes are written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    compiled = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python keeps the first bytes of a module that is imported meanwhile
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiled


def test_a_write_that_fails_half_way_leaves_the_old_file_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "selection.csv"
    put(path, OLD)
    with (
        a_disk_that_takes_no_more_than(len(NEW) // 2),
        refused(StudyError, r"cannot write .*run the same line again"),
    ):
        put(path, NEW)
    assert path.read_bytes() == OLD
    assert [p.name for p in path.parent.iterdir()] == ["selection.csv"]
    assert put(path, NEW) == hashlib.sha256(NEW).hexdigest()
    assert path.read_bytes() == NEW


def test_the_next_file_sweeps_away_what_killed_writers_left_and_nothing_that_is_being_written(
    tmp_path: Path,
) -> None:
    names = {"left": ".writing-00c0ffee-a.png", "held": ".writing-0badf00d-b.png"}
    begun = tmp_path / ".writing-00000000-c.png"  # by a process that has not locked it yet
    note = tmp_path / ".writing-at-0"  # which is not an unfinished file
    begun.touch()
    for path in (*(tmp_path / name for name in names.values()), note):
        path.write_bytes(NEW)
    with (tmp_path / names["held"]).open("r+b") as file:
        assert made_aside.hold(file)
        put(tmp_path / "d.png", NEW)
        assert {path.name for path in tmp_path.iterdir()} == {names["held"], begun.name, note.name, "d.png"}


def test_many_threads_write_one_folder_and_none_sweeps_the_file_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_aside, "_AGAIN", 0.0)  # so that every write sweeps
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: put(tmp_path / f"{k}", OLD), range(200)))
    assert len(list(tmp_path.iterdir())) == 200


def test_a_new_file_that_cannot_be_written_is_not_there_at_all(tmp_path: Path) -> None:
    with a_disk_that_takes_no_more_than(len(NEW) // 2), refused(StudyError, "cannot write"):
        put(tmp_path / "new", NEW)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("code", "cure"),
    [
        (errno.ENOSPC, "free some space on that disk, then"),
        (errno.EDQUOT, "your quota on that disk is used up"),
        (errno.EFBIG, "the file is too large for that disk or for your limit"),
        (errno.EROFS, "that disk is read-only"),
        (errno.EACCES, "choose a folder you may write to, then"),
        (errno.EIO, "free some space or choose a folder you may write to, then"),
        (errno.ENOENT, "choose a folder you may write to, then"),
        (errno.ENOTDIR, "choose a folder you may write to, then"),
    ],
)
def test_what_cannot_be_written_is_told_with_what_cures_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, cure: str
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", no_space)
    with refused(StudyError) as told:
        put(tmp_path / "new", NEW)
    assert str(told.value).startswith(f"cannot write {tmp_path / 'new'}: {os.strerror(code)}; {cure}")
    assert str(told.value).count("free") == (code in (errno.ENOSPC, errno.EFBIG, errno.EIO))


def test_a_file_that_is_too_large_for_its_disk_is_not_cured_by_space(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    with a_disk_that_takes_no_more_than(100):
        err = refused_line("collect", tmp_path / "study", corpus.photos, "--classes", corpus.classes)
    assert "File too large; the file is too large for that disk" in err
    assert "free some space" not in err


def test_the_bytes_are_on_the_disk_before_the_name_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync, seen = tmp_path / "file", os.fsync, []
    put(path, OLD)

    def synced(descriptor: int) -> None:
        seen.append((os.fstat(descriptor).st_size, path.read_bytes()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    put(path, NEW)
    assert seen == [(len(NEW), OLD)]


def test_what_a_killed_run_was_writing_is_removed_by_the_next_line_and_nothing_else(tmp_path: Path) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=2, models=1), tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(study), corpus.models, engine="local")
    whole = made.bytes_under(study, "predictions", "*.parquet", "*.toml")
    left = [study / ".writing-17-study.toml", study / "predictions" / "model-0" / ".writing-17-00000.parquet"]
    spool = study / "predictions" / "model-0" / ".spool-00001"  # slow work that is done: not to be lost
    for path in (*left, spool):
        path.write_bytes(b"half")
    fs.collect(str(study), str(corpus.photos))
    assert not [path for path in left if path.exists()]
    assert spool.read_bytes() == b"half"
    assert made.bytes_under(study, "predictions", "*.parquet", "*.toml") == whole


def test_failures_come_back_as_they_were_and_no_spreadsheet_runs_them(tmp_path: Path) -> None:
    rows = [
        Failure("collect", "main", image, f"{image} is\nno image")
        for image in ("=1+1", "+x", "-x", "@x", "\tx", "\rx", "'=x", "a", "-1", "\udcff")
    ]
    replace_failures(tmp_path, "collect", "main", rows)
    assert sorted(read_failures(tmp_path)) == sorted(rows)
    with (tmp_path / "failures.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    # a number is none
    assert {cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")} == {"-1"}


@pytest.mark.parametrize(
    "text",
    ["", "stage,name\n", "stage,name,image,reason\na,b\n", 'stage,name,image,reason\n"a', "[" * 200_000],
)
def test_a_damaged_table_of_failures_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "failures.csv").write_text(text)
    with refused(StudyError, r"failures\.csv is damaged .*; delete it, and run the verbs again") as caught:
        read_failures(tmp_path)
    assert "\n" not in str(caught.value)


def test_rows_about_a_truth_keep_its_name_when_a_model_of_that_name_is_renamed_or_removed(
    tmp_path: Path,
) -> None:
    for name in ("labels", "labels/labels"):
        replace_failures(tmp_path, "measure", name, [Failure("measure", name, "a", "is damaged")])
    rename_rows(tmp_path, {"labels": "unet"})
    assert [row.name for row in read_failures(tmp_path)] == ["labels", "labels/unet"]
    rename_rows(tmp_path, {"unet": None, "labels": None})
    assert [row.name for row in read_failures(tmp_path)] == ["labels"]
