"""Gather the facts that every kind of page shows: what was chosen and labelled, and the standings.

Conventions: labels that are not compared with the models yet, and standings that are out of date, are said in
``remarks``. Models that left the study have no values.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import StudyError, counted
from faultscape.nouns import Agreement, JsonObject, Slots
from faultscape.ranking.duel_standings import from_json
from faultscape.reading import choices as choice_evidence
from faultscape.reading import evidence
from faultscape.reading.label_counts import LabelCount
from faultscape.reading.study import Study
from faultscape.reporting.competition import outcomes, page
from faultscape.reporting.competition.failure_kinds import FailureKinds, failure_kinds
from faultscape.reporting.competition.standing_tables import listed
from faultscape.standings import Standings
from faultscape.study.tables import selections
from faultscape.study.tables.pool import read_pool
from faultscape.study.tables.timings import frame_times
from faultscape.terminal_lines import option_words
from faultscape.verbs import graph
from faultscape.verbs.compare.agreement import agreement
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.report.artefact import (
    REPORT,
    images_key,
    note,
    truth_shown,
    uncompared_key,
)
from faultscape.verbs.select.artefact import speakers

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions


def page_facts(
    study: Study,
    options: ReportOptions,
    drawn: Slots,
    bands: tuple[float, ...],
    unshown: Mapping[str, str] | None = None,
) -> page.Facts:
    """Return what every kind of page shows; ``bands`` are those of the values of label maps, and ``unshown``
    {image: file} are the images that it cannot show.
    """
    root = study.root
    selection = options.selection
    slots = study.selection(selection).now
    of_standings = graph.node(study, STANDINGS, selection)
    standings = _standings(study, selection)
    remarks = []
    if standings is not None and of_standings.state == "stale":
        again = " Run `faultscape rank` again." if of_standings.line else ""
        why = ", ".join(
            reason for reason in of_standings.why if reason != of_standings.in_the_way
        )  # that reason concerns only the person who remakes them
        remarks.append(f"These standings are out of date: {why}.{again}")
    others = {}
    selectors = {}
    stale = dict[str, str]()
    for name in selections.names(root):
        table = standings if name == selection else _standings(study, name)
        if table is not None:
            others[name] = table
            selectors[name] = str(study.selection(name).slots.definition.get("selector", ""))
            if (made := graph.node(study, STANDINGS, name)).state == "stale":
                stale[name] = ", ".join(made.why)
    truth = truth_shown(study, selection)
    uncompared = dict[str, str]()
    images: list[str] = []
    values = np.zeros((len(slots.models), 0))
    if left := [m for m in drawn.models if m not in study.models and m not in slots.models]:
        remarks.append(f"{listed(left)} left the study: the other models are shown.")
    gone = [m for m in slots.models if m not in study.models]
    if gone:
        are, its = ("is", "its") if len(gone) == 1 else ("are", "their")
        remarks.append(
            f"{listed(gone)} {are} no longer in the study: {its} answers and outcomes are not shown."
        )
    elif truth and not slots.points:
        try:
            images, values = evidence.scores(study, slots.models, truth, slots.definition, study.discarded)
        except StudyError:
            uncompared = uncompared_key(study, selection, truth)
            remarks.append(
                "The labels have not been compared with the models yet, so outcomes are left out. Run "
                "`faultscape rank`."
            )
    unshown = unshown or {}
    if missing := missing_text(unshown, slots, str(root), options):
        remarks.append(missing)
    mine = set(slots.images)
    inside = [k for k, image in enumerate(images) if image in mine]
    edges = outcomes.telling_bands(values[:, inside], bands) if bands and not options.bands else ()
    bands = edges or bands
    count = study.label_count(selection, truth) if truth else LabelCount(0, 0, False)
    kinds = _kinds(study, slots, truth, [images[k] for k in inside], values[:, inside], bands)
    return page.Facts(
        study=root.resolve().name,
        selection=selection,
        slots=slots,
        classes=study.classes,
        pool=len(read_pool(study.corpus)),
        standings=standings,
        truth=truth,
        labelled=[images[k] for k in inside],
        whole=count.labelled,
        partly=count.partly,
        values=values[:, inside],
        others=others,
        speakers=speakers(study),
        selectors=selectors,
        stale=stale,
        discarded=len({row.image for row in drawn.rows} & study.discarded.keys()),
        failures=study.failures,
        remarks=tuple(remarks),
        agreement=_agreement(study),
        bands=bands,
        bands_of_values=bool(edges),
        kinds=kinds,
        made_from=note(
            REPORT.inputs(study, selection, {"truth": truth, "arguments": options.given()})
            | images_key(unshown)
            | uncompared,
            options.given(),
        ),
        times=tuple(row for row in frame_times(root) if row.name in slots.models),
    )


def _kinds(
    study: Study,
    slots: Slots,
    truth: str,
    images: list[str],
    values: np.ndarray,
    bands: tuple[float, ...],
) -> FailureKinds | None:
    """Return the statistics of the chosen images' tags, by the models' values on labelled ``images``, or by
    people's choices if no image has a map.
    """
    if not study.tags or slots.points:
        return None
    by_choice = not images and not study.classifies and bool(truth)
    if by_choice:
        kept, _ = choice_evidence.counting(study, truth, slots.models, study.discarded)
        shares = choice_evidence.shares(kept)
        images = sorted({image for image, _, _ in shares} & set(slots.images))
        values = choice_evidence.image_values(shares, images, slots.models)
    fails = bands[0] if bands and not by_choice else 0.5
    found = failure_kinds(study.tags, slots.images, slots.models, images, values, fails, study.groups)
    return None if found is None else replace(found, by_choice=by_choice and bool(images))


def missing_text(unshown: Mapping[str, str], slots: Slots, study: str, options: ReportOptions) -> str:
    """Return which images a page cannot show since their files are gone, and what to do if they were moved;
    '' for none.
    """
    if not (missing := [image for image, file in unshown.items() if file]):
        return ""
    images = len(set(slots.images))
    name = None if options.selection == selections.MAIN else options.selection
    given: JsonObject = {"selection": name, "output": options.output, **options.given()}
    again = " ".join(["report", shlex.quote(study), *option_words(given)])
    return (
        f"{len(missing)} of {counted(images, 'image')} {'is' if len(missing) == 1 else 'are'} no longer "
        f"where they were collected (first: {missing[0]}), so the page cannot show them. If they were "
        f"moved, run `faultscape collect {shlex.quote(study)} NEWFOLDER`, then `faultscape {again}` "
        "again."
    )


def _agreement(study: Study) -> Agreement | None:
    """Return how far the study's models agree; None if that needs `compare` to run first."""
    try:
        return agreement(study, keep=False) if len(study.models) > 1 else None
    except StudyError:
        return None


def _standings(study: Study, selection: str) -> Standings | None:
    """Return the standings of a selection, or None; StudyError if they are damaged."""
    path = selections.path(study.root, selection, "json", stem="standings")
    if not path.exists():
        return None
    of = "" if selection == selections.MAIN else f" --selection {selection}"
    try:
        if (document := study.document(path)) is None:
            raise ValueError("not a JSON object")  # noqa: TRY301 - as any other damage
        return from_json(document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StudyError(
            f"{path} is damaged ({error}); write it again with `faultscape rank {study.root}{of}`"
        ) from None
