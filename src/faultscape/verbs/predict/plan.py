"""Plan what `predict` must do for a model: its settings, and which of its shards are missing or stale.

Conventions: errors are raised before the study changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from faultscape import plug
from faultscape.classes import mapping as label_names
from faultscape.corpus.shard_files import ShardFiles
from faultscape.errors import ModelError, OptionError, article, closest
from faultscape.metrics.scorers import with_corrected_members
from faultscape.prediction import catalogue, networks, stamps
from faultscape.prediction.keep import DOUBT, OTHERS, doubt_folder
from faultscape.prediction.source import Opening, Origin, Request, Source, Trial
from faultscape.reading.scorers import keep_said, methods_folder, with_digests
from faultscape.reading.study import LABELS, Study
from faultscape.study.json_text import read_object
from faultscape.study.parts import Part, there
from faultscape.study.settings import ModelOptions, ModelSettings, Settings
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.logs import imported_from, truths_without_place
from faultscape.study.tables.pixel_counts import MAPS
from faultscape.study.tables.removed_images import each_whole_shard, read_removed, whole_sizes
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict import shard
from faultscape.verbs.predict.job import Job
from faultscape.verbs.predict.line_back import line_back, temperature_line
from faultscape.verbs.predict.options import Declared
from faultscape.verbs.predict.pixel_counts import CountParts, counting_of, state_of_maps

_RECORDED = (  # by the first run, for options that were not set
    "threads", "revision", "precision", "score_on", "offsets", "seed", "program", "between", "hidden", "open",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to do for a model: its settings, the stamp that each of its shards should have, and one job per
    shard to make. Files of a folder are not in the jobs, whose stamps depend on them, but ``sent`` with them.

    ``replaces``: the model has parts from something else, which stay until all jobs are done.
    """

    model: ModelSettings
    source: Source
    stamps: dict[int, str]
    jobs: list[Job]
    replaces: bool
    runtime: str = ""
    files: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def sent(self, job: Job) -> Job:
        """Return a job as its worker gets it: with its files, which are read again only then."""
        return job if job.files else replace(job, files={**self.files.get(job.number, {})})


def asked_of_models(options: PredictOptions, declared: Declared) -> ModelOptions:
    """Return {name in study.toml: value} of the options that were set for how models see images and what is
    kept.
    """
    seen = {"size": options.shown.input_size, **vars(options.shown)}
    del seen["input_size"]
    ran = {**vars(options.hardware)}
    del ran["device"]
    scorers = list(options.scorer)
    if options.scoring.correct_members:
        scorers = with_corrected_members(scorers)
    kept = {
        "unmapped": options.unmapped,
        "keep": list(options.keep),
        "scorer": [plug.absolute(word) for word in scorers],
        "resize_maps": options.resize_maps,
        "pattern": options.pattern,
    }
    held = seen | ran | kept | vars(declared)
    return cast("ModelOptions", {key: value for key, value in held.items() if value not in (None, [])})


def refuse_truths(study: Study, names: Iterable[str]) -> None:
    """Raise ModelError for a model named like a truth, or like the default truth."""
    known = {LABELS, *study.truths}
    if bad := next((name for name in names if name in known and name not in study.models), None):
        raise ModelError(
            f"{bad!r} is already the name of a truth (a set of labels); give the model another, for "
            f"example {bad}-model"
        )


