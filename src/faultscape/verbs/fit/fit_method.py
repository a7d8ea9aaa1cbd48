"""Fit a method that scores a network's doubt: draw embeddings of training images, search on request, fit, and
write one file, with which `predict --scorer METHOD` scores; nothing is done if the same file is there.

Conventions: STUDY/methods/MODEL/NAME.safetensors is the complete method; NAME is the method's name, followed
by the option and value of a sweep. The file records the network (a digest) and images that it was fitted to.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import MetricError, ModelError, OptionError, StudyError
from faultscape.metrics.scorers import plain_name
from faultscape.nouns import JsonObject
from faultscape.prediction import devices
from faultscape.prediction.doubt_methods import OnBackbone
from faultscape.prediction.sources.backbone import Backbone
from faultscape.progress import progress
from faultscape.reading.image_truths import find_judged, with_labels
from faultscape.reading.study import Study, opened
from faultscape.study.parts import key_of
from faultscape.study.tables.logs import Timing, add_timings, log, replace_failures
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.method_files import ENDING, MethodAbout
from faultscape.uncertainty.methods.block_fit import BlockPlan
from faultscape.uncertainty.methods.catalogue import IMAGE, TAUGHT, TUNED, Method
from faultscape.uncertainty.methods.embeddings import Embeddings
from faultscape.uncertainty.methods.flow_density import FlowDensity
from faultscape.uncertainty.methods.flow_fit import FlowPlan, TrainedFlow, train_flow
from faultscape.uncertainty.methods.layers import (
    before_activation,
    check_layers,
    grid_layers,
    layers_of_scales,
    outer_layers,
    penultimate,
)
from faultscape.uncertainty.methods.logistic import logistic_weights
from faultscape.uncertainty.methods.method import Fitted, write
from faultscape.verbs.collect.unread_images import UnreadImages
from faultscape.verbs.fit.artefact import METHODS
from faultscape.verbs.fit.fit_temperature import fit_model
from faultscape.verbs.fit.fitted_before import fitted_before, named_methods
from faultscape.verbs.fit.fusion_parts import Parts, parts_asked
from faultscape.verbs.fit.layer_search import SearchImages
from faultscape.verbs.fit.negatives import Negatives, NetworkGrids
from faultscape.verbs.fit.open_model import OpenedModel, known_source, open_model
from faultscape.verbs.fit.options import TEMPERATURE, Request
from faultscape.verbs.fit.result import FittedMethod, FittedMethods, FittedTemperature, Tried
from faultscape.verbs.fit.samples import LOGITS, Meaning, draw_samples, meaning_of
from faultscape.verbs.fit.shown_labels import ShownLabels
from faultscape.verbs.options import FitOptions
from faultscape.verbs.stress.object_families import family_of_set
from faultscape.verbs.train.anomalous_images import note_of_tested
from faultscape.verbs.train.labelled_images import LabelledImages, find_labelled
from faultscape.verbs.train.tested_objects import refuse_tested

_NO_CHOICE = {"none": "only logits", "image": "only image and logits", "parts": "the layers of its parts"}
_CANDIDATES = 8  # most layers to try
_KEY = 16  # digits of a key in the name of a checkpoint folder
_SHOWN = 128  # side of the image used to find layers


@dataclass(frozen=True, eq=False)
class _Work:
    """Everything that fitting a method needs: the open model, samples by layer, and the class of each
    channel.
    """

    study: Study
    name: str
    called: str
    method: Method
    model: OpenedModel
    samples: Mapping[str, Embeddings]
    channels: np.ndarray
    key: str
    seed: int
    sets: tuple[str, ...]
    provenance: JsonObject
    unread: tuple[UnreadImages, ...]
    rows: LabelledImages | None
    negatives: Negatives | None
    meaning: Meaning
    backbone: Backbone | None
    parts: Parts | None
    begun: float  # perf_counter() at the start of the command
    flows: dict[str, TrainedFlow] = field(default_factory=dict)  # {key: flow} already trained
    blocks: dict[str, tuple[Fitted, dict[str, object]]] = field(default_factory=dict)  # likewise

    def checkpoints(self, key: str) -> Path:
        """Return the folder of the checkpoints of a fit."""
        return self.study.root / "methods" / self.name / f".{self.method.name}-{self.called}-{key[:_KEY]}"

    @property
    def device(self) -> str:
        """The device that trains."""
        device = self.model.inference.network.device
        return device if device.startswith("cuda") else "cpu"


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
    layers = _layers_given(method, options)
    asked.check_search()
    asked.check_negatives()
    asked.check_backbone()
    source = known_source(study, asked.model, asked.source)  # before searching for labels
    rows = _training_images(study, options) if method.learns else None
    anomalous = SearchImages(study, options.validation, options.truth) if options.validation else None
    negatives = _negatives(study, options)
    parts = parts_asked(study.root, asked)
    layers = parts.tapped if parts else layers
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
        layers = parts.layers
        _tell_of_parts(parts, options)
    named = options.data.backbone
    backbone = Backbone(named, model.inference.network.device) if named is not None else None
    if backbone is not None:
        candidates = [backbone.source]
    else:
        candidates = list(layers) if parts else _candidates(method, model, layers, options)
    sets = tuple(sorted({image.set for image, _ in rows.rows})) if rows is not None else ()
    provenance = _provenance(study, asked, sets, source, backbone, parts)
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
        work = _Work(
            study=study,
            name=asked.model,
            called=options.as_ or options.method,
            method=method,
            model=model,
            samples=samples,
            channels=meaning.channels,
            key=key,
            seed=options.seed,
            sets=sets,
            provenance=provenance,
            unread=tuple(unread),
            rows=rows,
            negatives=negatives,
            meaning=meaning,
            backbone=backbone,
            parts=parts,
            begun=begun,
        )
        base = {**method.options, **told, **({"parts": ",".join(parts.words)} if parts else {})}
        layers = tuple(candidates)
        searched = dict[str, list[Tried]]()
        if options.select_layer and candidates:
            assert anomalous is not None  # check_search
            searched["layer"] = _search_layers(work, candidates, base, anomalous)
            layers = (searched["layer"][0].candidate,)
        return replace(_made(work, layers, base, asked, searched, images, anomalous), beside=beside)


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


def _layers_given(method: Method, options: FitOptions) -> tuple[str, ...]:
    """Return the given layers, to tap or to choose from; OptionError if the method taps none, or only one."""
    layers = tuple(options.layer)
    if method.taps in _NO_CHOICE and (layers or options.select_layer):
        what = _NO_CHOICE[method.taps]
        raise OptionError(f"method {method.name} uses {what}; leave --layer and --select-layer out")
    if method.taps == "pair" and (options.select_layer or len(layers) not in (0, 2)):
        raise OptionError(
            f"method {method.name} uses two layers, and makes the features of the second from those of the"
            " first, a coarser one: --layer COARSE --layer FINE"
        )
    if method.taps == "one" and len(layers) > 1 and not options.select_layer:
        raise OptionError(
            f"method {method.name} uses one layer; got {', '.join(layers)}; add --select-layer to choose "
            "the best of them"
        )
    return layers


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


def _negatives(study: Study, options: FitOptions) -> Negatives | None:
    """Return the images of --negatives, None without the option."""
    if options.data.negatives is None:
        return None
    found = Negatives(study, options.data.negatives, options.truth)
    refuse_tested(study, found)
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


def _candidates(method: Method, model: OpenedModel, layers: Sequence[str], options: FitOptions) -> list[str]:
    """Return the layers to draw embeddings of: the given ones; with --select-layer the outermost that give a
    grid; else the input of the last layer, or the last layer before an activation.
    """
    if method.taps in ("none", "image"):
        return [IMAGE] * (method.taps == "image")
    network = model.inference.network
    name = model.inference.name
    module: Any = getattr(network, "module", None)
    listed = module if hasattr(module, "named_modules") else None
    if layers:
        if listed is not None:
            check_layers(listed, layers, name)
        return list(layers)
    if listed is None:
        raise OptionError(f"{name}: its layers cannot be listed; name the one to tap with --layer")
    view = model.inference.prepare(
        np.random.default_rng(0).integers(0, 256, (_SHOWN, _SHOWN, 3), np.uint8), (_SHOWN, _SHOWN)
    ).views[0]
    block = model.inference.pieces(view)[0][0]
    shown = partial(network.run, block[None], ())
    size = (block.shape[1], block.shape[2])
    if options.select_layer:
        return outer_layers(grid_layers(listed, shown, size), _CANDIDATES)
    if method.negatives != "no":
        *scales, last = layers_of_scales(listed, shown, size)
        if method.taps == "pair":  # of one size the last layer knows more of its surroundings
            return [scales[-1] if len(scales) > 1 else last, scales[0]]
        return [*scales, last]
    return [before_activation(listed, shown, size) if method.signed else penultimate(listed)]


def _fit(
    work: _Work, layers: Sequence[str], options: Mapping[str, Value], weights: np.ndarray | None = None
) -> tuple[Fitted, dict[str, object]]:
    """Return the method fitted to samples of layers, or of a backbone, and statistics of the fit."""
    method, numbers = _fit_to_samples(work, layers, options, weights)
    return (method if work.backbone is None else OnBackbone(method, work.backbone)), numbers


def _fit_to_samples(
    work: _Work, layers: Sequence[str], options: Mapping[str, Value], weights: np.ndarray | None
) -> tuple[Fitted, dict[str, object]]:
    if work.method.negatives != "no" or work.method.taps == "image":
        return _taught(work, layers, options)
    if work.method.name != "flow":
        wanted = [*layers, *[LOGITS] * work.method.of_logits] or [LOGITS]
        samples = [work.samples[layer] for layer in wanted] if work.method.learns else []
        return work.method.build.fit(layers, samples, options, work.channels), {}
    chosen: Any = {key: options[key] for key in ("steps", "rate", "batch", "blocks", "width", "depth")}
    plan = FlowPlan(**chosen, seed=work.seed)
    flows = list[TrainedFlow]()
    numbers = dict[str, object]()
    for layer in layers:
        key = key_of(work.key, layer, vars(plan))
        if key not in work.flows:
            folder = work.checkpoints(key)
            with progress(f"flow of {layer}", plan.steps) as tick:
                work.flows[key] = train_flow(work.samples[layer].values, plan, folder, key, work.device, tick)
        flows.append(work.flows[key])
        numbers[layer] = {
            "nll": [flows[-1].learnt, flows[-1].chosen, flows[-1].tested],
            "step": flows[-1].step,
        }
    return FlowDensity.of(layers, options, flows, weights), numbers


def _taught(
    work: _Work, layers: Sequence[str], options: Mapping[str, Value]
) -> tuple[Fitted, dict[str, object]]:
    """Return a method that was trained on the network's output for images with unknown objects, and
    statistics of its training.
    """
    grids: ShownLabels | NetworkGrids
    if work.method.taps == "image":
        assert work.rows is not None
        grids = ShownLabels(work.study, work.model, work.meaning, work.rows)
    else:
        grids = NetworkGrids(work.study, work.model, work.meaning, layers, work.negatives, work.rows)
    more: Any = {"negatives": work.negatives is not None} if work.method.negatives == "may" else {}
    if work.method.taps == "image":
        more = {"channels": work.channels, "classes": len(work.study.classes)}
    if work.parts is not None:
        more = {"parts": work.parts.built()}
    chosen: Any = {key: options[key] for key in ("steps", "rate", "batch")}
    plan = BlockPlan(**chosen, seed=work.seed)
    key = key_of(work.method.name, grids.key(), vars(plan), dict(options))
    if key not in work.blocks:
        with progress(work.called, plan.steps) as tick:
            work.blocks[key] = work.method.build.train(
                layers, options, grids, plan, work.checkpoints(key), key, work.device, tick, **more
            )
        for unread in (grids.unread, *((work.negatives.unread,) if work.negatives else ())):
            unread.tell()
    return work.blocks[key]


def _search_layers(
    work: _Work, candidates: Sequence[str], base: Mapping[str, Value], anomalous: SearchImages
) -> list[Tried]:
    """Return how well the method detects unknown objects at each layer, the best first."""
    methods: dict[str, Fitted] = {}
    for layer in candidates:
        try:
            methods[layer] = _fit(work, [layer], base)[0]
        except (ModelError, MetricError) as error:
            print(f"note: {layer} is left out: {error}")
    if not methods:
        raise OptionError(
            f"method {work.method.name} cannot be fitted to any of these layers; name another with --layer"
        )
    return anomalous.judge(work.model, work.method.name, methods)


def _search_options(
    work: _Work,
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
    work: _Work, layers: Sequence[str], options: Mapping[str, Value], anomalous: SearchImages | None
) -> tuple[Fitted, dict[str, object]]:
    """Return the method fitted to samples of layers, joined by a logistic regression on request, and
    statistics of the fit.
    """
    weights = None
    if options.get("join") == "logistic":
        assert anomalous is not None  # check_search
        alone = {layer: _fit(work, [layer], options)[0] for layer in layers}
        weights = logistic_weights(*anomalous.pixels(work.model, alone))
    return _fit(work, layers, options, weights)


def _made(
    work: _Work,
    layers: Sequence[str],
    base: Mapping[str, Value],
    asked: Request,
    of_layers: Mapping[str, list[Tried]],
    images: int,
    anomalous: SearchImages | None,
) -> FittedMethods:
    made = []
    times = list[Timing]()
    before = time.perf_counter() - work.begun  # what all of them share
    searched = dict(of_layers)
    named = named_methods(asked)
    folder = work.study.root / "methods" / work.name
    for name, swept in named:
        begun = time.perf_counter()
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
        flags = (
            *((TAUGHT,) if work.negatives is not None else ()),
            *((TUNED,) if mine or own.get("join") == "logistic" else ()),
            *(work.parts.flags if work.parts else ()),
        )
        tables = {
            what: [[one.candidate, one.average_precision, one.fpr95] for one in rows]
            for what, rows in mine.items()
        }
        unreadable = {image: why for one in work.unread for image, why in one.reasons.items()}
        more = {
            "images": images,
            "embeddings": max((len(one) for one in work.samples.values()), default=0),
            **({"unreadable": unreadable} if unreadable else {}),
            "searches": tables,
            "key": work.key,
            "fit": numbers,
        }
        path = folder / f"{name}{ENDING}"
        about = MethodAbout(
            method=asked.options.method,
            options=own,
            layers=tuple(layers),
            network=work.model.digest,
            flags=tuple(dict.fromkeys(flags)),
            sets=work.sets,
            validation=asked.options.validation or "",
            negatives=asked.options.data.negatives or "",
            family=family_of_set(work.study, work.negatives.name) if work.negatives is not None else "",
            backbone=work.backbone.digest if work.backbone is not None else "",
            shown=work.model.shown,
            provenance=work.provenance,
            more=more,
            parts=work.parts.said if work.parts else (),
        )
        write(path, about, found.tensors())
        made.append(FittedMethod(name, tuple(layers), own, about.flags))
        taken = before + time.perf_counter() - begun
        times.append(Timing("fit", f"{name}/{work.name}", 0, images, taken))
    of_this_name = (  # left by a stopped run whose options then changed
        f".{work.method.name}-{work.called}-{'[0-9a-f]' * _KEY}"
    )
    for left in folder.glob(of_this_name):
        shutil.rmtree(left, ignore_errors=True)
    of_fit = f"{work.called}/{work.name}"
    root = work.study.root
    taught = work.negatives.name if work.negatives is not None else ""
    with work.study.writing():
        unread = [row for one in work.unread for row in one.failures("fit", of_fit)]
        replace_failures(root, "fit", of_fit, unread)
        add_timings(root, times)
        log(root, "fit", model=work.name, method=asked.options.method)
    drawn = max((len(one) for one in work.samples.values()), default=0)
    return FittedMethods(
        asked.options.study,
        asked.model,
        work.model.source,
        tuple(made),
        images,
        drawn,
        {what: tuple(tried) for what, tried in searched.items()},
        negatives=taught,
    )
