"""The numbers behind the figures of a selection's report, whether the page is written or not.

Conventions: bands and the smallest difference of case II are those with which the study's report was written,
so that the numbers are those of the page; without one, the defaults.
"""

from __future__ import annotations

import math
from typing import Any

from faultscape.errors import OptionError, StudyError, closest
from faultscape.reading.instances import transfer
from faultscape.reading.study import Study
from faultscape.reporting.competition import outcomes
from faultscape.reporting.competition.figure_data import FIGURES, ON_REQUEST, FigureData
from faultscape.reporting.competition.figures import figure_data
from faultscape.study.tables import selections
from faultscape.verbs.options import ReportOptions
from faultscape.verbs.report.artefact import REPORT
from faultscape.verbs.report.facts import page_facts

INSTANCES = "instances"


def figures_of(study: Study, selection: str = selections.MAIN) -> tuple[FigureData, ...]:
    """Return the figures that a selection's report has, in the order of the page."""
    selection = selections.the_name(study.root, selection)
    written = REPORT.options(study, selection) if REPORT.exists(study, selection) else {}
    given: dict[str, Any] = {name: written[name] for name in ("bands", "better") if written.get(name)}
    options = ReportOptions(study=study.place, selection=selection, **given)
    better = outcomes.BETTER if options.better is None else options.better
    bands = outcomes.check(options.bands or outcomes.BANDS, better)
    drawn = study.selection(selection).slots
    return figure_data(page_facts(study, options, drawn, () if study.classifies else bands), better)


def figure_of(study: Study, selection: str, name: str) -> FigureData:
    """Return a figure by its name; OptionError for an unknown one, StudyError if the report has none of that
    name yet.
    """
    names = [kind.name for kind in (*FIGURES, *ON_REQUEST)]
    if name not in names:
        raise OptionError(f"--figure {name!r} is not known; use {', '.join(names)}.{closest(name, names)}")
    if name == INSTANCES:
        return _of_instances(study, selections.the_name(study.root, selection))
    found = {one.figure: one for one in figures_of(study, selection)}
    if name not in found:
        held = f"it has {', '.join(found)}" if found else "it has no figures yet"
        raise StudyError(f"{study.called}: its report has no figure {name!r}; {held}")
    return found[name]


def _of_instances(study: Study, selection: str) -> FigureData:
    """Return how PQ and AP on the images of a selection's duels compare with those on random images."""
    found, answer = transfer.transfer(study, selection)
    rows = []
    for row in found:
        numbers = (row.chosen, row.random, row.lower, row.low, row.high)
        known = (None if math.isnan(number) else number for number in numbers)
        rows.append((row.metric, row.model or None, row.on, *known, row.chosen_images, row.random_images))
    return FigureData(INSTANCES, selection, tuple(rows), answer)
