"""Fit a method that scores a network's doubt: draw embeddings of training images, search on request, fit, and
write one file, with which `predict --scorer METHOD` scores; nothing is done if the same file is there.

Conventions: STUDY/methods/MODEL/NAME.safetensors is the complete method; NAME is the method's name, followed
by the option and value of a sweep. The file records the network (a digest) and images that it was fitted to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from faultscape.errors import MetricError, ModelError, OptionError, StudyError
from faultscape.metrics.scorers import plain_name
from faultscape.nouns import JsonObject
from faultscape.prediction import devices
from faultscape.prediction.sources.backbone import Backbone
from faultscape.reading.image_truths import find_judged, with_labels
from faultscape.reading.study import Study, opened
from faultscape.study.parts import key_of
from faultscape.study.tables.logs import Timing, add_timings, log, replace_failures
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.method_files import ENDING, MethodAbout
from faultscape.uncertainty.methods.catalogue import PARTS, TAUGHT, TUNED
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.logistic import logistic_weights
from faultscape.uncertainty.methods.method import Fitted, write
from faultscape.verbs.fit.artefact import METHODS
from faultscape.verbs.fit.fit_temperature import fit_model
from faultscape.verbs.fit.fitted_before import fitted_before, named_methods
from faultscape.verbs.fit.fusion_parts import Parts, parts_asked
from faultscape.verbs.fit.layer_search import SearchImages
from faultscape.verbs.fit.one_fit import Made, Work
from faultscape.verbs.fit.open_model import known_source, open_model
from faultscape.verbs.fit.options import TEMPERATURE, Request
from faultscape.verbs.fit.result import FittedMethod, FittedMethods, FittedTemperature, Tried
from faultscape.verbs.fit.samples import LOGITS, draw_samples, meaning_of
from faultscape.verbs.fit.tapped_layers import layers_given, layers_to_fit
from faultscape.verbs.options import FitOptions
from faultscape.verbs.train.anomalous_images import note_of_tested
from faultscape.verbs.train.labelled_images import LabelledImages, find_labelled
from faultscape.verbs.train.negatives import NegativeImages
from faultscape.verbs.train.tested_objects import line_of_others


def fit_asked(options: FitOptions) -> FittedTemperature | FittedMethods:
    """Fit what a command names: a temperature (`fit_model`), or a method (`fit_method`)."""
    return fit_model(options) if options.method == TEMPERATURE else fit_method(options)


def fit_method(options: FitOptions) -> FittedMethods:
    """Fit a method to a model of the study. Errors: OptionError, ModelError, MetricError and StudyError for
    an unknown model, layer or option, or if there is nothing to fit to.
    """
    begun = time.perf_counter()
    study = opened(options.study)
    asked = Request.of(options)
    method = asked.method
    settings = study.settings
    if settings.classifies:
        raise OptionError("fit is for segmentation studies; this is a study of classifiers")
    told = asked.told
    method.check(told)
    layers = layers_given(method, options)
    asked.check_search()
    asked.check_negatives()
    asked.check_backbone()
    source = known_source(study, asked.model, asked.source)  # before searching for labels
    rows = _training_images(study, options) if method.learns else None
    anomalous = SearchImages(study, options.validation, options.truth) if options.validation else None
    negatives = _negatives(study, options)
    parts = parts_asked(study.root, asked)
    joined = parts is not None and method.taps == PARTS
    layers = parts.tapped if parts and joined else layers
    model = open_model(study, asked.model, options.device or "", layers, asked.source)
    needs_logits = method.taps == "none" or method.of_logits or method.negatives != "no"
    if needs_logits and model.inference.network.marginal:
        raise ModelError(
            f"{asked.model}: has sums of masks instead of logits, which method {method.name} needs; "
            "fit a method that uses features, such as knn"
        )
    meaning = meaning_of(model, study)
    if parts is not None:
        parts = parts.of_network(model)
        layers = parts.layers if joined else layers
        _tell_of_parts(parts, options)
    named = options.data.backbone
    backbone = Backbone(named, model.inference.network.device) if named is not None else None
    if backbone is not None:
        candidates = [backbone.source]
    else:
        candidates = list(layers) if joined else layers_to_fit(method, model, layers, options)
    provenance = _provenance(study, asked, _sets(rows), source, backbone, parts)
    held = settings.models.get(asked.model)
    words = held.options.get("scorer", []) if held else []
    beside = tuple(map(plain_name, words))
    if (before := fitted_before(study, asked, model, provenance, backbone)) is not None:
        print(
            f"note: {', '.join(one.name for one in before.methods)}: fitted before, and nothing has changed"
            " since"
        )
        return replace(before, beside=beside)
    with devices.fixed_threads(model.threads):
        samples = dict[str, Embeddings]()
        images = 0
        unread = [one.unread for one in (anomalous, negatives) if one is not None]
        if meaning.withheld and (rows is not None or negatives is not None):
            print(
                f"note: patches with pixels of {', '.join(meaning.withheld)} are left out:"
                f" {asked.model} does not know these classes, or a holdout withholds them"
            )
        if rows is not None and method.negatives == "no" and method.taps != "image":
            wanted = [LOGITS] if method.taps == "none" else [*candidates, *[LOGITS] * method.of_logits]
            samples, images, unread_here = draw_samples(
                model,
                settings,
                rows,
                meaning,
                wanted,
                options.data.images,
                asked.keep_embeddings,
                options.seed,
                backbone,
            )
            unread.append(unread_here)
        drawn = rows.key() if rows is not None else ""
        key = key_of(
            model.digest,
            drawn,
            options.data.images,
            asked.keep_embeddings,
            options.seed,
            meaning.places.tolist(),
            *([backbone.digest] if backbone else []),
        )
        work = Work(
            study,
            asked,
            model,
            meaning,
            samples,
            key,
            rows,
            negatives,
            backbone,
            parts,
            provenance,
            unread,
            begun,
        )
        base = {**method.options, **told, **({"parts": ",".join(parts.words)} if parts else {})}
        layers = tuple(candidates)
        searched = dict[str, list[Tried]]()
        if options.select_layer and candidates:
            assert anomalous is not None  # check_search
            searched["layer"] = _search_layers(work, candidates, base, anomalous)
            layers = (searched["layer"][0].candidate,)
        return replace(_made(work, layers, base, searched, images, anomalous), beside=beside)


def _sets(rows: LabelledImages | None) -> tuple[str, ...]:
    """Return the sets of training images."""
    return tuple(sorted({image.set for image, _ in rows.rows})) if rows is not None else ()


def _provenance(
    study: Study,
    asked: Request,
    sets: tuple[str, ...],
    source: str,
    backbone: Backbone | None,
    parts: Parts | None,
) -> JsonObject:
    """Return how a method was fitted, as recorded for `status` to detect that it is stale, with the source of
    a model that `train` did not make.
    """
    options = asked.options
    truth = study.truth(options.truth) if sets else ""
    made_with = {
        "method": options.method,
        "sets": list(sets),
        "truth": truth,
        "validation": options.validation,
        "negatives": options.data.negatives,
        "backbone": backbone.source if backbone else "",
        "parts": list(parts.names) if parts else [],
        "source": source,
    }
    return {
        "inputs": dict(METHODS.inputs(study, asked.model, made_with)),
        "arguments": options.given(but=("model", "per_class", "pixels")),
        "truth": truth,
        **({"source": source} if asked.source else {}),
    }


def _training_images(study: Study, options: FitOptions) -> LabelledImages:
    rows = find_labelled(study, options.truth, options.data.set_, "train", "set")
    if not len(rows):
        where = (
            f"no image of {', '.join(options.data.set_)} has labels"
            if options.data.set_
            else "no image of role train has labels"
        )
        raise StudyError(
            f"nothing to fit to: {where}; collect some with --role train, or name a labelled set with --set"
        )
    images = {image.id: image for image, _ in rows.rows}
    judged = with_labels(study, find_judged(study, images, ""))
    if shown := sorted({image.set for image in images.values() if judged[image.id].anomaly is not None}):
        raise OptionError(
            f"{', '.join(shown)}: has anomaly labels, and a method must not learn what unknown objects "
            "look like; name other sets with --set"
        )
    if tested := rows.roles.count("test"):
        print(
            f"note: {tested} of {len(rows)} training images have role test; judge the method on other images"
        )
    return rows


def _negatives(study: Study, options: FitOptions) -> NegativeImages | None:
    """Return the images of --negatives, None without the option."""
    name = options.data.negatives
    if name is None:
        return None
    if name not in study.sets and Path(name).is_dir():
        raise OptionError(
            f"--negatives {name}: is a folder, which only teaches networks (`train --negatives`); a method"
            f" learns from a set of the study: blend objects into training images: {line_of_others(study)}"
        )
    found = NegativeImages(study, name, options.truth)
    if note := note_of_tested(found, "to learn from"):
        print(note)
    return found


def _tell_of_parts(parts: Parts, options: FitOptions) -> None:
    """Say which parts learnt from the same unknown objects."""
    if taught := parts.taught_by(str(options.data.negatives)):
        print(
            f"note: {', '.join(taught)} learnt from {options.data.negatives} too, and may do better there"
            " than on new images, so that a fusion trusts it too much; blend objects into validation images"
            " for it"
        )


def _search_layers(
    work: Work, candidates: Sequence[str], base: Mapping[str, Value], anomalous: SearchImages
) -> list[Tried]:
    """Return how well the method detects unknown objects at each layer, the best first."""
    methods: dict[str, Fitted] = {}
    for layer in candidates:
        try:
            methods[layer] = work.fit([layer], base)[0]
        except (ModelError, MetricError) as error:
            print(f"note: {layer} is left out: {error}")
    if not methods:
        raise OptionError(
            f"method {work.method.name} cannot be fitted to any of these layers; name another with --layer"
        )
    return anomalous.judge(work.model, work.method.name, methods)


def _search_options(
    work: Work,
    layers: Sequence[str],
    given: Mapping[str, Value],
    keys: Sequence[str],
    anomalous: SearchImages,
) -> tuple[dict[str, Value], dict[str, list[Tried]]]:
    """Return the options of a method, with the searched ones set one after another to their best values, and
    what was tried.
    """
    own = dict(given)
    searched = dict[str, list[Tried]]()
    for key in keys:
        fitting = [
            value
            for value in work.method.search[key]
            if key != "k" or int(value) <= min(len(work.samples[layer]) for layer in layers)
        ]
        if not fitting:
            few = min(len(work.samples[layer]) for layer in layers)
            raise MetricError(
                f"{few} training embeddings are fewer than every {key} tried; keep more, or give --{key}"
            )
        methods = {
            f"{key} {value:g}": _joined(work, layers, {**own, key: value}, anomalous)[0] for value in fitting
        }
        searched[key] = anomalous.judge(work.model, work.method.name, methods)
        own[key] = next(value for value in fitting if f"{key} {value:g}" == searched[key][0].candidate)
    return own, searched


def _joined(
    work: Work, layers: Sequence[str], options: Mapping[str, Value], anomalous: SearchImages | None
) -> Made:
    """Return the method fitted to samples of layers, joined by a logistic regression on request, and
    statistics of the fit.
    """
    weights = None
    if options.get("join") == "logistic":
        assert anomalous is not None  # check_search
        alone = {layer: work.fit([layer], options)[0] for layer in layers}
        weights = logistic_weights(*anomalous.pixels(work.model, alone))
    return work.fit(layers, options, weights)


def _made(
    work: Work,
    layers: Sequence[str],
    base: Mapping[str, Value],
    of_layers: Mapping[str, list[Tried]],
    images: int,
    anomalous: SearchImages | None,
) -> FittedMethods:
    made = []
    asked = work.asked
    searched = dict(of_layers)
    named = named_methods(asked)
    drawn = max((len(one) for one in work.samples.values()), default=0)
    times = list[Timing]()
    before = time.perf_counter() - work.begun  # what all of them share
    for name, swept in named:
        start = time.perf_counter()
        own = {**base, **swept}
        tried = dict[str, list[Tried]]()
        if anomalous is not None:
            own, tried = _search_options(work, layers, own, asked.searches, anomalous)
        mine = {
            **of_layers,
            **{key if len(named) == 1 else f"{name}, {key}": rows for key, rows in tried.items()},
        }
        searched |= mine
        found, numbers = _joined(work, layers, own, anomalous)
        unreadable = {image: why for one in work.unread for image, why in one.reasons.items()}
        more = {
            "images": images,
            "embeddings": drawn,
            **({"unreadable": unreadable} if unreadable else {}),
            "searches": {
                what: [[one.candidate, one.average_precision, one.fpr95] for one in rows]
                for what, rows in mine.items()
            },
            "key": work.key,
            "fit": numbers,
        }
        about = _about(work, layers, own, more, tuned=bool(mine) or own.get("join") == "logistic")
        write(work.folder / f"{name}{ENDING}", about, found.tensors())
        made.append(FittedMethod(name, tuple(layers), own, about.flags))
        seconds = before + time.perf_counter() - start
        times.append(Timing("fit", f"{name}/{asked.model}", 0, images, seconds))
    work.remove_checkpoints()
    of_fit = f"{work.called}/{asked.model}"
    root = work.study.root
    with work.study.writing():
        unread = [row for one in work.unread for row in one.failures("fit", of_fit)]
        replace_failures(root, "fit", of_fit, unread)
        add_timings(root, times)
        log(root, "fit", model=asked.model, method=asked.options.method)
    return FittedMethods(
        asked.options.study,
        asked.model,
        work.model.source,
        tuple(made),
        images,
        drawn,
        {what: tuple(tried) for what, tried in searched.items()},
        negatives=work.negatives.name if work.negatives is not None else "",
    )


def _about(
    work: Work, layers: Sequence[str], options: dict[str, Value], more: dict[str, object], *, tuned: bool
) -> MethodAbout:
    """Return the metadata of a fitted method."""
    # equal weights follow from known pixels alone
    taught = work.negatives if not options.get("equal_weights") else None
    flags = (
        *((TAUGHT,) if taught is not None else ()),
        *((TUNED,) if tuned else ()),
        *(work.parts.flags if work.parts else ()),
    )
    return MethodAbout(
        method=work.method.name,
        options=options,
        layers=tuple(layers),
        network=work.model.digest,
        flags=tuple(dict.fromkeys(flags)),
        sets=_sets(work.rows),
        validation=work.asked.options.validation or "",
        negatives=work.negatives.name if work.negatives is not None else "",
        family=taught.family if taught is not None else "",
        backbone=work.backbone.digest if work.backbone is not None else "",
        shown=work.model.shown,
        provenance=work.provenance,
        more=more,
        parts=work.parts.said if work.parts else (),
    )
