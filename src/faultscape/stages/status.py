"""What `status` reports about a study: one row per artefact, and the next command."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from faultscape.errors import StudyChangedError
from faultscape.stages.artefacts.labels import LABELS_OF_SELECTION
from faultscape.stages.evidence import LABELS
from faultscape.stages.given_options import option_words
from faultscape.stages.graph import Node, is_stuck, next_line, nodes
from faultscape.stages.snapshot import Snapshot
from faultscape.study.lock import unfinished
from faultscape.study.tables.selections import MAIN

TRIES = 10
Row = tuple[str, str, str]  # verb, state, words
_UNSHOWN = ("discards", "answers")  # they are never to be made


def read_status(root: Path, place: str) -> tuple[tuple[Row, ...], str, bool, str]:
    """Return the rows of a study, what to run next, whether someone must fix something first if that is
    empty, and an alternative command or ''; ``place`` is how the command names the study.
    """
    for _ in range(TRIES):  # nobody holds the study for this: another faultscape may be writing to it
        with suppress(StudyChangedError):
            return _read_status(root, place)
    return _read_status(root, place)


def _read_status(root: Path, place: str) -> tuple[tuple[Row, ...], str, bool, str]:
    if line := unfinished(root):  # meanwhile its files may say one thing and another
        return (("predict", "stale", "a change of models was interrupted; finish it first"),), line, False, ""
    found = nodes(snapshot := Snapshot(root, place))
    line = next_line(found)
    rows = tuple(_row(node) for node in found if node.artefact not in _UNSHOWN)
    return rows, line, is_stuck(found), _instead(snapshot, found, line)


def _instead(snapshot: Snapshot, found: Iterable[Node], line: str) -> str:
    """Return the command that asks people in their browsers, if the next one would write files for a
    labelling tool and there are questions.
    """
    name = next(
        (node.name for node in found if node.artefact == LABELS_OF_SELECTION.name and node.line == line), None
    )
    if name is None or not (snapshot.settings.classifies or snapshot.current(name).duels):
        return ""
    options = {
        "selection": None if name == MAIN else name,
        "truth": None if snapshot.truth == LABELS else snapshot.truth,
    }
    return " ".join([f"faultscape label serve {snapshot.place}", *option_words(options)])


def _row(node: Node) -> Row:
    return node.verb, node.state, "; ".join([node.words, *node.why])
