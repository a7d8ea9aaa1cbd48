"""Train a network on a study's labels and store it in STUDY/models/NAME, a model source like any other.

Conventions: a network with the same options, images and labels is not trained again. A run locks only the
network's folder in the study; a killed run resumes from its last checkpoint and, on a CPU, reaches the same
bytes. The folder keeps its old content until the new network is complete.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.errors import MetricError, OptionError
from faultscape.nouns import JsonObject
from faultscape.prediction import devices
from faultscape.progress import Tick, progress
from faultscape.reading.artefact import texts
from faultscape.reading.boxes.evidence import truth_of_boxes
from faultscape.reading.study import LABELS, Study, opened
from faultscape.study.folder import put, refuse_twin
from faultscape.study.lock import changing, holding
from faultscape.study.parts import key_of
from faultscape.study.tables.logs import log
from faultscape.study.trained_images import BEFORE, ON, all_images_of, recorded
from faultscape.uncertainty import description as descriptions
from faultscape.uncertainty.catalogue import head_named
from faultscape.uncertainty.export import export_network
from faultscape.uncertainty.fit import FACTORS, fit_covariance, tune_mean_field
from faultscape.uncertainty.heads.gaussian_process import processes_of
from faultscape.uncertainty.training import checkpoints, curves
from faultscape.uncertainty.training.labels import OUTSIDE
from faultscape.uncertainty.training.loop import Machine, Task, checkpoint_activations, train
from faultscape.uncertainty.training.patches import Photos
from faultscape.uncertainty.training.validation import Images, validate
from faultscape.verbs.options import TrainOptions
from faultscape.verbs.stress.blends.other_photos import OtherPhotos
from faultscape.verbs.train import lineage, network
from faultscape.verbs.train.artefact import BEGUN, METHOD_NUMBER, MODELS, NETWORKS
from faultscape.verbs.train.examples import (
    Examples,
    class_weights,
    find_examples,
    need_boxes,
    truth_of_masks,
)
from faultscape.verbs.train.label_parts import label_parts
from faultscape.verbs.train.labelled_images import LabelledImages, selections_of
from faultscape.verbs.train.negatives import Negatives, find_negatives, taught_by
from faultscape.verbs.train.network import Wanted, folder_of
from faultscape.verbs.train.options import MEMBER_BLOCKS, SEED, dropout_layers, head_options, swept
from faultscape.verbs.train.result import Swept, Trained
from faultscape.verbs.train.training_record import flags_of, read_training
from faultscape.verbs.train.withheld import find_withheld

WATCHED = 200  # validation images used during training; the trained network is judged on all
_AT_PREDICTION = ("mean_field",)  # options of heads that are set after training


@dataclass(frozen=True)
class Made:
    """A trained network: facts about its training, the rows of its log, and the mean-field factor if it was
    tuned.
    """

    net: descriptions.Network
    about: JsonObject
    rows: list[curves.Row]
    tuned: float | None = None


def train_networks(options: TrainOptions) -> Trained | Swept:
    """Train one network, or one for each value of --sweep. Errors: OptionError, ModelError and StudyError if
    that is impossible.
    """
    study = opened(options.study)
    option, values = swept(options)
    if not option:
        return _one(study, options)
    networks: dict[str, Trained] = {}
    first = ""
    kind = head_named(options.head)
    of_head = head_options(options)
    for value in values if option != SEED else ():  # check all before training the first
        told = {**of_head, option: value}
        kind.check({key: told[key] for key in told if key != MEMBER_BLOCKS})
    for value in values:
        word = f"{value:g}" if isinstance(value, float) else str(value)
        called = option.replace("_", "-")
        told = {"seed": value} if option == SEED else {"head_options": {**of_head, option: value}}
        mine = replace(options, name=f"{options.name}-{called}-{word}", sweep=None, **told)
        print(f"{mine.name} ({len(networks) + 1} of {len(values)})", flush=True)
        networks[word] = _one(study.reread(), mine, first if option in _AT_PREDICTION else "")
        first = first or mine.name
    return Swept(options.study, option, networks)


def _one(study: Study, options: TrainOptions, instead_of: str = "") -> Trained:
    """Train one network; one that continues another on a selection then joins the study."""
    if options.init:
        network.folder_of_start(study.root, options.init)
    if not lineage.continues(options) or study.classifies:
        return _train_network(study, options, instead_of)
    lineage.refuse_other_model(study, options.name)
    asked = options.data.boxes
    options = lineage.taken_over(study, options)
    labelled = lineage.find_continued(study, options)
    if asked:
        need_boxes(labelled)
    return _joined(study, options, _train_network(study, options, instead_of, labelled))


def _train_network(
    study: Study, options: TrainOptions, instead_of: str = "", labelled: LabelledImages | None = None
) -> Trained:
    """Train one network, on the images of its options unless they are ``labelled``; if ``instead_of`` names a
    network with the same weights, copy that one with the new options instead.
    """
    root = study.root
    if study.classifies:
        raise OptionError("train is for segmentation studies; this is a study of classifiers")
    folder = folder_of(root, options.name)
    refuse_twin(options.name, [path.name for path in (root / "models").glob("*") if path.is_dir()], "network")
    if options.name in {LABELS, *study.truths}:
        raise OptionError(
            f"{options.name!r} is already the name of a truth (a set of labels); give the network "
            f"another, for example {options.name}-model"
        )
    if options.init == options.name:
        raise OptionError(
            f"--init {options.init}: a network cannot start from itself; give the new one another name"
        )
    if options.data.boxes and options.loss != "ce":
        raise OptionError(f"--boxes teach with --loss ce; got --loss {options.loss}: leave one of them out")
    withheld = find_withheld(study.stress, study.classes, options.data.withhold)
    negatives = find_negatives(study, options.data)
    train_on, watch_on = find_examples(
        study,
        options.data,
        withheld,
        None if negatives is None else partial(taught_by, negatives),
        labelled,
    )
    if "gp" in options.head and len(train_on.boxed) == len(train_on):
        raise OptionError(
            f"--head {options.head}: its covariance is that of labelled pixels, and no training image has a"
            " mask; label some, or use another head"
        )
    device = devices.pick(options.machine.device or "", "torch")
    with (
        holding(
            folder, f"another faultscape is training {options.name} in {root}; wait until it has finished"
        ),
        devices.fixed_threads(options.machine.threads or 0),
    ):
        wanted = network.want(root, options, withheld, train_on.an_epoch)
        key = _key(root, options, wanted, train_on, watch_on, negatives)
        provenance = _provenance(study, options, train_on, watch_on, withheld.names, key, negatives)
        if (before := _held(folder)) and before["provenance"]["key"] == key and _is_whole(folder, wanted):
            if before["provenance"] != provenance:  # for example, labels of other images changed
                descriptions.describe_again(folder, {"provenance": provenance})
            return _result(options, folder, wanted, before, new=False)
        for note in (*wanted.notes, *_test_images(train_on)):
            print(note)
        copied = _copy(root, instead_of, wanted, watch_on, device) if instead_of else None
        made = copied or _train(folder, wanted, train_on, watch_on, options, device, provenance, negatives)
        _finish(folder, wanted, made, provenance)
        with changing(root):
            log(root, "train", name=options.name, seconds=made.about["seconds"])
        return _result(options, folder, wanted, _held(folder) or {}, new=True)


def _joined(study: Study, options: TrainOptions, made: Trained) -> Trained:
    """Return a network that continues another one, after it joined the study."""
    record = NETWORKS.record(study.reread(), options.name) or {}
    return replace(
        made,
        parent=str(options.init),
        selections=tuple(texts(record.get("selections"))),
        new_images=int(str(record.get("new_images", 0))),
        maps=lineage.join(study, options, made.source),
    )


def _is_whole(folder: Path, wanted: Wanted) -> bool:
    """Whether a folder holds a complete, undamaged network with the requested backbone: a study from someone
    else could hold different code under the same key.
    """
    if (folder / BEGUN).exists() or not descriptions.are_whole(folder):
        return False
    held = descriptions.read_description(folder)
    own = folder / descriptions.OWN_FILE
    if (held.backbone, dict(held.config)) != (wanted.description.backbone, dict(wanted.description.config)):
        return False
    return wanted.file is None or (own.is_file() and own.read_bytes() == wanted.file.read_bytes())


def _test_images(train_on: Examples) -> list[str]:
    """Return notes about training images that were collected for testing."""
    found = train_on.roles.count("test")
    return (
        [
            (
                f"note: {found} of {len(train_on)} training images have role test; judge the network on other"
                " images"
            )
        ]
        if found
        else []
    )


def _key(
    root: Path,
    options: TrainOptions,
    wanted: Wanted,
    train_on: Examples,
    watch_on: Examples,
    negatives: Negatives | None,
) -> str:
    """Return the key of a network: of everything it depends on, image by image."""
    described = json.loads(descriptions.description_text(wanted.description, {}))
    if not wanted.description.negative_class:  # so that networks from before there was one are not others
        del described["network"]["negative_class"]
    start = (
        (_held(root / MODELS / options.init) or {}).get("provenance", {}).get("key", "")
        if options.init
        else ""
    )
    watched = watch_on.key() if len(watch_on) else ""
    smoothed = (options.smoothing,) if options.smoothing else ()
    pasted = (negatives.key(),) if negatives is not None else ()
    about = (options.loss, options.machine.precision, *smoothed, *pasted)
    # does not change the network
    plan = {name: value for name, value in vars(wanted.plan).items() if name != "validate_every"}
    return key_of(METHOD_NUMBER, described, plan, about, train_on.key(), watched, start, wanted.origin)


def _provenance(
    study: Study,
    options: TrainOptions,
    train_on: Examples,
    watch_on: Examples,
    withheld: tuple[str, ...],
    key: str,
    negatives: Negatives | None,
) -> JsonObject:
    """Return how a network was made, as recorded for `status` to detect that it is stale."""
    sets = sorted(train_on.sets | watch_on.sets)
    asked = truth_of_masks(study, options.data)
    boxed = train_on.boxed
    of_boxes = truth_of_boxes(study, options.data.truth) if boxed else ""
    truth = of_boxes if asked == "" else study.truth(asked)
    given = _arguments(options)
    if isinstance(negatives, OtherPhotos):
        given = {**given, "negatives": os.path.abspath(negatives.name)}
    flags = flags_of(read_training(study.root / MODELS / options.init)) if options.init else []
    trained_on = recorded(train_on.images, {})
    before = all_images_of(NETWORKS.record(study, options.init) or {}) if options.init else {}
    made_from = recorded(train_on.images, study.image_rows)
    made_with: JsonObject = {
        "arguments": given,
        "truth": truth,
        "sets": list(sets),
        **({"selections": list(chosen)} if (chosen := selections_of(options.data.set_)) else {}),
        **({"box_truth": of_boxes, "boxed": list(boxed)} if boxed else {}),
        ON: dict(trained_on),
        BEFORE: {id_: key for id_, key in (before | made_from).items() if id_ not in trained_on},
    }
    parts = label_parts(study, truth, made_with)
    return {
        "key": key,
        "inputs": dict(NETWORKS.inputs(study, options.name, made_with | {"label_parts": parts})),
        **made_with,
        "label_parts": parts,
        "withheld": list(withheld),
        "images": len(train_on),
        **({"new_images": train_on.new} if train_on.new else {}),
        **({"flags": list(flags)} if flags else {}),
        **({"family": negatives.family} if negatives is not None else {}),
    }


def _train(
    folder: Path,
    wanted: Wanted,
    train_on: Examples,
    watch_on: Examples,
    options: TrainOptions,
    device: str,
    provenance: JsonObject,
    negatives: Negatives | None,
) -> Made:
    """Train a network, and fit what is fitted after training."""
    begun = time.monotonic()
    net = descriptions.build(wanted.description, folder, wanted.start, keep_head=wanted.keep_head).to(device)
    if options.machine.checkpoint_activations:
        checkpoint_activations(net)
    if _held(folder):
        print(
            f"{folder.name}: options or data changed; retraining (the current network is kept until the new"
            " one is done)"
        )
    put(folder / BEGUN, (json.dumps(provenance["arguments"]) + "\n").encode())
    about = wanted.description
    plan = wanted.plan
    weights = (
        class_weights(train_on, len(about.classes), void=about.void_class)
        if plan.class_weights != "none"
        else ()
    )
    photos = negatives if isinstance(negatives, OtherPhotos) else None
    if weights and photos is not None and about.void_class:
        weights = (
            *weights[:-1],
            1.0,
        )  # no label counts what is pasted: as much as a class of median frequency
    task = Task(
        len(train_on),
        train_on.read,
        options.loss,
        weights,
        about.mean,
        about.std,
        train_on.called,
        options.smoothing or "each",
        None if photos is None else Photos(len(photos), photos.read),
        train_on.new,
        train_on.boxes if train_on.boxed else None,
        train_on.masked,
    )
    shown, watched = (
        Images(len(rows), rows.read, plan.size, about.multiple, about.mean, about.std, about.window)
        for rows in (train_on, watch_on)
    )
    classes = len(about.classes)
    look = (lambda net: validate(net, watched, device, WATCHED, classes)) if len(watch_on) else None
    precision = options.machine.precision or ("bf16" if device != "cpu" else "no")
    if note := devices.slow_half(device, precision):
        print(note)
    machine = Machine(device, precision, max(1, min(4, os.cpu_count() or 1)))
    rows, before = _steps(
        folder,
        train(net, plan, task, folder / "checkpoint", str(provenance["key"]), machine, look),
        plan.all_steps(train_on.an_epoch),
        str(provenance["key"]),
        look is not None,
    )
    if any(not head.momentum for head in processes_of(net)):
        number = len(train_on) - len(train_on.boxed)
        print(f"{options.name}: fitting the covariance of the Gaussian process to {number} images")
        least = OUTSIDE if about.void_class else 0  # learnt labels, and void pixels if they are a class
        with progress("covariance", len(train_on)) as tick:
            shown = replace(shown, read=_ticking(shown.read, tick))
            fit_covariance(net, ((image, labels[None] >= least) for image, labels in shown.tensors(device)))
    tuned = None
    if processes_of(net) and "mean_field" not in about.head_options and len(watch_on):
        try:
            with progress("mean field", len(FACTORS)) as tick:
                tune_mean_field(net, watched, device, map(_ticking(float, tick), FACTORS))
            tuned = processes_of(net)[0].mean_field
        except MetricError as error:
            print(f"note: {error}; the mean-field factor stays 1")
    elif processes_of(net) and "mean_field" not in about.head_options:
        print(
            "note: no validation set, so the mean-field factor stays 1; name a set with --validation to"
            " tune it"
        )
    net.eval()
    scores = validate(net, watched, device, classes=classes) if len(watch_on) else {}
    seconds = round(before + time.monotonic() - begun, 1)
    made = {"steps": rows[-1].step, "loss": rows[-1].loss, "found": scores, "seconds": seconds}
    return Made(net, made, rows, tuned)


def _ticking(work: Callable[[Any], Any], tick: Tick) -> Callable[[Any], Any]:
    """Return a function that does the same work and ticks at every call."""

    def ticking(given: Any) -> Any:
        tick(1)
        return work(given)

    return ticking


def _steps(
    folder: Path, steps: Iterator[Any], total: int, key: str, watched: bool
) -> tuple[list[curves.Row], float]:
    """Run the training steps and log them; return all rows, and the seconds of runs that were killed."""
    rows: list[curves.Row] = []
    before = 0.0
    put_at = time.monotonic()
    with progress("train", total) as tick:
        for step in steps:
            if not rows and step.step > 1:
                print(f"resuming after step {step.step - 1:,}")
            if not rows:  # the log of a killed run, up to its checkpoint
                rows = [row for row in curves.read_rows(folder, key) if row.step < step.step]
                before = step.before
                tick(step.step - 1)
            rows.append(
                curves.Row(
                    step.step,
                    step.loss,
                    step.rate,
                    step.norm,
                    step.seconds,
                    step.found.get("miou", math.nan),
                    step.found.get("nll", math.nan),
                )
            )
            if step.found:
                print(
                    f"step {step.step:,} of {total:,}: loss {step.loss:.3f}, validation mIoU"
                    f" {step.found['miou']:.3f}, NLL {step.found['nll']:.3f}",
                    flush=True,
                )
            elif not watched and step.step % max(1, total // 10) == 0:
                print(f"step {step.step:,} of {total:,}: loss {step.loss:.3f}", flush=True)
            if time.monotonic() - put_at > 5:
                curves.write_rows(folder, rows, key)
                put_at = time.monotonic()
            tick(1)
    curves.write_rows(folder, rows, key)
    return rows, before


def _copy(root: Path, name: str, wanted: Wanted, watch_on: Examples, device: str) -> Made | None:
    """Return a network of the study with other prediction options, validated again; None if it does not
    exist.
    """
    other = folder_of(root, name)
    held = _held(other)
    if not held:
        return None
    about = wanted.description
    net = descriptions.build(about, other).to(device)
    descriptions.load_weights(net, other / descriptions.WEIGHTS)
    watched = Images(
        len(watch_on), watch_on.read, wanted.plan.size, about.multiple, about.mean, about.std, about.window
    )
    found = validate(net, watched, device, classes=len(about.classes)) if len(watch_on) else {}
    return Made(net, {**held["training"], "found": found}, curves.read_rows(other))


def _finish(folder: Path, wanted: Wanted, made: Made, provenance: JsonObject) -> None:
    """Write the network, with the tuned mean-field factor, and remove its checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        **wanted.description.head_options,
        **({"mean_field": made.tuned} if made.tuned is not None else {}),
    }
    described = replace(wanted.description, head_options=told)
    # so that a kill cannot leave it next to different weights or code
    (folder / descriptions.NETWORK).unlink(missing_ok=True)
    if wanted.file is not None and wanted.file.resolve() != (folder / descriptions.OWN_FILE).resolve():
        shutil.copyfile(wanted.file, folder / descriptions.OWN_FILE)
    more = {"training": made.about, "plan": vars(wanted.plan), "tuned": made.tuned, "provenance": provenance}
    descriptions.save(folder, described, made.net, more)
    curves.write_rows(folder, made.rows)
    checkpoints.remove(folder / "checkpoint")
    (folder / BEGUN).unlink(missing_ok=True)


