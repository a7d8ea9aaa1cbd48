"""reliability's way through a line: which models and conditions it means, their counts, the numbers, and what is written.

Conventions: what is counted is not counted again. A cell that is empty is said with the line that fills it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np

from faultscape import engine as engines
from faultscape.errors import ClassesError, ModelError, OptionError, RefusedError, StudyError, closest
from faultscape.metrics.intervals.units import MANY, draw_units, units_of
from faultscape.metrics.scorers import SUBMITTED, scorer_named
from faultscape.prediction import catalogue
from faultscape.reporting.reliability.document import TRAINED_WITH_OOD, Card, CardCondition, CardGap, CardModel
from faultscape.reporting.reliability.leaderboard import leaderboard_page
from faultscape.reporting.reliability.page import card_page
from faultscape.reporting.reliability.tables import write_tables
from faultscape.reporting.reliability.words import claims_text
from faultscape.stages import evidence
from faultscape.stages.artefacts.reliability import made_from_now
from faultscape.stages.given_options import given_options
from faultscape.stages.image_truths import find_judged, with_labels
from faultscape.stages.reliability import card as cards
from faultscape.stages.reliability.claims import compare_claims, read_claims, refuse_unknown_sets
from faultscape.stages.reliability.components import judge_components
from faultscape.stages.reliability.conditions import Condition, find_conditions, units_of_images
from faultscape.stages.reliability.counts import ModelCounts, fill_counts, line_that_counts
from faultscape.stages.reliability.finders import finders
from faultscape.stages.reliability.guards import fill_cheat, guards
from faultscape.stages.reliability.numbers import ModelNumbers
from faultscape.stages.reliability.options import ReliabilityOptions
from faultscape.stages.reliability.pictures import Frames
from faultscape.stages.reliability.presets import preset_numbers
from faultscape.stages.snapshot import Snapshot
from faultscape.stressors.holdout import hold_out
from faultscape.study.folder import existing, make_folder, put
from faultscape.study.lock import writing
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables.corpus import Image, part_name, read_corpus
from faultscape.study.tables.logs import log
from faultscape.study.tables.pixel_counts import MAPS
from faultscape.study.tables.stress_sets import StressSets, read_stress
from faultscape.study.tables.timings import frame_times


def check(options: ReliabilityOptions) -> None:
    """StudyError, ModelError or OptionError for options that do not fit the study: asked before a submission runs for hours."""
    root = existing(options.study)
    engines.check(options.engine, options.workers)
    settings = read_settings(root)
    if settings.classifies:
        raise StudyError(f"{root} is a study of classifiers; the card is of label maps")
    coming = [options.submission.name] if options.submission.source else []
    if settings.models or not coming:
        _models(settings, [name for name in options.models if name not in coming])
    if options.reference and options.reference not in (known := [*settings.models, *coming]):
        raise OptionError(_no_reference(options.reference, known))
    truth = evidence.choose_truth(root, options.truth) if options.truth or evidence.truths(root) else ""
    images, stress = {image.id: image for image in read_corpus(root)}, read_stress(root)
    judged = with_labels(root, find_judged(root, images, truth))
    conditions, _ = find_conditions(root, images, judged, stress, options.natural, options.misclassified)
    refuse_unknown_sets(read_claims(options.submission.claims or []), conditions)


def judge_study(options: ReliabilityOptions) -> tuple[str, Card]:
    """Judge the models of a study and write the card; returns the folder written to and the document. StudyError, ModelError and OptionError where that cannot be."""
    root = existing(options.study)
    engines.check(options.engine, options.workers)
    with writing(root):
        settings = read_settings(root)
        if settings.classifies:
            raise StudyError(f"{root} is a study of classifiers; the card is of label maps")
        asked = options.models and (*options.models, *([options.submission.name] if options.submission.source else []))
        names = _models(settings, asked)
        truth = evidence.choose_truth(root, options.truth) if options.truth or evidence.truths(root) else ""
        images = {image.id: image for image in read_corpus(root)}
        stress, gone = _known_holdouts(settings, read_stress(root))
        judged = with_labels(root, find_judged(root, images, truth))
        conditions, notes = find_conditions(root, images, judged, stress, options.natural, options.misclassified)
        claimed = read_claims(options.submission.claims or [])
        refuse_unknown_sets(claimed, conditions)
        reference = options.reference or names[0]
        if reference not in names:
            raise OptionError(_no_reference(reference, names))
        counted = fill_counts(root, settings, names, truth, engine=options.engine, workers=options.workers)
        fill_cheat(root, conditions, images, judged, truth, settings.size, engine=options.engine, workers=options.workers)
        units = units_of_images(images, conditions)
        draws = draw_units(
            units_of(units.count), options.resamples, options.seed, leave_out=bool(options.resamples) and units.count <= MANY
        )
        models = [ModelNumbers(root, counted[name], len(settings.class_list), units, draws) for name in names]
        withheld = {name: _withheld(settings, words) for name, words in stress.holdouts.items()}
        found = cards.judge(models, conditions, withheld, reference)
        judge_components(
            root,
            settings,
            found,
            models,
            conditions,
            images,
            judged,
            stress,
            truth,
            options.track,
            engine=options.engine,
            workers=options.workers,
        )
        others, said = preset_numbers(options.preset, found, models, conditions) if options.preset else ({}, [])
        notes += [*said, *gone]
        sooner, said = finders(root, settings, models, conditions, images, units)
        notes += said
        document: Card = {
            "study": root.resolve().name,
            "truth": truth,
            "reference": reference,
            "models": [_model(settings, name, list(counted[name].scorers.values()), conditions, found) for name in names],
            "conditions": [_condition(condition, cards.anomalous_share(found, condition.name)) for condition in conditions],
            "cells": cards.cells(found, units, models, conditions),
            "objects": cards.objects(found),
            "paired": cards.differences(found, units, models, conditions, withheld),
            "gaps": _gaps(options.study, settings, counted, conditions, images),
            "guards": guards(root, found, units, conditions, images),
            "finders": sooner,
            "ranking": cards.ranking_without_labels(found, names, next((c.name for c in conditions if c.kind == "clean"), "")),
            "times": [
                {"model": times.name, "device": times.device, "frames": times.frames, "batch": times.batch, "model_ms": list(times.model), "scored_ms": list(times.scored), "whole_ms": list(times.whole)}
                for times in frame_times(root)
                if times.name in names
            ],
            "units": {"drawn": "groups" if units.grouped else "images", "count": units.count},
            "notes": [*notes, *_undeclared(settings, names)],
            "provenance": {
                "faultscape": version("faultscape"), "truth": truth, "inputs": made_from_now(Snapshot(root), truth),
                "arguments": {
                    **given_options(options, but=("study", "output", "engine", "workers", "submission")), **given_options(options.submission),
                },
            },
        }  # fmt: skip
        if options.preset:
            document["presets"] = {options.preset: others}
        frames = Frames(root, settings, images, judged, stress).facts(document, found, models, conditions, options.worst)
        page = card_page(document, frames)
        out = Path(options.output) if options.output else root / "reliability"
        make_folder(out)
        put(
            out / "reliability.json",
            (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "surrogateescape"),
        )
        write_tables(out, document)
        put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
        if board := leaderboard_page(document):
            put(out / "leaderboard.html", board.encode("utf-8", "xmlcharrefreplace"))
        else:
            (out / "leaderboard.html").unlink(missing_ok=True)
        log(root, "reliability", output=str(out))
    if refused := [
        text
        for one in document["models"]
        if one["name"] == options.submission.name and claimed
        for text in claims_text(one, accepted=False)
    ]:
        raise RefusedError(f"{options.submission.name} is refused: {'; '.join(refused)}; the card is in {out}")
    return str(out), document


def _no_reference(reference: str, names: list[str]) -> str:
    return f"--reference {reference}: is none of the models {', '.join(names)}.{closest(reference, names)}"


def _models(settings: Settings, asked: Sequence[str]) -> list[str]:
    known = list(settings.models)
    if not known:
        raise ModelError("the study has no model; add one with `faultscape predict STUDY NAME=SOURCE`")
    if unknown := next((name for name in asked if name not in known), None):
        raise ModelError(f"--models {unknown}: the study has no such model; it has {', '.join(known)}.{closest(unknown, known)}")
    return list(dict.fromkeys(asked)) or known


def _known_holdouts(settings: Settings, stress: StressSets) -> tuple[StressSets, list[str]]:
    """Return the holdouts whose classes are classes of the study, and what to say of the others."""
    out, said = dict[str, list[str]](), list[str]()
    for name, words in stress.holdouts.items():
        try:
            _withheld(settings, words)
            out[name] = words
        except ClassesError as error:
            said.append(f"holdout {name} is left out: {error}")
    return stress.model_copy(update={"holdouts": out}), said


def _withheld(settings: Settings, words: Sequence[str]) -> np.ndarray:
    return hold_out(settings.class_list, list(words)).is_withheld[:-1]


def _model(
    settings: Settings, name: str, scorers: list[str], conditions: Sequence[Condition], found: cards.Judgement
) -> CardModel:
    about = settings.models[name]
    members = about.source.partition(":")[2].split(",") if about.kind == "ensemble" else []
    model: CardModel = {"name": name, "kind": about.kind, "members": members, "flags": [], "scorers": scorers}
    if about.kind == "submission":
        declared, claims = about.options.get("ood_data", ""), read_claims(about.options.get("claims", []))
        compared = compare_claims(name, claims, conditions, found)
        model["flags"] = [
            *([f"{TRAINED_WITH_OOD} (declared)"] if declared.lower() not in ("", "none") else []),
            *(["claims not confirmed"] if not all(claim["accepted"] for claim in compared) else []),
        ]
        model |= {
            "declared": declared, "publication": about.options.get("publication", ""), "hidden": about.options.get("hidden", []),
            "open": about.options.get("open", []), "claims": compared,
        }  # fmt: skip
    return model


def _undeclared(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return what to say of submissions that do not declare what they were trained with."""
    silent = [n for n in names if settings.models[n].kind == "submission" and not settings.models[n].options.get("ood_data")]
    return [f"{name} does not say whether it was trained with unknown objects (--ood-data none, or which)" for name in silent]


