"""Run `report`: gather what the page shows, and write it as one HTML file.

Conventions: the page shows what is available: without labels only the selection, without standings the
outcomes. Stale standings are shown with a warning.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.errors import OptionError
from faultscape.nouns import Draw, PairSlot, Point
from faultscape.reading.study import opened
from faultscape.reporting.competition import outcomes, page
from faultscape.study.folder import put
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.verbs.report import classes, maps, points
from faultscape.verbs.report.artefact import unshown_images
from faultscape.verbs.report.facts import missing_text, page_facts
from faultscape.verbs.report.sent import sent
from faultscape.verbs.report.signature import Reported
from faultscape.verbs.report.trackers import send, tracker_of

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions


def write_report(options: ReportOptions) -> Reported:
    """Write the report of a selection."""
    study = opened(options.study)
    root = study.root
    selection = selections.the_name(root, options.selection)
    options = replace(options, selection=selection)
    better = outcomes.BETTER if options.better is None else options.better
    bands = outcomes.check(options.bands or outcomes.BANDS, better)
    if options.reference_images:
        options = replace(options, reference_images=os.path.abspath(options.reference_images))
    target = (
        Path(options.output) if options.output else selections.path(root, selection, "html", stem="report")
    )
    if target.is_dir():
        raise OptionError(f"--output {options.output}: is a folder; name the file to write")
    library = tracker_of(options.log) if options.log else None
    with study.writing():  # from the first read on: the page must record exactly what it shows
        drawn = study.selection(selection).slots
        classifies = study.classifies
        kind = type(drawn.rows[0]) if drawn.rows else None
        _refuse_idle(options, kind, classifies=classifies)
        unshown = unshown_images(study, selection)
        common = page_facts(study, options, drawn, () if classifies else bands, unshown)
        if missing := missing_text(unshown, common.slots, str(root), options):
            print(f"note: {missing}")
        if classifies:
            facts = classes.class_facts(study, common, options, pairs=kind is PairSlot)
        elif kind is Point:
            facts = points.point_facts(study, common, options)
        elif kind is Draw:
            facts = maps.draw_facts(study, common, options)
        else:
            facts = maps.duel_facts(study, drawn, common, options, better)
        data = page.page(facts).encode("utf-8", "xmlcharrefreplace")
        put(target, data)
        log(root, "report", selection=selection, output=str(target))
    if options.log:
        send(options.log, library, sent(study, facts, better, target))
    items = "point" if kind is Point else "chosen image"
    return Reported(str(target), len(data), facts.slots.asked, items, options.log or "")


def _refuse_idle(options: ReportOptions, kind: type | None, *, classifies: bool) -> None:
    """Raise OptionError for options without effect on this page."""
    draws = kind is Draw
    if kind is Point:
        given = [name for name in ("reference_images", "bands", "better") if getattr(options, name)]
        if given:
            raise OptionError(
                f"--{given[0].replace('_', '-')} needs chosen images, and selection"
                f" {options.selection!r} asks about points; leave it out"
            )
    if options.reference_images and draws and not classifies:
        raise OptionError(
            "--reference-images are shown next to images chosen for a class; selection "
            f"{options.selection!r} was drawn for all classes at once"
        )
    if options.bands and classifies:
        raise OptionError(
            "--bands need values of label maps; answers of classifiers are right or wrong. Leave it out"
        )
    if options.better is not None and (classifies or draws):
        why = (
            "answers of classifiers are right or wrong"
            if classifies
            else f"selection {options.selection!r} was drawn for all models at once"
        )
        raise OptionError(f"--better needs duels of label maps; {why}. Leave it out")