def _held(folder: Path) -> dict[str, Any] | None:
    """Return the record of how a trained network was made; None if its folder has none, or a damaged one."""
    try:
        held = json.loads((folder / descriptions.NETWORK).read_text(encoding="utf-8"))
        return held if held["provenance"]["key"] and (folder / descriptions.WEIGHTS).is_file() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _arguments(options: TrainOptions) -> JsonObject:
    """Return the given options, without those that do not change the network."""
    held = options.given(but=("sweep", "head_options"))
    if options.backbone is not None:
        held = {**held, "backbone": plug.absolute(options.backbone)}
    if options.dropout_at:
        held = {**held, "dropout_at": list(dropout_layers(options))}
    return {**held, **head_options(options)}


def _result(
    options: TrainOptions,
    folder: Path,
    wanted: Wanted,
    held: dict[str, Any],
    *,
    new: bool,
) -> Trained:
    about = held["network"]
    training = held["training"]
    exported = (
        export_network(folder, options.export, own_code=wanted.file is not None) if options.export else ""
    )
    return Trained(
        options.study,
        options.name,
        str(folder),
        about["backbone"],
        about["head"],
        tuple(about["classes"]),
        tuple(held["provenance"]["withheld"]),
        held["provenance"]["images"],
        training["steps"],
        training["loss"],
        dict(training["found"]),
        held["tuned"],
        exported,
        new,
        training.get("seconds", 0.0),
        boxed=len(texts(held["provenance"].get("boxed"))),
    )
