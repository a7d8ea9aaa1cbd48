"""Predict: store what each model says about every image of a study, and rename or remove models.

Conventions: finished shards are not repeated. Errors are raised before a model is added to the study; a model
with nothing usable is not added.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from faultscape import engine as engines
from faultscape.arguments import Source
from faultscape.corpus.photos import DECODED
from faultscape.errors import FaultscapeError, ModelError, OptionError, RefusedError, closest, counted
from faultscape.prediction import catalogue, devices
from faultscape.prediction.batches import NO_LABEL, NO_MAP, NO_ROW
from faultscape.prediction.networks import check_options
from faultscape.reading.fill import Engine, Work, fill
from faultscape.reading.study import Study, opened
from faultscape.study import settings as toml
from faultscape.study.array_jobs import Share, share
from faultscape.study.folder import check_name, refuse_twin
from faultscape.study.lock import changing
from faultscape.study.parts import read_manifest
from faultscape.study.store import is_address
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.logs import Timing, log, read_failures
from faultscape.study.trained_images import put_record, read_record, trained_by
from faultscape.verbs.in_memory.models import as_sources
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict import changed_models, shard
from faultscape.verbs.predict.job import Job, Made
from faultscape.verbs.predict.options import Declared
from faultscape.verbs.predict.pixel_counts import CountParts
from faultscape.verbs.predict.plan import Plan, asked_of_models, plan, refuse_truths, shards_of_sets
from faultscape.verbs.predict.result import Predicted
from faultscape.verbs.predict.statistics import Statistics
from faultscape.verbs.predict.takeover import Takeover, is_other, keeping, kept_text
from faultscape.verbs.predict.unknown_masks import UnknownMasks

_TASK = "faultscape.verbs.predict.shard:shard"


def predict_models(options: PredictOptions, declared: Declared | None = None) -> Predicted:
    """Run `predict` with its options, and with what a submission declares, and mask what is unknown if that
    was asked; ModelError, OptionError or StudyError if that is impossible.
    """
    with as_sources(opened(options.study), options.models) as models:
        try:
            return _predict_sources(replace(options, models=models), declared)
        finally:
            DECODED.forget()


def _predict_sources(options: PredictOptions, declared: Declared | None) -> Predicted:
    """Run `predict` on models that all have a SOURCE."""
    if options.scoring.mask_unknown is None:
        return _predict(options, declared)
    masks = UnknownMasks(opened(options.study), options, [*named(options.models)])
    found = _predict(replace(options, truth=None), declared)
    masked = masks.write()
    of_masks = _predict(masks.options_of_models())
    return replace(found, models=found.models | of_masks.models, masked=masked)


def _predict(options: PredictOptions, declared: Declared | None = None) -> Predicted:
    """Run `predict` without masks."""
    study = opened(options.study)
    root = study.root
    renamed, removed = changed_models.asked(options.rename, options.remove)
    mine = share(options.shard)
    task = study.settings.task
    given = named(options.models, task) if options.models or not (renamed or removed) else {}
    of_models = asked_of_models(options, declared or Declared())
    sets = options.part.set_ or []
    _check_options(options, of_models, task)
    _check_sources(study, given)
    if not of_models and options.labels is None:
        _refuse_second_name(study, given)
    refuse_truths(study, given)
    with study.writing(array="predict" if options.shard else "", change=bool(renamed or removed)):
        if renamed or removed:
            changed_models.change(options, study, renamed, removed, given)
        shards_of_sets(study, sets)  # an unknown set is refused before anything is opened
        before = study.settings
        settings = before.model_copy(deep=True)  # to which plans add their models
        fresh = [name for name in given if name not in settings.models]
        against = _truth(study, options)
        plans = _plans(study, settings, given, options, of_models, against)
        catalogue.release()
        takeover = Takeover(root, plans)
        with changing(root):
            takeover.begin(study)
            for name in plans:  # maps of the network that it replaces stay until it is done
                where = label_maps.predictions(root, name)
                put_record(where, read_record(where) | trained_by(settings, name))
            study.reread()
        try:
            resized = _run(study, settings, plans, mine, options, against, takeover)
        except FaultscapeError as error:
            refused = isinstance(error, RefusedError)
            if nothing := [
                name
                for name in fresh
                if not options.shard
                and (not shard.begun(root, name) or (refused and plans[name].source.whole))
            ]:
                with changing(root):  # otherwise the other models could not be ranked
                    changed_models.withdraw(study, nothing)
            raise keeping(root, before, sorted(takeover.waiting), error) from None
        finally:
            catalogue.release_tables()
        with changing(root):
            for name in plans.keys() - takeover.refused.keys() if not options.shard else ():
                put_record(label_maps.predictions(root, name), trained_by(settings, name))
            study.reread()
            counts = {name: shard.settle(study, name) for name in given}
            empty = [
                name
                for name, (maps, _) in counts.items()
                if (maps == 0 and not (sets and pixel_counts.dropped(root, name))) or name in takeover.refused
            ]
            unusable = bool(given) and not options.shard and len(empty) == len(counts)
            if unusable:  # a model without predictions would make selections stale
                changed_models.withdraw(study, fresh)
            if given:
                log(
                    root,
                    "predict",
                    models={n: str(s) for n, s in given.items()},
                    engine=options.engine,
                    shard=options.shard,
                    **({"set": sets} if sets else {}),
                )
            if not options.shard:
                changed_models.forget(root)
    for name, of_maps in resized.items():
        of_maps.tell(name)
    what = "map" if task == "segmentation" else "answer"
    if takeover.refused:
        why = "; ".join(
            f"no {what} of {name}={given[name]} could be used: {why}"
            for name, why in takeover.refused.items()
        )
        raise ModelError(f"{why}{kept_text(root, before, sorted(takeover.refused))}")
    if unusable:
        raise ModelError(_unusable_text(root, given, fresh, what))
    dropped = {name: pixel_counts.dropped(root, name) for name in given} if options.measure else {}
    return Predicted(options.study, counts, renamed, tuple(removed), f"{what}s", dropped)


def _truth(study: Study, options: PredictOptions) -> str | None:
    """Return the truth to measure against, '' for scores alone where only unknown objects are labelled, None
    without --measure; StudyError if there is none to choose.
    """
    if not options.measure:
        return None
    if options.truth is None and not study.truths and label_maps.anomaly_truths(study.root):
        return ""
    return study.truth(options.truth)


def _check_sources(study: Study, given: Mapping[str, str]) -> None:
    """Raise ModelError for a source of unknown kind; the message names what a model with a different source
    keeps.
    """
    settings = study.settings
    for name, source in given.items():
        try:
            catalogue.source_of(name, source, settings.task)
        except FaultscapeError as error:
            other = [name] if is_other(settings.models.get(name), source) else []
            raise keeping(study.root, settings, other, error) from None


def _refuse_second_name(study: Study, given: Mapping[str, str]) -> None:
    """Raise ModelError for a new model whose source, without options of its own, a model of a similar name
    has: that name was probably mistyped.
    """
    held = study.settings.models
    for name, source in given.items():
        others = [
            other for other, model in held.items() if other not in given and not is_other(model, source)
        ]
        others = [other for other in others if other.casefold() != name.casefold()]  # those are twins
        near = next((other for other in others if closest(name, [other])), "")
        if name not in held and near:
            rename = f"`faultscape predict {study.place} --rename {near}={name}`"
            raise ModelError(
                f"{name}={source}: model {near} has this source already; to give it this name: {rename}"
            )


def _plans(
    study: Study,
    settings: toml.Settings,
    given: Mapping[str, str],
    options: PredictOptions,
    of_models: toml.ModelOptions,
    against: str | None,
) -> dict[str, Plan]:
    """Return the plan of each model; an error in opening or trying one also says what that model keeps."""
    before = study.settings
    plans: dict[str, Plan] = {}
    for name, place in given.items():
        refuse_twin(name, before.models)
        try:
            plans[name] = plan(study, settings, name, place, options, of_models, against)
        except FaultscapeError as error:
            kept_at = catalogue.source_of(name, place, settings.task).kept_as(place)
            other = [name] if is_other(before.models.get(name), kept_at) else []
            raise keeping(study.root, before, other, error) from None
    return plans


def named(models: Sequence[Source], task: str = "segmentation") -> dict[str, str]:
    """Return {name: source} of NAME=SOURCE arguments and dicts; ModelError for a wrong or repeated name, with
    examples for the task.

    >>> named(["unet=maps/unet", {"fcn": "fcn.onnx"}])
    {'unet': 'maps/unet', 'fcn': 'fcn.onnx'}
    """
    out: dict[str, str] = {}
    example = (
        "unet=maps/unet or unet=unet.onnx"
        if task == "segmentation"
        else "resnet=resnet.csv, resnet=all.csv:resnet50 or resnet=resnet.onnx"
    )
    for word in models:
        if isinstance(word, Mapping):
            items = [(str(k), _text_of(str(k), v)) for k, v in word.items()]
        else:
            name, equals, source = str(word).partition("=")
            if not equals or not source:
                raise ModelError(f"{word!r} is not NAME=SOURCE, for example {example}")
            items = [(name, source)]
        for name, source in items:
            if is_address(source):
                what = "maps" if task == "segmentation" else "tables"
                raise ModelError(
                    f"{name}={source}: {what} and networks are read from local folders; copy it here first"
                )
            if check_name(name) in out:
                raise ModelError(f"two models are named {name!r}; give each its own name")
            refuse_twin(name, out)
            out[name] = source
    if not out:
        raise ModelError(f"no model given; give NAME=SOURCE, for example {example}")
    return out


def _text_of(name: str, source: object) -> str:
    """Return a SOURCE as text; ModelError for what is in memory."""
    if not isinstance(source, str | os.PathLike):
        raise ModelError(
            f"{name}: expected the name of a file or folder; got {type(source).__name__}; `fs.predict` takes"
            " models that are in memory"
        )
    return os.fspath(source)


def _check_options(options: PredictOptions, of_models: toml.ModelOptions, task: str) -> None:
    """Raise OptionError for options that apply to no model, or to no study of this task."""
    check_options(of_models)
    devices.check(options.hardware.device or "")
    engines.check(options.engine, options.workers)
    if task != "segmentation" and options.measure:
        raise OptionError(
            "--measure is for label maps; for the accuracy of classifiers run `faultscape rank`"
        )
    if task != "segmentation" and options.scorer:
        raise OptionError(
            "--scorer is for label maps; to keep the probabilities of classifiers give --keep probabilities"
        )
    if task == "segmentation" and "crop" in of_models:
        raise OptionError("--crop is for classifiers; use --window to show an image in parts")


def _run(
    study: Study,
    settings: toml.Settings,
    plans: Mapping[str, Plan],
    mine: Share,
    options: PredictOptions,
    against: str | None,
    takeover: Takeover,
) -> dict[str, _Resized]:
    """Run all jobs of this command and enter their results; return how each model's maps differ in size."""
    root = study.root
    statistics = Statistics(study, settings, against) if against else None
    counts = CountParts(study, against) if against is not None else None
    beside = {name: set(outputs.kinds(root, name)) for name in plans}
    of_models: dict[str, _Resized] = {}

    def enter(made: list[tuple[Job, Made]]) -> list[Timing]:
        rows: list[Timing] = []
        for name in dict.fromkeys(job.name for job, _ in made):
            mine = [(job, part) for job, part in made if job.name == name]
            if not takeover.admits(name, mine):
                continue
            rows += shard.enter(root, name, mine, beside[name], statistics, counts)
            of_models.setdefault(name, _Resized()).count(part for _, part in mine)
        return rows

    def run(jobs: list[Job], engine: Engine) -> None:
        if jobs:
            work = Work(
                shard.TITLE,
                _TASK,
                Made,
                enter,
                lambda job, made: shard.files_of(root, job, made, statistics),
                lambda job: job.name,
                set(takeover.waiting),
                lambda job: plans[job.name].sent(job),
            )
            fill(root, work, jobs, engine, items=sum(job.images for job in jobs), mine=mine)

    jobs = [(planned, job) for planned in plans.values() for job in planned.jobs if mine.has(job.number)]
    run([job for planned, job in jobs if planned.source.here], Engine("local"))
    away = [job for planned, job in jobs if not planned.source.here]
    runtimes = {planned.runtime for planned, _ in jobs} - {""}
    device = options.hardware.device or ""
    gpus = max((devices.count(runtime) for runtime in runtimes), default=0) if device != "cpu" else 0
    workers = options.workers or gpus or None
    cores = engines.cores()
    at_once = {"local": 1, "processes": min(workers or cores, max(1, len(away)))}.get(options.engine, cores)
    away = [replace(job, lanes=max(1, cores // at_once)) for job in away]
    on_gpu = int(bool(gpus) or device.startswith("cuda"))
    first, then = _in_order(root, away, counts)
    engine = Engine(options.engine, workers, apart=bool(runtimes), gpus=on_gpu)
    run(first, engine)
    ready = [job for job in then if counts is None or counts.parents(job.number) <= _stored(root, job.name)]
    if (waiting := len(then) - len(ready)) and options.part.set_:
        print(
            f"{counted(waiting, 'shard')} of made images {'waits' if waiting == 1 else 'wait'} for maps of"
            " the images they were made from: name that set with --set too"
        )
    elif waiting:
        print(
            f"{counted(waiting, 'shard')} of made images {'waits' if waiting == 1 else 'wait'} for maps "
            "that other jobs are making (of the images they were made from); run the same line again "
            "later"
        )
    run(ready, engine)
    return of_models


def _in_order(root: Path, jobs: list[Job], counts: CountParts | None) -> tuple[list[Job], list[Job]]:
    """Return the jobs that can begin, and those for made images whose maps are compared with maps that do not
    exist yet.
    """
    if counts is None:
        return jobs, []
    stored = {
        name: _stored(root, name) - {job.number for job in jobs if job.name == name}
        for name in {job.name for job in jobs}
    }
    now, later = list[Job](), list[Job]()
    for job in jobs:
        (now if counts.parents(job.number) <= stored[job.name] else later).append(job)
    return now, later


def _stored(root: Path, name: str) -> set[int]:
    """Return the shards for which a model has maps."""
    return {int(part) for part in read_manifest(label_maps.predictions(root, name))}


def _unusable_text(root: Path, given: Mapping[str, str], fresh: list[str], what: str) -> str:
    """Return why nothing could be used, and that the ``fresh`` models were not added: the reason for the
    first image with a prediction, and how many reasons failures.csv holds.
    """
    rows = [row for row in read_failures(root) if row.stage == "predict" and row.name in given]
    first = next(
        (row for row in rows if row.reason not in (NO_MAP, NO_ROW, NO_LABEL)), rows[0] if rows else None
    )
    why = f"; {first.image}: {first.reason}; {counted(len(rows), 'reason')} in failures.csv" if first else ""
    gone = f", so {', '.join(fresh)} {'was' if len(fresh) == 1 else 'were'} not added" if fresh else ""
    return f"no {what} could be used{gone}{why}"


@dataclass
class _Resized:
    """How many of the maps just read differ in size from their images."""

    number: int = 0
    of: int = 0
    example: tuple[int, ...] = ()

    def count(self, parts: Iterable[Made]) -> None:
        """Count the maps of some parts."""
        for part in parts:
            self.number += part.resized
            self.of += part.rows
            self.example = self.example or part.example

    def tell(self, name: str) -> None:
        """Report them."""
        if not self.number:
            return
        w, h, width, height = self.example
        print(
            f"note: {name}: {self.number:,} of {self.of:,} maps differ in size from their images ({w} x {h}"
            f" for {width} x {height}); they are resized to the working size, by nearest neighbour"
        )
