"""Why no model of a labelled study is ranked."""

from __future__ import annotations

from pathlib import Path

from faultscape.reading.study import Study
from faultscape.verbs.graph import node
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank import artefact as standings
from faultscape.verbs.select import artefact as selection


def why_not_ranked(study: str) -> str:
    """Return why no selection is ranked although the images of one are labelled, and what to do about it; ''
    where one is ranked, or labels are still missing.
    """
    snapshot = Study(Path(study), study)
    if (
        len(snapshot.models) < 2
        or not snapshot.image_count
        or any(standings.are_done(snapshot, name) for name in snapshot.selections)
    ):
        return ""
    for name in selection.in_order(snapshot):
        if set(snapshot.selections[name].slots.models) < set(snapshot.models):
            continue  # nothing failed: the next line draws for the added models too
        stale = node(snapshot, selection.SELECTION, name)
        if stale.line and not labels.is_short(snapshot, name) and not selection.is_rankable(snapshot, name):
            return (
                f"no model was ranked: selection {name} is stale ({', '.join(stale.why)}); choose again with"
                f" `{stale.line}` (labels count for both)"
            )
    return ""