def _condition(condition: Condition, share: float | None) -> CardCondition:
    held: CardCondition = {
        "name": condition.name, "kind": condition.kind, "images": len(condition.images), "sets": list(condition.sets), "holdout": condition.holdout,
        "corruption": condition.corruption, "severity": condition.severity, "of": condition.of, "edition": condition.edition,
    }  # fmt: skip
    said = {key: value for key, value in held.items() if value not in ("", 0) or key == "images"}
    return cast("CardCondition", said | ({"anomalous": share} if share is not None else {}))


def _gaps(
    study: str,
    settings: Settings,
    counted: Mapping[str, ModelCounts],
    conditions: Sequence[Condition],
    images: Mapping[str, Image],
) -> list[CardGap]:
    """Return what is lacking of each model, with the line that makes it."""
    out: list[CardGap] = []
    made = (word for counts in counted.values() for word in counts.scorers.values() if word != SUBMITTED.name)
    everywhere = list(dict.fromkeys(made))
    for name, counts in counted.items():
        kinds = {MAPS: "", **counts.scorers}
        for kind, word in kinds.items():
            late = {part_name(number) for number in counts.lacking[kind]}
            lost = [c.name for c in conditions if any(part_name(images[id_].shard) in late for id_ in c.images)]
            if lost:
                why = "maps were not counted" if kind == MAPS else f"{word} was not counted"
                out.append(
                    {
                        "model": name,
                        "scorer": word,
                        "conditions": lost,
                        "why": why,
                        "line": line_that_counts(study, settings, name, word),
                    }
                )
        absent = [word for word in everywhere if word not in counts.scorers.values()]
        able = [word for word in absent if scorer_named(word).needs in ("nothing", "probabilities")]
        if able and catalogue.kind_named(settings.models[name].kind).sees_images:
            why = f"{', '.join(able)}: not counted, as of other models"
            line = line_that_counts(study, settings, name, *able)
            out.append({"model": name, "scorer": able[0], "conditions": [], "why": why, "line": line})
        if absent and settings.models[name].kind in ("folder", "program", "own", "table"):
            out.append(
                {
                    "model": name,
                    "scorer": "",
                    "conditions": [],
                    "why": "it gives label maps and no logits, of which scorers are made",
                    "line": "",
                }
            )
    return out
