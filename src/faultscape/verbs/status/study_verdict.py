"""Read the verdict on a study from its standings and its plan."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from faultscape.errors import RankingError
from faultscape.labelling.costs import COSTS, read_costs
from faultscape.reading.snapshot import Snapshot
from faultscape.reporting.verdict import PairNeed, Verdict, Work, nothing_said
from faultscape.standings import Standings
from faultscape.study.tables import selections
from faultscape.verbs.graph import Node, node
from faultscape.verbs.label.artefact import LABELS_OF_SELECTION
from faultscape.verbs.plan import artefact as plan
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.select import artefact as selection


def verdict_of(snapshot: Snapshot, found: Iterable[Node], line: str) -> Verdict:
    """Return the verdict on a study of which these are the artefacts, and this the next command."""
    found = tuple(found)
    work = Work(line, _hours(snapshot, found, line))
    labelled = max((snapshot.label_count(name).labelled for name in snapshot.selections), default=0)
    if not (held := _standings(snapshot)):
        return nothing_said(None, snapshot.models, labelled, work)
    # rankings load scipy, which takes longer than all the rest
    from faultscape.reporting.verdict_lines import verdict

    old = (one for one in found if one.artefact == STANDINGS.name and one.state == "stale")
    stale = {one.name: ", ".join(one.why) for one in old}
    return verdict(
        held,
        models=snapshot.models,
        labelled=labelled,
        needs=_needs(snapshot),
        stale=stale,
        work=work,
        study=snapshot.place,
    )


def _standings(snapshot: Snapshot) -> dict[str, Standings]:
    """Return {selection: its standings} in the order in which they speak; what is damaged or replaced is left
    out.
    """
    out: dict[str, Standings] = {}
    for name in selection.in_order(snapshot):
        document = snapshot.document(selections.path(snapshot.root, name, "json", stem="standings"))
        if document is not None and not selection.is_replaced(snapshot, name):
            from faultscape.ranking.duel_standings import from_json

            with suppress(RankingError):
                out[name] = from_json(document)
    return out


def _needs(snapshot: Snapshot) -> dict[tuple[str, str], PairNeed]:
    """Return what an up-to-date plan expects of each pair of models; {} without one."""
    document = snapshot.document(snapshot.root / "plan.json")
    if document is None or node(snapshot, PLAN).state != "done":
        return {}
    rows = cast("list[dict[str, Any]]", document.get("pairs") or [])
    out = {}
    for row in rows:
        first, second = row["models"]
        known = (row["labels"], row["low"], row["high"]) if row["predictable"] else (math.nan,) * 3
        out[first, second] = PairNeed(*known)
    return out


def _hours(snapshot: Snapshot, found: Iterable[Node], line: str) -> float | None:
    """Return the hours of labelling that the next command asks for, at the plan's costs; None if it asks for
    none.
    """
    asked = [
        one.name for one in found if line and one.artefact == LABELS_OF_SELECTION.name and one.line == line
    ]
    if not asked:
        return None
    given = plan.arguments(snapshot).get("cost")
    costs = read_costs(str(given)) if given else COSTS
    left = len(snapshot.current(asked[0]).images) - snapshot.label_count(asked[0]).labelled
    return left * costs["question" if snapshot.settings.classifies else "mask"] / 3600
