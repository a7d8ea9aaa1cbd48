"""What `status` says of a study: a row an artefact, and the next line to type."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from faultscape.errors import StudyChangedError
from faultscape.stages.graph import Node, is_stuck, next_line, nodes
from faultscape.stages.snapshot import Snapshot
from faultscape.study.lock import unfinished

TRIES = 10
Row = tuple[str, str, str]  # verb, state, words
_UNSHOWN = ("discards", "answers")  # they are never to be made


def read_status(root: Path, place: str) -> tuple[tuple[Row, ...], str, bool]:
    """Return the rows of a study, what to type next, and whether a person must mend something first where that is nothing; ``place`` is how the line that asks names the study."""
    for _ in range(TRIES):  # nobody holds the study for this: another faultscape may be writing to it
        with suppress(StudyChangedError):
            return _read_status(root, place)
    return _read_status(root, place)


def _read_status(root: Path, place: str) -> tuple[tuple[Row, ...], str, bool]:
    if line := unfinished(root):  # meanwhile its files may say one thing and another
        return (("predict", "stale", "a change of models was interrupted; finish it first"),), line, False
    found = nodes(Snapshot(root, place))
    return tuple(_row(node) for node in found if node.artefact not in _UNSHOWN), next_line(found), is_stuck(found)


def _row(node: Node) -> Row:
    return node.verb, node.state, "; ".join([node.words, *node.why])
