"""What `status` reports about a study: one row per artefact, and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from faultscape.errors import StudyChangedError, counted
from faultscape.reading.study import LABELS, Study, opened
from faultscape.reporting.verdict import Verdict
from faultscape.standings import MOST_POINTS
from faultscape.study.lock import unfinished
from faultscape.study.tables.selections import MAIN
from faultscape.terminal_lines import option_words
from faultscape.verbs.compare.artefact import kept_warnings
from faultscape.verbs.graph import Node, is_stuck, next_line, nodes
from faultscape.verbs.label.artefact import LABELS_OF_SELECTION, export_line
from faultscape.verbs.loop.artefact import next_round
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.rank.open_selections import is_decided, points_needed
from faultscape.verbs.status.more_images import line_for_more
from faultscape.verbs.status.signature import Status
from faultscape.verbs.status.study_verdict import verdict_of

if TYPE_CHECKING:
    from faultscape.verbs.options import StatusOptions

TRIES = 10
_UNSHOWN = ("discards", "answers", "open question")  # no command makes them, or the verdict says it


def study_status(options: StatusOptions) -> Status:
    """Return how far a study is; StudyError for a folder that is none."""
    return read_status(opened(options.study).skipping_damaged())


def read_status(study: Study) -> Status:
    """Return how far a study is, whose damaged selections are skipped."""
    for _ in range(TRIES):  # the study is not locked for this: another process may be writing to it
        with suppress(StudyChangedError):
            return _read_status(study.reread())
    return _read_status(study.reread())


def _read_status(study: Study) -> Status:
    if line := unfinished(study.root):  # until it is finished, files may contradict each other
        interrupted = ("predict", "stale", "a change of models was interrupted; finish it first")
        return Status(study.called, (interrupted,), line)
    found = nodes(study)
    rows = tuple(_row(node) for node in found if node.artefact not in _UNSHOWN)
    if study.damaged:
        first = next(iter(study.damaged))
        rows += tuple(("select", "damaged", f"{name}: {why}") for name, why in study.damaged.items())
        return Status(study.called, rows, f"faultscape select {study.place} --remove {shlex.quote(first)}")
    line = next_line(node for node in found if not _is_needless(study, node))
    stuck = is_stuck(found)
    more, why, drawing = ("", "", 0) if line or stuck else next_round(study)
    if not (line or stuck or more):
        more, why, drawing = line_for_more(study)
    said = verdict_of(study, found, line or more, drawing)
    about = why or _about(study, found, line) or ("" if line else _equal_by_points(study, said))
    odd = kept_warnings(study)
    return Status(study.called, rows, line, stuck, _instead(study, found, line), more, about, said, odd)


def _labels_asked(found: Iterable[Node], line: str) -> str | None:
    """Return the selection whose images the next command asks labels for, or None."""
    return next(
        (
            node.name
            for node in found
            if line and node.artefact == LABELS_OF_SELECTION.name and node.line == line
        ),
        None,
    )


def _is_needless(study: Study, node: Node) -> bool:
    """Whether a node asks for labels of draws although those that are ranked decide the pool, and no label of
    it would tell more of images to come.
    """
    if node.artefact != LABELS_OF_SELECTION.name or not study.selections[node.name].slots.draws:
        return False
    return STANDINGS.is_done(study, node.name) and is_decided(study, node.name)


def _about(study: Study, found: Iterable[Node], line: str) -> str:
    """Return a note for a command that asks for labels of duels although images drawn for all models are
    ranked, since they answer a different question.
    """
    name = _labels_asked(found, line)
    ranked = next(
        (node.name for node in found if node.artefact == STANDINGS.name and node.state == "done"), ""
    )
    if name is None or not ranked or study.selections[name].slots.for_all:
        return ""
    if not study.selections[ranked].slots.for_all:
        return ""
    left = len(study.selection(name).now.images) - study.label_count(name).labelled
    return (
        f"{counted(left, 'more image')} of {name} {'shows' if left == 1 else 'show'} where models fail; which"
        f" is better is answered by selection {ranked}"
    )


def _equal_by_points(study: Study, said: Verdict) -> str:
    """Return why no more points are asked for although the answers do not decide; '' otherwise."""
    if said.decided or not (said.selection and study.selections[said.selection].slots.points):
        return ""
    held = STANDINGS.table(study, said.selection)
    need = None if held is None else points_needed(held)
    if need is None or not need.hopeless:
        return ""
    return f"more than {MOST_POINTS:,} points would be needed: the best models are nearly equal"


def _instead(study: Study, found: Iterable[Node], line: str) -> str:
    """Return the other way to answer: the command that asks people in their browsers, if the next one would
    write files for a labelling tool and there are questions, and the other way round for points.
    """
    name = _labels_asked(found, line)
    if name is None:
        return ""
    now = study.selection(name).now
    if now.points:
        return export_line(study, name)
    if not (study.settings.classifies or now.duels):
        return ""
    options = {
        "selection": None if name == MAIN else name,
        "truth": None if study.likely_truth == LABELS else study.likely_truth,
    }
    return " ".join([f"faultscape label serve {study.place}", *option_words(options)])


def _row(node: Node) -> tuple[str, str, str]:
    return node.verb, node.state, "; ".join([node.words, *node.why])
