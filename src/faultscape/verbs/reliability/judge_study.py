"""Run `reliability`: find its models and conditions, count, compute the numbers, and write the card.

Conventions: existing counts are reused. An empty cell comes with the command that fills it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from faultscape import __version__
from faultscape import engine as engines
from faultscape.errors import ModelError, OptionError, RefusedError, StudyError, closest
from faultscape.metrics.intervals.units import MANY, draw_units, units_of
from faultscape.metrics.scorers import SUBMITTED, plain_name, scorer_named
from faultscape.prediction import catalogue
from faultscape.prediction.sources import ensembles
from faultscape.reading.scorers import methods_of_model
from faultscape.reading.study import Study, opened
from faultscape.reporting.reliability.document import (
    TRAINED_WITH_OOD,
    Card,
    CardCondition,
    CardGap,
    CardModel,
)
from faultscape.reporting.reliability.leaderboard import leaderboard_page
from faultscape.reporting.reliability.page import Facts, card_page
from faultscape.reporting.reliability.questions import listed
from faultscape.reporting.reliability.tables import write_tables
from faultscape.reporting.reliability.words import claims_text
from faultscape.study.folder import make_folder, put
from faultscape.study.settings import Settings
from faultscape.study.tables.logs import log
from faultscape.study.tables.pixel_counts import MAPS
from faultscape.study.tables.timings import fit_minutes, frame_times
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict.models import predict_models
from faultscape.verbs.predict.options import Declared
from faultscape.verbs.reliability import card as cards
from faultscape.verbs.reliability import notes as told
from faultscape.verbs.reliability.artefact import RELIABILITY
from faultscape.verbs.reliability.class_scores import class_scores
from faultscape.verbs.reliability.components import judge_components
from faultscape.verbs.reliability.conditions import (
    Condition,
    LabelledStudy,
    Units,
    find_conditions,
    in_distribution,
    read_labelled_study,
    units_of_images,
)
from faultscape.verbs.reliability.counts import (
    ModelCounts,
    fill_counts,
    line_that_counts,
    scorers_of_model,
)
from faultscape.verbs.reliability.finders import finders
from faultscape.verbs.reliability.guards import fill_cheat, guards
from faultscape.verbs.reliability.numbers import ModelNumbers
from faultscape.verbs.reliability.pictures import Frames
from faultscape.verbs.reliability.presets import preset_numbers
from faultscape.verbs.reliability.signature import Reliability
from faultscape.verbs.reliability.verdicts.alarm_thresholds import thresholds
from faultscape.verbs.reliability.verdicts.claims import compare_claims, read_claims, refuse_unknown_sets
from faultscape.verbs.reliability.verdicts.requirements import (
    judge_requirements,
    read_requirements,
    refuse_unknown_places,
)
from faultscape.verbs.reliability.verdicts.scorer_choice import recommended
from faultscape.verbs.train.training_record import flags_of, training_of

if TYPE_CHECKING:
    from faultscape.verbs.options import ReliabilityOptions


def _check_study(study: Study, options: ReliabilityOptions) -> None:
    """Raise StudyError, ModelError or OptionError for options that do not fit the study; called before a
    submission runs for hours.
    """
    coming = [options.submission.name] if options.submission.source else []
    _refuse_classifiers(study, options)
    settings = study.settings
    names = (
        _models(settings, [name for name in options.models if name not in coming])
        if settings.models or not coming
        else []
    )
    _refuse_reference(options.reference, [*(settings.models if coming else names), *coming])
    _refuse_output(study.root, options.output)
    if taken := next(
        (name for name in coming if name in settings.models and settings.models[name].kind != "submission"),
        None,
    ):
        raise OptionError(
            f"--submission-name {taken}: is already a model of the study, "
            f"{settings.models[taken].source}; choose another name"
        )
    _asked(study, options)


def _predict_submission(options: ReliabilityOptions) -> None:
    """Let the submission answer the images of the study."""
    of = options.submission
    asked = PredictOptions(
        study=options.study,
        models=({of.name: of.source},),
        engine=options.engine,
        workers=options.workers,
    )
    predict_models(asked, Declared(of.ood_data, of.publication, of.claims, options.seed))


def judge_study(options: ReliabilityOptions) -> Reliability:
    """Judge the models of a study, and write the card. StudyError, ModelError or OptionError if that is
    impossible; RefusedError if a submission does not meet its claims.
    """
    required = read_requirements(options.require)
    study = opened(options.study)
    root = study.root
    if options.submission.source:
        _check_study(study, options)
        _predict_submission(options)
    _refuse_output(root, options.output)
    with study.writing():
        _refuse_classifiers(study, options)
        coming = [options.submission.name] if options.submission.source else []
        names = _models(study.settings, options.models and (*options.models, *coming))
        _refuse_reference(options.reference, names)
        labelled, conditions, notes = _asked(study, options)
        scorers = {
            name: [plain_name(word) for word in scorers_of_model(study, name).values()] for name in names
        }
        refuse_unknown_places(required, conditions, scorers)
        counts = fill_counts(study, labelled.truth, names, options)
        fill_cheat(labelled, conditions, options)
        units = units_of_images(study.image_rows, conditions)
        draws = draw_units(
            units_of(units.count),
            options.resamples,
            options.seed,
            leave_out=bool(options.resamples) and units.count <= MANY,
        )
        models = [ModelNumbers(study, counts[name], units, draws) for name in names]
        reference = options.reference or names[0]
        found = cards.judge(labelled, models, conditions, reference)
        kept = [
            cards.judge(labelled, models, in_distribution(conditions, holdout), reference, holdout)
            for holdout in labelled.withheld
        ]
        found.evidence.update(judge_components(labelled, found, models, conditions, options))
        document = _document(labelled, conditions, notes, counts, models, units, found, kept, options)
        frames = Frames(labelled).facts(document, found, models, conditions, options.worst)
        out = Path(options.output) if options.output else root / "reliability"
        _write(out, document, frames)
        log(root, "reliability", output=str(out))
    mine = next((one for one in document["models"] if one["name"] == options.submission.name), None)
    if options.submission.claims and mine and (refused := claims_text(mine, accepted=False)):
        raise RefusedError(
            f"{options.submission.name} does not meet its claims: it {'; '.join(refused)}; the card is "
            f"in {out}"
        )
    return Reliability(str(out), document)


def _refuse_classifiers(study: Study, options: ReliabilityOptions) -> None:
    engines.check(options.engine, options.workers)
    if study.classifies:
        raise StudyError(f"{study.root} is a study of classifiers; reliability is for label maps")


def _asked(study: Study, options: ReliabilityOptions) -> tuple[LabelledStudy, list[Condition], list[str]]:
    """Return the study with its labels, the conditions to judge, and notes on what is left out."""
    truth = study.truth(options.truth) if options.truth or study.truths else ""
    labelled = read_labelled_study(study, truth)
    conditions, notes = find_conditions(labelled, options.natural, options.misclassified)
    refuse_unknown_sets(read_claims(options.submission.claims or []), conditions)
    return labelled, conditions, [*notes, *labelled.notes]


def _document(
    labelled: LabelledStudy,
    conditions: Sequence[Condition],
    notes: Sequence[str],
    counts: Mapping[str, ModelCounts],
    models: Sequence[ModelNumbers],
    units: Units,
    found: cards.Judgement,
    kept: Sequence[cards.Judgement],
    options: ReliabilityOptions,
) -> Card:
    """Return the document of the card; ``kept`` are the numbers in distribution, one per holdout."""
    study = labelled.study
    settings = study.settings
    names = [model.name for model in models]
    others, of_preset = (
        preset_numbers(options.preset, found, models, conditions) if options.preset else ({}, [])
    )
    sooner, of_finders = finders(labelled, models, conditions, units)
    document: Card = {
        "study": study.root.resolve().name,
        "truth": labelled.truth,
        "reference": options.reference or names[0],
        "recommended": recommended(found, models, conditions, units),
        "thresholds": thresholds(labelled, models, conditions),
        "models": [
            _model(study, name, list(counts[name].scorers.values()), conditions, found) for name in names
        ],
        "conditions": [
            _condition(condition, cards.anomalous_share(found, condition.name), labelled)
            for condition in conditions
        ],
        "cells": [
            cell
            for of in (found, *kept)
            for cell in cards.cells(of, units, models, in_distribution(conditions, of.holdout))
        ],
        "classes": class_scores(
            next(iter(kept), found),
            units,
            names,
            in_distribution(conditions, next(iter(kept), found).holdout),
            study.classes.names,
        ),
        "objects": cards.objects(found),
        "paired": [
            row
            for of in (found, *kept)
            for row in cards.differences(labelled, of, units, models, in_distribution(conditions, of.holdout))
        ],
        "gaps": _gaps(study, labelled.truth, counts, conditions),
        "guards": guards(study, found, units, conditions),
        "finders": sooner,
        "ranking": cards.ranking_without_labels(
            found,
            next(iter(kept), found),
            names,
            next((c.name for c in conditions if c.kind == "clean"), ""),
        ),
        "times": [
            {
                "model": times.name,
                "device": times.device,
                "frames": times.frames,
                "batch": times.batch,
                "model_ms": list(times.model),
                "scored_ms": list(times.scored),
                "whole_ms": list(times.whole),
                "plain_ms": list(times.plain),
                "methods_ms": {word: list(spread) for word, spread in times.methods.items()},
            }
            for times in frame_times(study.root)
            if times.name in names
        ],
        "units": {
            "drawn": "groups" if units.grouped else "images",
            "count": units.count,
            "same_groups": units.same_groups,
        },
        "notes": [
            *notes,
            *told.few_units(units, study.place),
            *told.unanswered(study, models, conditions),
            *told.seen_beforehand(study, names, conditions),
            *told.idle(found, options),
            *of_preset,
            *of_finders,
            *told.constant(found),
            *told.undeclared(settings, names),
            *told.seen_by_methods(study, names, conditions),
            *told.same_families(study, names, conditions),
            *told.fitted_again(study, names),
        ],
        "provenance": {
            "faultscape": __version__,
            "truth": labelled.truth,
            "inputs": RELIABILITY.inputs(study, "", {"truth": labelled.truth}),
            "arguments": options.given(),
        },
    }
    if options.preset:
        document["presets"] = {options.preset: others}
    required = read_requirements(options.require)
    return {"requirements": judge_requirements(document, required), **document} if required else document


def _write(out: Path, document: Card, frames: Facts) -> None:
    """Write the document, its tables and its pages; delete the leaderboard of an earlier run if there is none
    now.
    """
    page = card_page(document, frames)
    board = leaderboard_page(document)
    make_folder(out)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    put(out / "reliability.json", f"{text}\n".encode("utf-8", "surrogateescape"))
    write_tables(out, document)
    put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
    if board:
        put(out / "leaderboard.html", board.encode("utf-8", "xmlcharrefreplace"))
    else:
        (out / "leaderboard.html").unlink(missing_ok=True)


def _refuse_output(root: Path, output: str | None) -> None:
    """Raise OptionError for the study itself, or any folder in it other than reliability."""
    where = Path(output).resolve() if output else root / "reliability"
    if where == root.resolve() or (
        root.resolve() in where.parents and where.relative_to(root.resolve()).parts[0] != "reliability"
    ):
        raise OptionError(
            f"--output {output}: is inside the study; give a folder outside it, or leave it out to use "
            f"{root / 'reliability'}"
        )


def _refuse_reference(reference: str | None, names: list[str]) -> None:
    if reference and reference not in names:
        raise OptionError(
            f"--reference {reference}: is not one of the models "
            f"{', '.join(names)}.{closest(reference, names)}"
        )


def _models(settings: Settings, asked: Sequence[str]) -> list[str]:
    known = list(settings.models)
    if not known:
        raise ModelError("the study has no model; add one with `faultscape predict STUDY NAME=SOURCE`")
    if unknown := next((name for name in asked if name not in known), None):
        raise ModelError(
            f"--models {unknown}: the study has no such model; it has"
            f" {', '.join(known)}.{closest(unknown, known)}"
        )
    return list(dict.fromkeys(asked)) or known


def _model(
    study: Study,
    name: str,
    scorers: list[str],
    conditions: Sequence[Condition],
    found: cards.Judgement,
) -> CardModel:
    about = study.settings.models[name]
    members = ensembles.names_of(about.source) if about.kind == "ensemble" else []
    of_members = {
        flag
        for one in members
        if one in study.settings.models
        for flag in flags_of(training_of(study.settings.models[one]))
    }
    model: CardModel = {
        "name": name,
        "kind": about.kind,
        "members": members,
        "flags": sorted(of_members),
        "scorers": scorers,
    }
    minutes = fit_minutes(study.root, name)
    if methods := methods_of_model(study, name):
        model["methods"] = [
            {
                "scorer": scorer,
                "layers": list(one.layers),
                "options": one.options,
                "flags": list(one.flags),
                "validation": one.validation,
                "negatives": one.negatives,
                "family": " and ".join(one.families),
                "minutes": minutes.get(scorer),
            }
            for scorer, one in methods.items()
            if scorer in scorers
        ]
    if (training := training_of(about)) is not None:
        model |= {"training": training, "flags": flags_of(training)}
    if about.kind == "submission":
        declared = about.options.get("ood_data", "")
        claims = read_claims(about.options.get("claims", []))
        compared = compare_claims(name, claims, conditions, found)
        model["flags"] = [
            *([f"{TRAINED_WITH_OOD} (declared)"] if declared.lower() not in ("", "none") else []),
            *(["claims not confirmed"] if not all(claim["accepted"] for claim in compared) else []),
        ]
        model |= {
            "declared": declared,
            "publication": about.options.get("publication", ""),
            "hidden": about.options.get("hidden", []),
            "open": about.options.get("open", []),
            "claims": compared,
        }
    return model


def _condition(condition: Condition, share: float | None, labelled: LabelledStudy) -> CardCondition:
    withheld = labelled.withheld.get(condition.holdout)
    names = labelled.study.classes.names
    classes = [] if withheld is None else [names[k] for k in np.flatnonzero(withheld)]
    held: CardCondition = {
        "name": condition.name,
        "kind": condition.kind,
        "images": len(condition.images),
        "sets": list(condition.sets),
        "holdout": condition.holdout,
        "family": told.tested_family(labelled.study, condition),
        "corruption": condition.corruption,
        "severity": condition.severity,
        "of": condition.of,
        "edition": condition.edition,
        "validation": condition.validation,
        "training": condition.training,
        "withheld": classes,
    }
    said = {key: value for key, value in held.items() if value not in ("", 0, [], False) or key == "images"}
    return cast("CardCondition", said | ({"anomalous": share} if share is not None else {}))


def _gaps(
    study: Study, truth: str, counts_of: Mapping[str, ModelCounts], conditions: Sequence[Condition]
) -> list[CardGap]:
    """Return what each model lacks, with the command that makes it."""
    settings = study.settings
    images = study.image_rows
    out = list[CardGap]()
    made = (
        word for counts in counts_of.values() for word in counts.scorers.values() if word != SUBMITTED.name
    )
    everywhere = list(dict.fromkeys(made))
    for name, counts in counts_of.items():
        lost = {word: set(counts.lacking[kind]) for kind, word in {MAPS: "", **counts.scorers}.items()}
        shards_of = {c.name: {images[id_].shard for id_ in c.images} for c in conditions}
        words = [word for word, shards in lost.items() if any(shards & of for of in shards_of.values())]
        if words:
            late = set[int]().union(*lost.values())
            why = (
                f"{listed([word or 'maps' for word in words])}"
                f" {'was' if len(words) == 1 and words[0] else 'were'} not counted"
            )
            where = [condition for condition, of in shards_of.items() if of & late]
            if settings.models[name].kind in ("folder", "scores"):
                why += (
                    "; its folder needs a map of each made image, by the id of the image (for example"
                    " SET/ID.png)"
                )
            out.append(
                {
                    "model": name,
                    "scorers": words,
                    "conditions": where,
                    "why": why,
                    "line": line_that_counts(study, name, truth, *words),
                }
            )
        absent = [word for word in everywhere if word not in counts.scorers.values()]
        able = [word for word in absent if scorer_named(word).needs in ("nothing", "probabilities")]
        if (
            able
            and settings.models[name].kind != "submission"
            and catalogue.kind_named(settings.models[name].kind).sees_images
        ):
            why = f"{listed(able)} {'was' if len(able) == 1 else 'were'} not counted, unlike for other models"
            line = line_that_counts(study, name, truth, *able)
            out.append({"model": name, "scorers": able, "conditions": [], "why": why, "line": line})
        if absent and settings.models[name].kind in ("folder", "program", "own", "table"):
            why = "it gives label maps, and scorers need logits"
            out.append({"model": name, "scorers": [], "conditions": [], "why": why, "line": ""})
    return out
