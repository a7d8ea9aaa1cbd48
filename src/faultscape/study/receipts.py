"""Receipts: results of a run that are not yet entered in its manifests, so that a kill loses nothing and many
parts are entered by one write.

Conventions: ``STUDY/.made-TITLE.jsonl`` (``.made-TITLE@GROUP.jsonl`` if jobs have groups) has a line per
result: the key of its job, and the result, which names its parts under ``sha256``. Each job of an array has
its own file. A line truncated by a kill is ignored. Files of parts that a receipt names are not swept: the
next run of the same job enters them, and then the receipts are removed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from faultscape.nouns import Json
from faultscape.study.folder import cannot_write

_PREFIX = ".made-"


class Receipts:
    """The receipts of one kind of work in a study: those of earlier runs, and those of this one."""

    def __init__(self, root: Path, title: str, share: str = "", group: str = "") -> None:
        self._root = root
        self._title = f"{title}@{group}" if group else title
        self._own = root / f"{_PREFIX}{self._title}{f'-{share}' if share else ''}.jsonl"
        self._alone = not share

    def found(self) -> dict[str, Json]:
        """Return {key of a job: its result} of all results that were made and not entered."""
        out: dict[str, Json] = {}
        for path in self._paths():
            for line in _read(path).splitlines():
                try:
                    held = json.loads(line)
                    out[str(held["key"])] = held["made"]
                except (ValueError, KeyError, TypeError, RecursionError):
                    # truncated by a kill, or damaged: it is made again
                    continue
        return out

    def add(self, key: str, made: Json) -> None:
        """Record a result that waits to be entered."""
        line = json.dumps({"key": key, "made": made}, ensure_ascii=False) + "\n"
        try:
            with self._own.open("ab") as file:
                file.write(line.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise cannot_write(self._own, error) from None

    def clear(self) -> None:
        """Remove the receipts of what has been entered: those of this run, and of earlier runs if no other
        job of an array can be running.
        """
        for path in self._paths() if self._alone else [self._own]:
            path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        mine = re.compile(rf"{re.escape(_PREFIX + self._title)}(-\d+-of-\d+)?\.jsonl")
        return sorted(path for path in self._root.glob(f"{_PREFIX}*.jsonl") if mine.fullmatch(path.name))


def checksums(root: Path) -> set[str]:
    """Return the first 16 digits of the checksums of all parts that receipts name."""
    found: set[str] = set()
    for path in root.glob(f"{_PREFIX}*.jsonl"):
        found |= {digits.decode() for digits in re.findall(rb'"sha256": "([0-9a-f]{16})', _read(path))}
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
