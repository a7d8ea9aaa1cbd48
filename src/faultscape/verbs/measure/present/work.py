"""Measure the models of a study by whether their maps contain the classes that images show, as people say or
masks do.

Conventions: the document has the form of that of masks, so that tables and pages are the same. A class is in
a map from one pixel on; where an image has a mask, its void pixels do not count. Only images for which every
model has a map count, and only classes that anybody said something about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape import __version__
from faultscape.errors import MetricError, OptionError, StudyError, counted
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.units import LEAST, Units, units_of
from faultscape.metrics.presence.shares import PRESENCE, classes_in, presence
from faultscape.progress import progress
from faultscape.reading.maps import maps_of_all
from faultscape.reading.presence.evidence import known_presence, truth_of_presence
from faultscape.reading.study import Study
from faultscape.reporting.measure import document as measure_document
from faultscape.reporting.measure import page as measure_page
from faultscape.reporting.measure.document import Document, SetDocument
from faultscape.study.folder import make_folder, put
from faultscape.study.tables.logs import log
from faultscape.terminal_lines import flag_of
from faultscape.verbs.measure.artefact import PRESENT_MEASURES
from faultscape.verbs.measure.lists import refuse_classifiers, study_of
from faultscape.verbs.measure.signature import Measured

if TYPE_CHECKING:
    from faultscape.verbs.options import MeasureOptions

_APPLY = {"present", "truth", "source", "output"}
_MANY = 60  # units from which differences are told apart as rarely as they should be


@dataclass(frozen=True, eq=False)
class _Found:
    """For the images that count, of which classes (I, C) something is known, which they show, and which the
    maps of each model contain.
    """

    classes: list[str]
    known: np.ndarray
    truth: np.ndarray
    predicted: Mapping[str, np.ndarray]
    units: Units
    masks: int
    left_out: int


def measure_present(options: MeasureOptions) -> Measured:
    """Measure the models of a study by the classes that images show; write measure.json and report.html."""
    if (study := study_of(options.source)) is None:
        raise OptionError(f"--present measures a study; {options.source or 'nothing'} is not one")
    refuse_classifiers(study)
    idle = [name for name in options.given() if name not in _APPLY]
    if idle or options.models:
        what = flag_of(idle[0]) if idle else "a model on the line"
        raise OptionError(f"{what} does not apply to the classes present in images; leave it out")
    with study.writing():
        truth = truth_of_presence(study, options.truth)
        found = _found(study, truth)
        out = Path(options.output) if options.output else PRESENT_MEASURES.path(study, truth).parent
        if out.exists() and not out.is_dir():
            raise OptionError(f"--output {out}: is a file; name a folder")
        made = _document(study, found)
        arguments = options.given(but=("present", "truth"))
        inputs = PRESENT_MEASURES.inputs(study, truth, {"truth": truth, "arguments": arguments})
        document: Document = {
            **made,
            "provenance": {
                "faultscape": __version__,
                "truth": truth,
                "inputs": {**inputs},
                "arguments": arguments,
            },
        }
        make_folder(out)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        put(out / "measure.json", text.encode("utf-8", "surrogateescape"))
        page = measure_page.page(document, measure_page.Facts(title=study.root.resolve().name))
        put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
        log(study.root, "measure", source=options.source, present=truth, output=str(out))
    return Measured(str(out), document)


def _found(study: Study, truth: str) -> _Found:
    """Return what the images show of which something is known; StudyError for none."""
    if not study.models:
        raise StudyError("there are no models to measure; run `faultscape predict` first")
    said = known_presence(study, truth)
    names = study.classes.names
    masked = truth in study.label_folders
    classes = [name for name in names if masked or any(name in of for of in said.values())]
    places = [names.index(name) for name in classes]
    ids, known, shown = list[str](), list[np.ndarray](), list[np.ndarray]()
    predicted: dict[str, list[np.ndarray]] = {model: [] for model in study.models}
    masks = 0
    with progress("images", len(said)) as tick:
        for image, maps, mask in maps_of_all(study, said, truth if masked else ""):
            tick(1)
            if maps is None:
                continue
            ids.append(image)
            of = said[image]
            if mask is not None:  # it says all, whatever people answered
                of = dict(zip(names, classes_in(mask, len(names)).tolist(), strict=True))
                masks += 1
            known.append(np.array([name in of for name in classes]))
            shown.append(np.array([of.get(name, False) for name in classes]))
            for model, label_map in zip(study.models, maps, strict=True):
                predicted[model].append(classes_in(label_map, len(names), mask)[places])
    if not ids:
        if said:
            raise StudyError(
                "no image of which classes are known has a map of every model; run `faultscape predict` first"
            )
        raise StudyError(f"all images that truth {truth!r} is about are discarded, or have left the study")
    return _Found(
        classes,
        np.array(known),
        np.array(shown),
        {model: np.array(rows) for model, rows in predicted.items()},
        units_of([study.groups.get(image, "") for image in ids]),
        masks,
        len(said) - len(ids),
    )


def _document(study: Study, found: _Found) -> SetDocument:
    rows = {
        model: {
            "both": (there & found.truth & found.known).astype(float),
            "truth": (found.truth & found.known).astype(float),
            "predicted": (there & found.known).astype(float),
        }
        for model, there in found.predicted.items()
    }
    known = {metric.name: metric for metric in PRESENCE}
    of_models = {model: presence(of, found.units) for model, of in rows.items()}
    summaries = {model: {name: one.summary for name, one in of.items()} for model, of in of_models.items()}
    if all(np.isnan(one.value) for of in summaries.values() for one in of.values()):
        raise MetricError("no image shows a class that was asked about, and no map contains one")
    enough = found.units if found.units.count >= LEAST else None
    entries = measure_document.models(summaries, Definitions(), found.classes, enough, known)
    for model, of in of_models.items():
        for name, one in of.items():
            entry = entries[model][name]
            entry["low"], entry["high"] = measure_document.numbers(one.interval)
            low, high = (measure_document.numbers(ends) for ends in one.of_classes.T)
            entry["per_class_low"] = dict(zip(found.classes, low, strict=True))
            entry["per_class_high"] = dict(zip(found.classes, high, strict=True))
    images = len(found.known)
    shows, lacks = (found.known & found.truth).sum(0), (found.known & ~found.truth).sum(0)
    return {
        "models": entries,
        "images": dict.fromkeys(study.models, images),
        "classes": found.classes,
        "paired": measure_document.paired(
            summaries, dict.fromkeys(known, images), enough, Definitions(), known
        ),
        "units": {"drawn": "groups" if found.units.grouped else "images", "count": found.units.count},
        "present": {
            "masks": found.masks,
            "answers": images - found.masks,
            "by_class": {
                name: [int(yes), int(no)] for name, yes, no in zip(found.classes, shows, lacks, strict=True)
            },
        },
        "notes": _notes(found, images),
    }


def _notes(found: _Found, images: int) -> list[str]:
    out = [f"{counted(images, 'image')}: {found.masks} by masks, {images - found.masks} by what people say"]
    if found.left_out:
        out.append(f"{counted(found.left_out, 'image')} left out: a model has no map of them")
    if found.units.count < LEAST:
        out.append(f"fewer than {LEAST} images or groups: no intervals")
    elif found.units.count < _MANY:
        few = f"fewer than {_MANY} {'groups' if found.units.grouped else 'images'}"
        out.append(f"{few}: intervals of differences of models hold less often than in 95 % of the cases")
    return out