def plan(
    study: Study,
    settings: Settings,
    name: str,
    place: str,
    options: PredictOptions,
    of_models: ModelOptions,
    against: str | None,
) -> Plan:
    """Return the plan of a model NAME=PLACE, and enter the model in the given settings; ``of_models`` holds
    the options that were given for models, and ``against`` is the truth to measure against ('' where only
    unknown objects are labelled), or None.
    """
    measured = against is not None
    root = study.root
    source = catalogue.source_of(name, place, settings.task)
    request = _request(study, settings, name, place, source, options, of_models)
    origin = source.origin(source, request)
    before = settings.models.get(name)
    if origin.options.get("temperature") and _fitted_to(root, name) not in ("", origin.digest):
        print(
            f"note: {name}: its temperature was fitted to other weights; run"
            f" `{temperature_line(study, name)}` again"
        )
    kept_at = source.kept_as(place)
    model = ModelSettings(source=kept_at, kind=source.name, labels=origin.labels, options=origin.options)
    settings.models[name] = model
    where = label_maps.predictions(root, name)
    sizes = whole_sizes(study.corpus)
    done = there(where, parts=study.manifest(where))
    here = study.shard_sizes  # a shard that left the corpus entirely needs nothing
    stale = [s for s in _stale(where, origin, done) if s in here]
    sets = options.part.set_ or []
    asked = shards_of_sets(study, sets)
    if asked is not None and (others := len(set(stale) - asked)):
        raise OptionError(
            f"--set {', '.join(sets)}: the source, options or images of {name} changed, and"
            f" {others} of {len(here)} shards, of other sets, are outdated too; leave --set out, so that one"
            " network predicts them all"
        )
    scorers = list(model.options.get("scorer", [])) if measured or "scorer" in of_models else []
    # uncertainty maps are large: kept only on request
    told = cast(
        "ModelOptions", {**model.options, "scorer": scorers, **({"counted": True} if measured else {})}
    )
    keep = networks.keep_of(told, settings.task)
    counting = counting_of(settings, name, against, keep.scorers) if against is not None else None
    counts = CountParts(study, counting.truth) if counting else None
    dropping = (
        study.corpus.aside
        if measured and source.sees_images and "labels" not in model.options.get("keep", [])
        else set()
    )
    folders = [folder for folder in keep.folders if not (measured and folder.startswith(DOUBT))]
    lacking = _lacking(study, settings, name, origin, done, against or "", folders)
    if counts is not None and counting is not None:
        lacking += counts.uncounted(
            name,
            {
                s: state_of_maps(part, origin.stamps[s])
                for s in origin.stamps
                if (part := done.get(part_name(s)))
            },
            counting,
        )
    if "labels" in model.options.get("keep", []):
        lacking += [s for s in study.corpus.aside if (part := done.get(part_name(s))) and not part.rows]
    todo = [
        s
        for s in sorted(origin.stamps)
        if s in here
        and (asked is None or s in asked)
        and (s in stale or s in lacking or part_name(s) not in done)
    ]
    for s in origin.stamps.keys() - set(todo):  # left by a run that was killed after its part was entered
        shard.spool_path(where, s).unlink(missing_ok=True)
    drop = ("confidence",) if measured and not keep.confidence else ()
    opening = Opening(
        source.name,
        origin.source or kept_at,
        {**told, "keep": [*keep.words, *drop]},
        model.labels,
        options.hardware.device or "",
        origin.digest,
        origin.hidden,
        str(methods_folder(root, name)),
    )
    counted = (OTHERS, *(doubt_folder(word) for word in keep.scorers)) if measured else ()
    if before is None or before.labels != origin.labels:
        label_names.tell_never_named(name, origin.labels, settings.class_list)
    if not todo:
        shard.drop_unentered(root, name)  # left by a source that never replaced this one
    if todo:
        print("".join(f"{note}\n" for note in origin.notes), end="")
        gone = {image.id for image in read_removed(study.corpus)}
        _try(
            settings,
            request,
            origin,
            opening,
            where,
            todo,
            sum(sizes[s] for s in todo),
            gone,
            (*drop, *counted),
        )
    # tables had no stamps in earlier versions: if the key is the same, they are reread silently
    stamped = label_maps.stamps_of(where)
    changed = [
        s
        for s in stale
        if not source.here or part_name(s) in stamped or done[part_name(s)].key != origin.keys.get(s)
    ]
    if changed:
        print(
            f"{name}: its source, options or images changed; {len(changed)} of {len(sizes)} shards are "
            f"predicted again, and {'selections drawn' if settings.classifies else 'pairs made'} from "
            "them become stale; the old predictions stay until all are done"
        )
    if changed and before is not None and before.source != kept_at and not before.was_in_memory:
        back = line_back(study, name, before, against)
        print(f"note: {name} was {before.source}; if you did not mean to replace it, go back with {back}")

    def kinds_of(shard_: int) -> list[str]:
        """Return the kinds to count for a shard: all if its maps are made again, or were kept and are dropped
        now (counts are those of other parts then), else the missing ones.
        """
        if counts is None or counting is None:
            return []
        part = done.get(part_name(shard_))
        same = part is not None and shard_ not in stale and not (part.rows and shard_ in dropping)
        lost = (
            counts.lacking(name, shard_, state_of_maps(part, origin.stamps[shard_]), counting)
            if part is not None and same
            else []
        )
        return lost or [MAPS, *counting.scorers]

    jobs = [
        Job(
            str(root),
            name,
            s,
            sizes[s],
            origin.stamps[s],
            origin.keys.get(s, ""),
            opening,
            {} if isinstance(origin.files, ShardFiles) else {**origin.files.get(s, {})},
            against or "",
            (*drop, *counted, *(("labels",) if s in dropping else ())),
            counting=counting,
            count_kinds=tuple(kinds_of(s)),
            counts_key=counts.counts_key(s, counting) if counts is not None and counting is not None else "",
        )
        for s in todo
    ]
    return Plan(
        model, source, origin.stamps, jobs, bool(stale), source.runtime or origin.runtime, origin.files
    )


