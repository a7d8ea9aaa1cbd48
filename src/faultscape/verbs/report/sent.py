"""What `report --log` sends to an experiment tracker: the page, and the tables and numbers behind it.

Conventions: tables are those of the page's figures, and what `measure` and `reliability` found. What is out
of date is not sent.
"""

from __future__ import annotations

import math
from pathlib import Path

from faultscape.reading.study import Study
from faultscape.reporting.competition.figures import figure_data
from faultscape.reporting.competition.page import Facts
from faultscape.reporting.competition.standing_tables import recommended
from faultscape.results.files import load
from faultscape.results.result import Result
from faultscape.verbs import graph
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.reliability.artefact import RELIABILITY
from faultscape.verbs.report.trackers import Sent


def sent(study: Study, facts: Facts, better: float, page: Path) -> Sent:
    """Return what a tracker gets of a page; prints what is left out."""
    tables: dict[str, Result] = {one.figure: one for one in figure_data(facts, better)}
    tables |= _measured(study)
    numbers = dict[str, float]()
    if facts.standings and (ranking := recommended(facts.standings)):
        scores = facts.standings.rankings[ranking].scores
        numbers |= {f"{ranking}/{model}": score for model, score in scores.items() if math.isfinite(score)}
    for row in tables["measured"].to_arrow().to_pylist() if "measured" in tables else ():
        if row["class"] is None and row["value"] is not None:
            numbers[f"{row['metric']}/{row['model']}"] = row["value"]
    return Sent(facts.study, facts.selection, tables, numbers, page)


def _measured(study: Study) -> dict[str, Result]:
    """Return what `measure` and `reliability` found."""
    found = dict[str, Result]()
    for name, artefact in (("measured", MEASURES), ("reliability", RELIABILITY)):
        if not artefact.instances(study) or not artefact.exists(study, ""):
            continue
        made = graph.node(study, artefact, "")
        if made.state == "stale":
            print(
                f"note: what {artefact.verb} wrote is out of date ({', '.join(made.why)}) and is not sent;"
                f" run `faultscape {artefact.verb}` and this line again"
            )
        else:
            found[name] = load(artefact.path(study))
    return found
