"""queries.csv and the web folder: search terms, the images that came from the web with their licences, and
people's decisions about them.

Conventions: ``web/pictures.csv`` is append-only: a row is complete when its line ends, and of two rows with
one URL the later counts. ``left_out`` says why a downloaded image is not up for review ('' = it is). A cell
that a spreadsheet would run as a formula is written with ``'`` before it. Files are in ``web/pictures`` and
``web/thumbnails``.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from faultscape.errors import CorpusError, StudyError
from faultscape.study.folder import cannot_write, put
from faultscape.study.tables.logs import bare, csv_text, guarded

FOLDER = "web"


@dataclass(frozen=True)
class Term:
    """A line of queries.csv; ``classes`` are names separated by ``;``."""

    query: str
    kind: str
    classes: str


@dataclass(frozen=True)
class WebPicture:
    """An image that came from the web; ``dhash`` is 64 bits as a signed number, ``transparent`` the share of
    transparent pixels.
    """

    id: str
    url: str
    query: str
    title: str
    licence: str
    creator: str
    source: str
    date: str
    page: str
    sha256: str
    width: int
    height: int
    dhash: int
    transparent: float
    file: str
    left_out: str


def read_terms(path: Path) -> list[Term]:
    """Return the lines of a file of search terms; empty if it does not exist. Only the column ``query`` is
    required.
    """
    if not path.exists():
        return []
    lines = [
        Term(row.get("query", ""), row.get("kind", ""), row.get("classes", ""))
        for row in read_rows(path, ["query"])
    ]
    return [line for line in lines if line.query]


def write_terms(path: Path, terms: Iterable[Term]) -> None:
    """Write a file of search terms."""
    put(
        path,
        csv_text(
            [[f.name for f in fields(Term)], *([guarded(c) for c in astuple(t)] for t in terms)]
        ).encode(),
    )


def read_pictures(root: Path) -> dict[str, WebPicture]:
    """Return the images of ``web/pictures.csv`` by URL; a last line truncated by a kill does not count."""
    path = root / FOLDER / "pictures.csv"
    if not path.exists():
        return {}
    try:
        whole = path.read_bytes()
        rows = _parsed(whole[: whole.rfind(b"\n") + 1].decode("utf-8"))
        types = {"width": int, "height": int, "dhash": int, "transparent": float}
        pictures = [
            WebPicture(**{f.name: types.get(f.name, str)(row[f.name]) for f in fields(WebPicture)})
            for row in rows
        ]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise StudyError(
            f"{path} is damaged ({error}); correct that line, or move the folder away and download again"
        ) from None
    return {picture.url: picture for picture in pictures}


def add_picture(root: Path, picture: WebPicture) -> None:
    """Add a row to ``web/pictures.csv``; when this returns it is on the disk."""
    path = root / FOLDER / "pictures.csv"
    line = csv_text([[guarded(str(value)) for value in astuple(picture)]]).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            if file.read(1) not in (b"", b"\n"):  # a kill truncated the last line
                file.seek(0)
                end = file.truncate(file.read().rfind(b"\n") + 1)
            file.write((b"" if end else csv_text([[f.name for f in fields(WebPicture)]]).encode()) + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(path, error) from None


def read_decisions(path: Path) -> dict[str, str]:
    """Return {id: accept, reject or ''} of an accept.csv, '' for undecided again; CorpusError for any other
    content.
    """
    decisions = {}
    for number, row in enumerate(read_rows(path, ["id", "decision"]), 2):
        decision = row["decision"].lower()
        if decision not in ("accept", "reject", ""):
            raise CorpusError(
                f"{path}, line {number}: decision {row['decision']!r} is not known; use accept or reject"
            )
        decisions[row["id"]] = decision
    return decisions


def write_decisions(root: Path, decisions: dict[str, str]) -> None:
    """Write web/accept.csv: all decisions so far."""
    put(root / FOLDER / "accept.csv", csv_text([("id", "decision"), *sorted(decisions.items())]).encode())


def read_rows(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a person's CSV file by the names in its first line, cells without surrounding
    blanks; CorpusError if a needed column is missing.
    """
    try:
        rows = _parsed(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None
    if missing := [name for name in needed if rows and name not in rows[0]]:
        raise CorpusError(
            f"{path}: has no column {missing[0]!r}; its first line must name the columns {', '.join(needed)}"
        )
    return rows


def _parsed(text: str) -> list[dict[str, str]]:
    lines = csv.reader(io.StringIO(text, newline=""))
    names = [name.strip().lower() for name in next(lines, [])]
    empty = dict.fromkeys(names, "")
    return [
        empty | dict(zip(names, (bare(cell.strip()) for cell in line), strict=False))
        for line in lines
        if any(line)
    ]