def shards_of_sets(study: Study, names: Sequence[str]) -> set[int] | None:
    """Return the shards that hold images of some sets, None for no names; OptionError for an unknown set."""
    if not names:
        return None
    columns = study.corpus.columns("set", "shard").to_pydict()
    known = list(dict.fromkeys(columns["set"]))
    if lost := next((name for name in names if name not in known), None):
        raise OptionError(
            f"--set {lost}: the study has no such set; it has"
            f" {', '.join(known[:8])}{', ...' if len(known) > 8 else '.'}{closest(lost, known)}"
        )
    return {shard for set_, shard in zip(columns["set"], columns["shard"], strict=True) if set_ in names}


def _fitted_to(root: Path, name: str) -> str:
    """Return the digest of the network that a model's temperature was fitted to; '' if unknown."""
    try:
        held = read_object((root / "methods" / name / "temperature.json").read_bytes())["provenance"]
        return str(held["inputs"]["network"])  # type: ignore[index]
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _request(
    study: Study,
    settings: Settings,
    name: str,
    place: str,
    source: Source,
    options: PredictOptions,
    of_models: ModelOptions,
) -> Request:
    """Return the request for a model, with the options that still apply; print which are dropped or have no
    effect.
    """
    root = study.root
    before = settings.models.get(name)
    if before is not None and (before.kind, before.source) != (source.name, source.kept_as(place)):
        given = {*of_models, *(["labels"] if options.labels else [])}
        kept = {*_RECORDED, *given}
        if lost := ", ".join(_option(key) for key in before.options if key not in kept):
            print(f"{name}: source changed; options set for the old source were dropped: {lost}")
        before = None
    if "scorer" in of_models and "scorer" not in source.options:
        raise ModelError(
            f"{name}={place}: --scorer needs a network's logits, and this is {article(source.called)}; "
            "name the network, or a folder of its logits (.npy, .npz or .pt), or leave --scorer out"
        )
    if idle := [key for key in of_models if key not in source.options]:
        print(f"note: {name}: {', '.join(map(_option, idle))} has no effect on {article(source.called)}")
    labels = {"labels": "given"} if options.labels else {}
    said = {**(before.options if before else {}), **of_models, **labels}
    said = {key: value for key, value in said.items() if key in ("labels", *source.options)}
    if "scorer" in said:
        said["scorer"] = with_digests(
            root, name, cast("list[str]", said["scorer"]), of_network=source.load is not None
        )
        keep_said(root, name, said["scorer"])
    unplaced = _unplaced(study) if source.whole else []
    if unplaced:
        print(
            f"note: {name}: labels of this study ({', '.join(unplaced)}) were imported from a place that is"
            " not recorded, so it is not hidden; import them again to hide it"
        )
    held = before.labels if before else {}
    if held and "labels" in said and not options.labels:
        label_names.checked(name, held, settings)
    return Request(
        name,
        place,
        settings,
        partial(each_whole_shard, study.corpus),
        cast("ModelOptions", said),
        options.labels,
        held,
        options.hardware.device or "",
        _with_truth(study),
        str(methods_folder(root, name)),
        tuple(unplaced),
    )


