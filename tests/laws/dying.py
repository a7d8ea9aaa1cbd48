"""A driver for the law of kills of changes, run as a program: a line is killed in place of each file that it
puts or removes, then run again.

Run as ``dying.py STUDY FOLDER CHANGE``; prints a JSON object: what the study holds after the change
``whole``, and for each death what was ``held`` right after it, what ``status`` said, and what is there once
the line was run ``again``. Each line is a child of this process, which dies as a killed one does.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faultscape as fs
from faultscape.errors import FaultscapeError
from faultscape.study.answers.labels import Answers
from faultscape.study.tables.selections import read_removed

CHANGES: dict[str, Callable[[str, str], Any]] = {
    "select --replace": lambda study, _: fs.select(study, replace=True, per_class=2, engine="local"),
    "select --remove": lambda study, _: fs.select(study, remove="main"),
    "collect --remove": lambda study, image: fs.collect(study, remove=[image]),
    "label remove": fs.label.remove,
    "select --points": lambda study, _: fs.select(study, as_="points", more=20, engine="local"),
    "rank --selection points": lambda study, _: fs.rank(study, selection="points", engine="local"),
}


def held(study: str) -> dict[str, str]:
    """The files that count, and their digests; of answers the rows."""
    root, out = Path(study), {}
    for path in sorted(root.rglob("*")):
        if (
            path.is_file()
            and not path.name.startswith(".")
            and path.suffix not in (".sqlite", ".jsonl", ".log")
        ):
            out[str(path.relative_to(root))] = hashlib.sha256(path.read_bytes()).hexdigest()
    out["answers"] = repr(sorted(map(str, Answers(root).answers("labels"))))
    return out


def child(do: Callable[[], Any], deaths: int | None = None) -> tuple[int, Any]:
    """Do something in a process of its own that dies in place of a file behind so many; returns its exit
    status, and what it found.
    """
    reads, writes = os.pipe()
    if not (process := os.fork()):
        code = 3
        try:
            if deaths is not None:
                left = [deaths]

                def dying(work: Callable[..., Any]) -> Callable[..., Any]:
                    def works(*given: Any, **more: Any) -> Any:
                        if not left[0]:
                            os._exit(9)
                        left[0] -= 1
                        return work(*given, **more)

                    return works

                for name in ("replace", "unlink", "rename", "rmdir"):
                    setattr(os, name, dying(getattr(os, name)))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            found = do()
            os.write(writes, json.dumps(found).encode())
            code = 0
        except FaultscapeError as error:
            os.write(writes, json.dumps(str(error)).encode())
            code = 2
        finally:
            os._exit(code)
    os.close(writes)
    with os.fdopen(reads, "rb") as said:
        data = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), json.loads(data) if data else None


def main(study: str, folder: str, change: str, image: str) -> None:
    def copy() -> str:
        place = f"{folder}/study"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(study, place, symlinks=True)
        return place

    def line(place: str) -> None:
        CHANGES[change](place, image)

    def again(place: str) -> dict[str, Any]:
        found: dict[str, Any] = {"held": held(place), "status": repr(fs.status(place)), "refused": ""}
        read_removed(Path(place))  # as rank, measure and report do
        try:
            line(place)
        except FaultscapeError as error:
            found["refused"] = str(error)
        return found | {"again": held(place)}

    place = copy()
    line(place)  # what it loads, its children have
    expected, deaths = held(place), []
    while True:
        place = copy()
        code, _ = child(lambda place=place: line(place), deaths=len(deaths))
        if code == 0:
            break
        assert code == 9, code
        code, found = child(lambda place=place: again(place))
        assert code == 0, code
        deaths.append(found)
    print(json.dumps({"before": held(study), "whole": expected, "deaths": deaths}), file=out)


if __name__ == "__main__":
    os.fsync = lambda _: None  # no test takes the power away
    out, sys.stdout = sys.stdout, sys.stderr
    main(*sys.argv[1:])
