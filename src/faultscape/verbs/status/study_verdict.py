"""Read the verdict on a study from its standings and its plan."""

from __future__ import annotations

from collections.abc import Iterable

from faultscape.reading.label_counts import labelled_number
from faultscape.reading.study import Study
from faultscape.reporting.verdict import PairNeed, Verdict, Work, nothing_said
from faultscape.standings import Standings
from faultscape.verbs.graph import Node, node
from faultscape.verbs.label.artefact import LABELS_OF_SELECTION
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.plan.open_question import OPEN_QUESTION, more_images, more_points, planned_needs
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.select import artefact as selection
from faultscape.verbs.status.costs import hours_of


def verdict_of(study: Study, found: Iterable[Node], line: str, drawing: int = 0) -> Verdict:
    """Return the verdict on a study of which these are the artefacts, and this the next command, which draws
    some images if no artefact asks for it.
    """
    images, name = _asked(study, found, line, drawing)
    work = Work(line, hours_of(study, images, name) if images else None)
    labelled = _most(study, points=False)
    if not (held := _standings(study)):
        drawn = [bool(made.slots.points) for made in study.selections.values()]
        return nothing_said(
            None,
            study.models,
            labelled,
            work,
            answered=_most(study, points=True),
            of_points=bool(drawn) and all(drawn),
        )
    # rankings load scipy, which takes longer than all the rest
    from faultscape.reporting.verdict_lines import verdict

    old = (one for one in found if one.artefact == STANDINGS.name and one.state == "stale")
    stale = {one.name: ", ".join(one.why) for one in old}
    return verdict(
        held,
        models=study.models,
        labelled=labelled,
        needs=_needs(study),
        stale=stale,
        work=work,
        study=study.place,
    )


def _most(study: Study, *, points: bool) -> int:
    """Return how many images are labelled, or points answered, of the selection with most of them."""
    names = [name for name, made in study.selections.items() if bool(made.slots.points) == points]
    return max((study.label_count(name).by_people for name in names), default=0)


def _standings(study: Study) -> dict[str, Standings]:
    """Return {selection: its standings} in the order in which they speak; what is damaged or has no say is
    left out.
    """
    return {
        name: found
        for name in selection.speakers(study)
        if (found := STANDINGS.table(study, name)) is not None
    }


def _needs(study: Study) -> dict[tuple[str, str], PairNeed]:
    """Return what an up-to-date plan expects of each pair of models; {} without one."""
    return planned_needs(study) if node(study, PLAN).state == "done" else {}


def _asked(study: Study, found: Iterable[Node], line: str, drawing: int) -> tuple[int, str]:
    """Return how many images the next command asks to label, or draws for that, and a selection to whose
    images they are similar. Images that have labels already ask for none.
    """
    one = next((node for node in found if line and node.line == line), None)
    if one is not None and one.artefact == LABELS_OF_SELECTION.name:
        return study.selection(one.name).now.asked - study.label_count(one.name).labelled, one.name
    name = next(iter(study.selections), "")
    if one is not None and one.artefact == OPEN_QUESTION.name and study.selections[one.name].slots.points:
        return more_points(study, one.name), one.name
    if one is not None and one.artefact == OPEN_QUESTION.name:
        drawing = more_images(study, one.name, planned_needs(study))
        name = one.name
    if one is not None and one.artefact == selection.SELECTION.name and one.name in study.selections:
        slots = study.selections[one.name].slots
        if slots.points:  # drawn again: answers count for the new ones where these are the same pixels
            return len(slots.points), one.name
        drawing = len(slots.draws)  # drawn again
    if not drawing:
        return 0, name
    labelled = labelled_number(study, study.likely_truth)
    return min(drawing, study.image_count - labelled), name