def _with_truth(study: Study) -> tuple[str, ...]:
    """Return the places that hold the truth: the study, the known data sets that it was collected from, and
    what labels were imported from.
    """
    return (
        str(study.root.resolve()),
        *(str(Path(about.path).resolve()) for about in study.stress.data.values()),
        *imported_from(study.root),
    )


def _unplaced(study: Study) -> list[str]:
    """Return the truths whose labels came from a place that is not recorded; the places of known data sets
    are.
    """
    imported = [] if study.stress.data else study.label_folders
    return truths_without_place(study.root, imported)


def _stale(where: Path, origin: Origin, done: dict[str, Part]) -> list[int]:
    """Return the shards whose stored parts are outdated."""
    held = label_maps.stamps_of(where)
    return [
        s
        for s, stamp in origin.stamps.items()
        if (part := done.get(part_name(s)))
        and stamps.outdated(held.get(part_name(s), ""), stamp, refused=bool(part.failures))
    ]


def _lacking(
    study: Study,
    settings: Settings,
    name: str,
    origin: Origin,
    done: dict[str, Part],
    against: str,
    folders: Sequence[str],
) -> list[int]:
    """Return the shards whose parts lack outputs that should be kept with them, images that came back, or
    statistics.
    """
    where = label_maps.predictions(study.root, name)
    beside = {folder: outputs.complete(where / folder) for folder in folders}
    lacking = [
        s
        for s in origin.stamps
        if (part := done.get(part_name(s)))
        and not all(whole.get(part_name(s)) == part.sha256 for whole in beside.values())
    ]
    lacking += [
        s
        for s, images in each_whole_shard(study.corpus)
        if origin.keys
        and (part := done.get(part_name(s)))
        and part.failures
        and stamps.again(images, part.failures)
    ]
    return lacking + (shard.unmeasured(study, settings, against, name, done) if against else [])


def _try(
    settings: Settings,
    request: Request,
    origin: Origin,
    opening: Opening,
    where: Path,
    todo: list[int],
    images: int,
    gone: set[str],
    drop: tuple[str, ...],
) -> None:
    """Try a model on its first pending image that is still in the corpus; one that answers faster than a
    worker starts stays open for the run.
    """
    kind = catalogue.kind_named(opening.kind)
    rows = next(rows for number, rows in request.shards() if number == todo[0])
    first = next((image for image in rows if image.id not in gone), rows[0])
    if kind.load and not any(image.source for _, images_ in request.shards() for image in images_):
        raise ModelError(
            f"{request.name}: {request.source} needs images, and the study has none (it was collected "
            "from a list of ids); give a table of answers, or collect the images into another study"
        )
    model = origin.opened or kind.open(opening, settings)
    model.try_on(Trial(first, images, networks.largest(request), where, drop))
    if kind.here:
        catalogue.hold(replace(opening), settings, model)


def _option(key: str) -> str:
    """Return the command-line name of an option."""
    return "--input-size" if key == "size" else f"--{key.replace('_', '-')}"
