"""Fit the temperature of a model on labelled images, and store it with the model's options, so that `predict`
divides its logits by it.

Conventions: logits come from the model with the study's preprocessing, at the working size, for some pixels
of each image. The pixels are labelled with a class that the model knows, and drawn without replacement by the
image's bytes and the seed. Void pixels and pixels of classes that the model never predicts do not count.
STUDY/methods/MODEL/temperature.json records how it was fitted, and to which network.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.unread_images import UnreadImages
from faultscape.errors import ModelError, OptionError, StudyError, closest
from faultscape.maps import winners
from faultscape.prediction import catalogue, devices, networks
from faultscape.prediction.inference import Inference
from faultscape.prediction.sources import ensembles
from faultscape.prediction.sources.network import Answer
from faultscape.prediction.stamps import about_of
from faultscape.progress import progress
from faultscape.reading.study import opened
from faultscape.study.folder import put
from faultscape.study.settings import ModelOptions, ModelSettings, Settings, add_models
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import log, replace_failures
from faultscape.uncertainty import description as descriptions
from faultscape.uncertainty.temperature import LEAST, MOST, Temperature, fit_temperature, shares_of
from faultscape.verbs.fit.open_model import known_source
from faultscape.verbs.fit.options import model_and_source
from faultscape.verbs.fit.result import FittedTemperature
from faultscape.verbs.options import FitOptions
from faultscape.verbs.train.labelled_images import LabelledImages, find_labelled

_BINS = 15
_MOST = 1 << 28  # logits held in memory at once: a gigabyte


def fit_model(options: FitOptions) -> FittedTemperature:
    """Fit a temperature, and store it. Errors: OptionError, ModelError and StudyError for an unknown model,
    or if nothing is labelled.
    """
    study = opened(options.study)
    root = study.root
    name, source = model_and_source(options.model)
    with study.writing():
        settings = study.settings
        if settings.classifies:
            raise OptionError("fit is for segmentation studies; this is a study of classifiers")
        if source and name not in settings.models:
            raise ModelError(
                f"{name} is not predicted yet, and a temperature is kept with a model of the study;"
                f" run `faultscape predict {shlex.quote(str(root))}"
                f" {shlex.quote(f'{name}={source}')}` first"
            )
        if source:
            known_source(study, name, source)
        model = _model(root, settings, name)
        sets = [options.validation] if options.validation else None
        rows = find_labelled(study, options.truth, sets, "validation", "validation")
        if not len(rows):
            where = (
                f"no image of {options.validation} has labels"
                if options.validation
                else "no image of role validation has labels"
            )
            raise StudyError(
                f"nothing to fit to: {where}; collect some with --role validation, or name a labelled set"
                " with --validation"
            )
        if tested := sum(image.role == "test" for image, _ in rows.rows):
            print(
                f"note: {tested} of {len(rows)} images have role test; judge the calibration of the model on"
                " other images"
            )
        if taught := sum(image.role == "train" for image, _ in rows.rows):
            print(
                f"note: {taught} of {len(rows)} images have role train; a temperature fitted to images that"
                " the model learned from is too low"
            )
        inference, digest = _opened(model, settings, options.device or "")
        unread = UnreadImages("validation image", len(rows))
        with devices.fixed_threads(int(model.options.get("threads", 1))):
            logits, labels, images = _pixels(inference, model, settings, rows, options, unread)
        found = fit_temperature(logits, labels, per_class=options.per_class)
        if any(not 1.01 * LEAST < value < 0.99 * MOST for value in found.values):
            print(
                f"note: the best temperature is at the bound of the search, {LEAST:g} to {MOST:g}: these"
                " pixels cannot calibrate the model; it is right, or wrong, at nearly all of them"
            )
        before = ece_of(logits, labels, 1.0)
        after = ece_of(logits, labels, np.array(found.values))
        told = cast(
            "ModelOptions",
            {**model.options, "temperature": [float(f"{value:.6g}") for value in found.values]},
        )
        stamps = label_maps.stamps_of(label_maps.predictions(root, name)).values()
        others = {stamp.split(":")[0] for stamp in stamps if stamp.count(":") == 2} - {about_of(digest, told)}
        about = {
            "method": options.method,
            "values": told["temperature"],
            "per_class": options.per_class,
            "nll": [found.before, found.after],
            "ece": [before, after],
            "images": images,
            **({"unreadable": unread.reasons} if unread.reasons else {}),
            "pixels": found.pixels,
            "maps_without_it": sorted(others),
            "provenance": {
                "inputs": {"network": digest, "images": rows.key()},
                "arguments": {
                    "validation": options.validation,
                    "truth": options.truth,
                    "seed": options.seed,
                    "pixels": options.pixels,
                },
            },
        }
        put(
            root / "methods" / name / "temperature.json",
            (json.dumps(about, indent=1) + "\n").encode(),
        )
        add_models(root, {name: model.model_copy(update={"options": told})})
        of_fit = f"{options.method}/{name}"
        replace_failures(root, "fit", of_fit, unread.failures("fit", of_fit))
        log(root, "fit", model=name, method=options.method)
    return _fitted(options.study, name, model, inference, found, (before, after), images)


def ece_of(logits: np.ndarray, labels: np.ndarray, temperature: float | np.ndarray) -> float:
    """Return the expected calibration error of the top class in 15 equal bins, of logits (n, T, C) divided by
    a temperature.

    >>> ece_of(np.array([[[0.0, 0.0]]] * 2), np.array([0, 1]), 1.0)
    0.0
    """
    gaps = np.zeros(_BINS)
    for part, shares in shares_of(logits, temperature):
        sure = shares.max(1)
        right = shares.argmax(1) == labels[part]
        bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
        gaps += np.bincount(bins, right - sure, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(labels))


def _model(root: Path, settings: Settings, name: str) -> ModelSettings:
    if name not in settings.models:
        known = list(settings.models)
        folder = root / "models" / name
        if (folder / descriptions.NETWORK).is_file():
            function = descriptions.read_description(folder).own_function
            source = f"{folder / descriptions.OWN_FILE}:{function}" if function else str(folder)
            raise ModelError(
                f"{name} is trained, but not predicted yet; run `faultscape predict {shlex.quote(str(root))}"
                f" {shlex.quote(f'{name}={source}')}` first"
            )
        raise ModelError(
            f"the study has no model {name!r}; it has {', '.join(known) or 'none'}.{closest(name, known)}"
        )
    kind = catalogue.kind_named(settings.models[name].kind)
    if kind.load is None:
        members = (
            ensembles.names_of(settings.models[name].source)
            if settings.models[name].kind == "ensemble"
            else []
        )
        instead = (
            f"fit its members instead: {', '.join(members)}"
            if members
            else "a temperature can only be fitted to a network"
        )
        raise ModelError(f"{name} ({kind.called}) has no logits of its own; {instead}")
    return settings.models[name]


def _opened(model: ModelSettings, settings: Settings, device: str) -> tuple[Inference, str]:
    """Open a model without its temperature; return it with a digest of the network."""
    kind = catalogue.kind_named(model.kind)
    assert kind.load is not None
    told = {
        key: value
        for key, value in model.options.items()
        if key not in ("temperature", "keep", "scorer", "offsets")
    }
    options = cast("ModelOptions", {**told, "device": device, "task": settings.task})
    with devices.fixed_threads(int(model.options.get("threads", 1))):
        inference = networks.inference(model.source, options, load=kind.load, runtime=kind.runtime)
    if inference.network.marginal:
        raise ModelError(
            f"{model.source}: is a query-based network without per-class logits, so no temperature can be"
            " fitted"
        )
    return inference, kind.digest(model.source, model.options) + inference.network.weights


def _pixels(
    inference: Inference,
    model: ModelSettings,
    settings: Settings,
    rows: LabelledImages,
    options: FitOptions,
    unread: UnreadImages,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return logits (n, T, C) and labels (n,), as channel indices, for some pixels of every image, and the
    number of images that had any.
    """
    places = table(settings.class_list, model.labels)
    most = options.pixels
    logits: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    with progress("fit", len(rows)) as tick:
        for key, answer, truth in _answers(inference, settings, rows, unread):
            layers = (answer.scores,) if answer.scores is not None else answer.members or ()
            if not layers:
                raise ModelError(
                    f"{inference.name}: returns labels without logits, so no temperature can be fitted"
                )
            own = _channels(places, len(layers[0]), len(settings.class_list), inference.name)
            if most * len(rows) * len(layers) * len(layers[0]) > _MOST:
                most = max(1, _MOST // (len(rows) * len(layers) * len(layers[0])))
                print(f"note: using {most:,} pixels per image instead of {options.pixels:,} to limit memory")
            at = np.flatnonzero(own[truth].ravel() >= 0)
            seed = int.from_bytes(hashlib.sha256(f"{options.seed}/{key}".encode()).digest()[:8], "little")
            at = np.random.default_rng(seed).permutation(at)[:most]
            if len(at):
                size = (truth.shape[1], truth.shape[0])
                logits.append(
                    np.stack(
                        [
                            np.array(winners.enlarged(scores, size)).reshape(len(scores), -1)[:, at].T
                            for scores in layers
                        ],
                        axis=1,
                    )
                )
                labels.append(own[truth].ravel()[at])
            tick(1)
    unread.tell()
    if not logits:
        raise StudyError(
            "no validation image has a labelled pixel of a class the model predicts; check the model's"
            " --labels"
        )
    return np.concatenate(logits), np.concatenate(labels), len(logits)


def _answers(
    inference: Inference, settings: Settings, rows: LabelledImages, unread: UnreadImages
) -> Iterator[tuple[str, Answer, np.ndarray]]:
    """Yield (key of the image, the model's answer, truth (H, W) as places) for every readable image."""
    for number, (image, _) in enumerate(rows.rows):
        if (photo := unread.read(image)) is None:
            continue
        size = settings.working_size or (photo.shape[1], photo.shape[0])
        (answer,) = inference.run([inference.prepare(photo, size)])
        if isinstance(answer, str):
            raise ModelError(f"{image.id}: {answer}")
        yield image.key, answer, rows.places(number, size)


def _channels(places: np.ndarray, channels: int, classes: int, name: str) -> np.ndarray:
    """Return (C + 1,), the channel of each class, -1 for none; ModelError if a class has two."""
    own = np.full(classes + 1, -1)
    for channel in range(channels):
        if (place := int(places[channel])) < classes:
            if own[place] >= 0:
                raise ModelError(
                    f"{name}: two of its channels map to the same class, so no temperature can be fitted"
                )
            own[place] = channel
    return own


def _fitted(
    study: str,
    name: str,
    model: ModelSettings,
    inference: Inference,
    found: Temperature,
    ece: tuple[float, float],
    images: int,
) -> FittedTemperature:
    names: Sequence[str] = inference.network.class_names or [f"class {k}" for k in range(len(found.values))]
    values = {"": found.values[0]} if len(found.values) == 1 else dict(zip(names, found.values, strict=False))
    return FittedTemperature(
        study,
        name,
        model.source,
        values,
        (found.before, found.after),
        ece,
        images,
        found.pixels,
    )
