"""predict: what the models say, once, on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import ModelError, OptionError, counted
from faultscape.stages.predict import changes, plan, tables
from faultscape.stages.predict import shard as predict_shard

if TYPE_CHECKING:
    Named = Any
else:
    Named = list[str] | None  # what the command line reads: OLD=NEW, repeated; in Python also a dict

_NOT_THERE = ("no map of this image was found", "the table has no line of this image", "the table has no label of this image")


@dataclass(frozen=True)
class Predicted:
    """What `predict` stored: {model: (maps, images without one)}; and which models it renamed {old: new} and removed."""

    study: str
    models: dict[str, tuple[int, int]]
    renamed: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    what: str = "maps"

    def __repr__(self) -> str:
        changed = [f"{len(done)} {word}" for word, done in (("renamed", self.renamed), ("removed", self.removed)) if done]
        models = [counted(len(self.models), "model")] if self.models or not changed else []
        lines = [f"{self.study}: {', '.join([*models, *changed])}"]
        lines += [f"  {old} is called {new} now" for old, new in self.renamed.items()]
        lines += [f"  {name} is removed; labels, and selections that were drawn with it, are kept" for name in self.removed]
        for name, (maps, failed) in self.models.items():
            lines.append(
                f"  {name:<24} {counted(maps, self.what[:-1], self.what)}"
                + (f", {counted(failed, 'image')} without one (failures.csv)" if failed else "")
            )
        return "\n".join(lines)


def predict(
    study: str,
    *models: Any,
    engine: str = "processes",
    workers: int | None = None,
    shard: str | None = None,
    labels: str | None = None,
    unmapped: str = "",
    keep: list[str] | None = None,
    measure: bool = False,
    truth: str | None = None,
    pattern: str | None = None,
    resize_maps: bool | None = None,
    input_size: str = "",
    mean: list[float] | None = None,
    std: list[float] | None = None,
    layout: str = "",
    multiple: int | None = None,
    window: str = "",
    stride: str = "",
    flip: bool | None = None,
    crop: float | None = None,
    scales: list[float] | None = None,
    batch: int | None = None,
    threads: int | None = None,
    precision: str = "",
    device: str = "",
    rename: Named = None,
    remove: list[str] | None = None,
) -> Predicted:
    """Store what each model says of every image, label maps or classes: NAME=SOURCE, a folder of maps, a table of answers, a network, or a program.

    Finished shards are not done again.

    SOURCE is (of a classifier) a table of answers: preds.csv, .parquet or .npz, with FILE.csv:COLUMN or FILE.npz:KEY:INDEX; a folder of label maps; model.onnx; a folder of the transformers library, or hf:OWNER/MODEL; model.pt2 (torch.export) or TorchScript; file.py:function;
    or exec:COMMAND. Maps are kept as run-length codes in the model's own labels. An image without a usable map goes to failures.csv and leaves that model's pairs
    only. Options of a model are kept in study.toml, and hold until others are given or its source is another.

    Parameters
    ----------
    study
        The study folder.
    models
        NAME=SOURCE. In Python also a dict.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores, or all graphics processors.
    shard
        PART/PARTS, for example 2/3: do every third shard beginning with the second, beside other jobs that do the rest.
    labels
        A JSON or TOML file that says which class each of the model's labels is: {"0": "road", "3": "void"}, or by the model's own class names.
    unmapped
        void: classes of a network that the study does not have are void; without it they are an error that names them.
    keep
        What is kept beside labels: confidence, probabilities (or probabilities=K, the K largest), logits, embedding=LAYER. Repeat it for more; labels: nothing else.
    measure
        Measure each map against a truth while it is made, with its confidence, which is not kept: `measure` finds it done.
    truth
        With --measure: which truth; default: labels, or the only one.
    pattern
        How the maps' file names make ids, for example {id}_pred.png.
    resize_maps
        Take maps of any size.
    input_size
        The size at which a network sees whole pictures, WIDTHxHEIGHT; goes before what the model says, but not before a size that is fixed in it.
    mean
        Mean subtracted from pixels on 0..1, one number a channel; goes before what the model says.
    std
        Standard deviation that pixels are divided by, one number a channel; goes before what the model says.
    layout
        nchw or nhwc, the order of an ONNX input's axes; goes before what the file says.
    multiple
        Raise both sides of the input to the next multiple of this.
    window
        Show pictures in windows of this size, WIDTHxHEIGHT, and average their logits.
    stride
        Step of the windows, WIDTHxHEIGHT (default: the window's size).
    flip
        Show pictures mirrored too, and average the logits.
    crop
        Of classifiers: show the square in the middle of a picture, this share of its shorter side (0.875 for most networks of ImageNet; default: the whole picture).
    scales
        Show pictures at these scales, 1 being their own, and average the logits. Repeat it for each.
    batch
        Pictures a network gets at once (default 8; on a graphics processor what its memory takes).
    threads
        Threads of each run of a network (default 1: cores that are free run other batches); outputs, since sums depend on it.
    precision
        float32, float16 or bfloat16 (default: float16 on a graphics processor, else float32).
    device
        cpu, cuda or cuda:N; default: a graphics processor where there is one.
    rename
        OLD=NEW: call a model of the study by another name, in all that is stored; nothing is made again. In Python also a dict. Repeat it for more.
    remove
        NAME: take a model out of the study, its maps and all counts with it; labels stay. Repeat it for more.
    """
    from faultscape import engine as engines
    from faultscape.prediction import catalogue, devices
    from faultscape.prediction import options as predict_options
    from faultscape.progress import progress
    from faultscape.stages import evidence
    from faultscape.stages.predict import changed_models
    from faultscape.stages.statistics import Statistics
    from faultscape.study import settings as toml
    from faultscape.study.array_jobs import share
    from faultscape.study.folder import existing
    from faultscape.study.lock import changing, writing
    from faultscape.study.tables import outputs
    from faultscape.study.tables.corpus import shard_sizes
    from faultscape.study.tables.logs import Timings, log

    root = existing(study)
    renamed, removed = changes.asked(rename, remove)
    if shard and (renamed or removed):
        raise OptionError(
            "--rename and --remove are for the whole study; run them alone, without --shard, when no job of an array is at work"
        )
    if truth is not None and not measure:
        raise OptionError("--truth says what --measure measures against; add --measure, or leave it out")
    mine, task = share(shard), toml.read_settings(root).task
    given = named(models, task) if models or not (renamed or removed) else {}
    options = {
        "size": input_size, "mean": mean, "std": std, "layout": layout, "multiple": multiple, "window": window, "stride": stride, "flip": flip, "crop": crop, "scales": scales,
        "batch": batch, "threads": threads, "precision": precision, "unmapped": unmapped, "keep": keep, "resize_maps": resize_maps, "pattern": pattern,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value not in ("", None, [])}
    predict_options.check(options)
    devices.check(device)
    engines.check(engine, workers)
    if task != "segmentation" and measure:
        raise OptionError("--measure is for label maps; the accuracy of classifiers is what `rank` says")
    if task == "segmentation" and crop is not None:
        raise OptionError("--crop is for classifiers; --window shows a picture in parts")
    kinds = {name: catalogue.kind_of(name, source, task) for name, source in given.items()}
    plan.refuse_truths(root, given)
    with writing(root, array="predict" if shard else "", change=bool(renamed or removed)):
        if renamed or removed:
            changes.change(study, root, renamed, removed, given)
        settings = toml.read_settings(root)
        fresh = [name for name in given if name not in settings.models]
        against = evidence.choose_truth(root, truth) if measure else ""
        plans = {
            name: plan.plan(root, settings, name, source, labels, options, device, against)
            for name, source in given.items()
            if kinds[name] != "table"
        }
        catalogue.release()
        with changing(root):
            for name, model in plans.items():
                predict_shard.forget(root, name, model.stamps)
            entered = {name: model.model for name, model in plans.items()}
            for name in (name for name, kind in kinds.items() if kind == "table"):
                if idle := ", ".join(f"--{key.replace('_', '-')}" for key in options):
                    print(f"note: {name}: {idle} changes nothing for a table")
                entered[name] = tables.store(root, settings, name, given[name], labels, mine)
            toml.add_models(root, {name: entered[name] for name in given})
        calls: list[dict[str, Any]] = [call for model in plans.values() for call in model.calls if mine.has(call["number"])]
        total = sum(call["images"] for call in calls)
        networks = {call["model"]["kind"] for call in calls} & {*catalogue.NETWORKS}
        there = max((devices.count(kind) for kind in networks), default=0) if device != "cpu" else 0
        workers, cores = workers or there or None, engines.cores()
        at_once = {"local": 1, "processes": min(workers or cores, max(1, len(calls)))}.get(engine, cores)
        lanes = max(1, cores // at_once)  # batches that one process runs at the same time: it changes no result
        calls = [call | {"lanes": lanes} for call in calls]
        apart: dict[str, Any] = {"apart": bool(networks), "gpus": int(bool(there) or device.startswith("cuda"))}
        statistics = Statistics(root, settings, against) if against else None
        resized: dict[str, list[dict[str, Any]]] = {}
        timings, beside = Timings(root), {name: set(outputs.kinds(root, name)) for name in given}
        try:
            with progress("predict", total) as tick:
                for number, made in engines.run(
                    "faultscape.stages.predict.shard:shard", calls, engine=engine, workers=workers, tick=tick, **apart
                ):
                    with changing(root):
                        predict_shard.enter(root, calls[number], made, timings, beside[calls[number]["name"]], statistics)
                    resized.setdefault(calls[number]["name"], []).append(made)
        finally:
            with changing(root):
                timings.write()
        with changing(root):
            counts = {name: predict_shard.settle(root, name, sorted(shard_sizes(root))) for name in given}
            unusable = bool(given) and not shard and all(maps == 0 for maps, _ in counts.values())
            if unusable:  # a model that says nothing would make selections stale
                changed_models.withdraw(root, fresh)
            if given:
                log(root, "predict", models={n: str(s) for n, s in given.items()}, engine=engine, shard=shard)
            if not shard:
                changed_models.forget(root)
    for name, parts in resized.items():
        _tell_resized(name, parts)
    if unusable:
        raise ModelError(_unusable(root, given, fresh, "map" if task == "segmentation" else "answer"))
    return Predicted(study, counts, renamed, tuple(removed), "maps" if task == "segmentation" else "answers")


def named(models: tuple[Any, ...], task: str = "segmentation") -> dict[str, str]:
    """Return {name: source} of NAME=SOURCE words and dicts; ModelError for a wrong or repeated name, with examples of the task."""
    from faultscape.study.folder import check_name
    from faultscape.study.store import is_address

    out: dict[str, str] = {}
    example = (
        "unet=maps/unet or unet=unet.onnx"
        if task == "segmentation"
        else "resnet=resnet.csv, resnet=all.csv:resnet50 or resnet=resnet.onnx"
    )
    for word in models:
        if isinstance(word, Mapping):
            items = [(str(k), os.fspath(v)) for k, v in word.items()]
        else:
            name, equals, source = str(word).partition("=")
            if not equals or not source:
                raise ModelError(f"{word!r} is not NAME=SOURCE, for example {example}")
            items = [(name, source)]
        for name, source in items:
            if is_address(source):
                what = "maps" if task == "segmentation" else "tables"
                raise ModelError(
                    f"{name}={source}: {what} and networks are read from folders of this machine; copy it here first"
                )
            if check_name(name) in out:
                raise ModelError(f"two models are named {name!r}; give each its own name")
            out[name] = source
    if not out:
        raise ModelError(f"no model given; write NAME=SOURCE, for example {example}")
    return out


def _unusable(root: Path, given: Mapping[str, str], fresh: list[str], what: str) -> str:
    """Return why nothing of the models could be used, and that those that came ``fresh`` are not taken: of the first image that had something, and how many rows say more."""
    from faultscape.study.tables.logs import read_failures

    rows = [row for row in read_failures(root) if row.stage == "predict" and row.name in given]
    first = next((row for row in rows if row.reason not in _NOT_THERE), rows[0] if rows else None)
    why = f"; {first.image}: {first.reason}; {counted(len(rows), 'row')} of failures.csv say why" if first else ""
    gone = f", so that {', '.join(fresh)} {'is' if len(fresh) == 1 else 'are'} not taken" if fresh else ""
    return f"no {what} could be used{gone}{why}"


def _tell_resized(name: str, parts: list[dict[str, Any]]) -> None:
    """Say of how many maps that were read now the size is another than the photo's."""
    if number := sum(part["resized"] for part in parts):
        w, h, width, height = next(part["example"] for part in parts if part["resized"])
        of = sum(part["rows"] for part in parts)
        print(
            f"note: {name}: {number:,} of {of:,} maps have another size than their photos ({w} x {h} for {width} x {height}); they are compared at the working size, by nearest neighbour"
        )
