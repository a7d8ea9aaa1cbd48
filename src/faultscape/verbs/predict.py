"""predict: what the models say, once, on disk."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import ModelError


@dataclass(frozen=True)
class Predicted:
    """What `predict` stored: {model: (maps, images without one)}."""

    study: str
    models: dict[str, tuple[int, int]]

    def __repr__(self) -> str:
        lines = [f"{self.study}: {len(self.models)} models"]
        for name, (maps, failed) in self.models.items():
            lines.append(f"  {name:<24} {maps} maps" + (f", {failed} images without one (failures.csv)" if failed else ""))
        return "\n".join(lines)


def predict(
    study: str,
    *models: Any,
    engine: str = "processes",
    workers: int | None = None,
    labels: str | None = None,
    unmapped: str = "",
    keep: list[str] | None = None,
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
    scales: list[float] | None = None,
    batch: int | None = None,
    threads: int | None = None,
    precision: str = "",
    device: str = "",
) -> Predicted:
    """Store each model's label maps for every image: NAME=SOURCE, a folder of maps, a network, or a program; finished shards are not done again.

    SOURCE is a folder of label maps; model.onnx; a folder of the transformers library, or hf:OWNER/MODEL; model.pt2 (torch.export) or TorchScript; file.py:function;
    or exec:COMMAND. Maps are kept as run-length codes in the model's own labels. An image without a usable map goes to failures.csv and leaves that model's pairs
    only. Options of a model are kept in study.toml, and hold until others are given or its source is another.

    Parameters
    ----------
    study
        The study folder.
    models
        NAME=SOURCE. In Python also a dict.
    engine
        local (this process) or processes (all cores).
    workers
        Number of processes; default: all cores, or all graphics processors.
    labels
        A JSON or TOML file that says which class each of the model's labels is: {"0": "road", "3": "void"}, or by the model's own class names.
    unmapped
        void: classes of a network that the study does not have are void; without it they are an error that names them.
    keep
        What is kept beside labels: confidence, probabilities (or probabilities=K, the K largest), logits, embedding=LAYER. Repeat it for more; labels: nothing else.
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
    scales
        Show pictures at these scales, 1 being their own, and average the logits. Repeat it for each.
    batch
        Pictures a network gets at once (default 8; on a graphics processor what its memory takes).
    threads
        Threads of a network in each process (default 1, or more where there are fewer shards than cores); kept, since sums depend on it.
    precision
        float32, float16 or bfloat16 (default: float16 on a graphics processor, else float32).
    device
        cpu, cuda or cuda:N; default: a graphics processor where there is one.
    """
    from faultscape import engine as engines
    from faultscape.prediction import devices, opening, predict_options
    from faultscape.study import settings as toml
    from faultscape.study.corpus import read_corpus, shard_sizes
    from faultscape.study.folder import existing
    from faultscape.study.lock import writing
    from faultscape.study.tables import log

    root = existing(study)
    given = named(models)
    options = {
        "size": input_size, "mean": mean, "std": std, "layout": layout, "multiple": multiple, "window": window, "stride": stride, "flip": flip, "scales": scales,
        "batch": batch, "threads": threads, "precision": precision, "unmapped": unmapped, "keep": keep, "resize_maps": resize_maps, "pattern": pattern,
    }  # fmt: skip
    options = {key: value for key, value in options.items() if value not in ("", None, [])}
    predict_options.check(options)
    devices.pick(device)
    with writing(root):
        settings, images = toml.read_settings(root), read_corpus(root)
        calls, counts = [], {}
        for name, source in given.items():
            calls += _calls(root, settings, images, name, source, labels, options, device)
        toml.write_settings(root, settings)
        opening.release()
        total = sum(call["images"] for call in calls)
        if workers is None and any(call["kind"] in opening.NETWORKS for call in calls) and device != "cpu":
            workers = devices.count() or None
        with engines.progress("predict", total) as tick:
            for number, made in engines.run("faultscape.verbs.predict:shard", calls, engine=engine, workers=workers, tick=tick):
                _enter(root, calls[number], made)
        for name in given:
            counts[name] = _settle(root, name, sorted(shard_sizes(root)))
        log(root, "predict", models={n: str(s) for n, s in given.items()}, engine=engine)
    if all(maps == 0 for maps, _ in counts.values()):
        from faultscape.study.tables import read_failures

        first = next((f for f in read_failures(root) if f.stage == "predict" and f.name in given), None)
        raise ModelError(f"no map could be used; the first: {first.reason if first else 'none was found'}")
    return Predicted(study, counts)


def named(models: tuple[Any, ...]) -> dict[str, str]:
    """Return {name: source} of NAME=SOURCE words and dicts; ModelError for a wrong or repeated name."""
    from faultscape.study.folder import check_name

    out: dict[str, str] = {}
    for word in models:
        if isinstance(word, Mapping):
            items = [(str(k), os.fspath(v)) for k, v in word.items()]
        else:
            name, equals, source = str(word).partition("=")
            if not equals or not source:
                raise ModelError(f"{word!r} is not NAME=SOURCE, for example unet=maps/unet or unet=unet.onnx")
            items = [(name, source)]
        for name, source in items:
            if check_name(name) in out:
                raise ModelError(f"two models are named {name!r}; give each its own name")
            out[name] = source
    if not out:
        raise ModelError("no model given; write NAME=SOURCE, for example unet=maps/unet or unet=unet.onnx")
    return out


def _calls(
    root: Path, settings: Any, images: list[Any], name: str, source: str, labels: str | None, options: dict[str, Any], device: str
) -> list[dict[str, Any]]:
    """Enter a model in the settings and return the calls for those of its shards that are missing or stale."""
    from faultscape.prediction import label_names, opening, origin, trial
    from faultscape.study import kept, label_maps
    from faultscape.study.corpus import part_name, shards
    from faultscape.study.parts import read_manifest, there
    from faultscape.study.settings import ModelSettings

    by_shard = shards(images)
    kind = opening.kind_of(name, source)
    if name in label_maps.truths(root):
        raise ModelError(f"{name!r} is the name of a truth of this study; give the model another")
    place = opening.absolute(kind, source)
    before = settings.models.get(name)
    if before is not None and (before.kind, before.source) != (kind, place):
        if lost := ", ".join(k for k in before.options if k not in ("threads", "revision")):
            print(f"{name}: its source is another; what was said of the first no longer holds: {lost}")
        before = None
    if idle := [key for key in options if key not in origin.known(kind)]:
        print(
            f"note: {name}: {', '.join(f'--{key}'.replace('_', '-') for key in idle)} changes nothing for a {'network' if kind in opening.NETWORKS else kind}"
        )
    said = {**(before.options if before else {}), **options, **({"labels": "given"} if labels else {})}
    said = {key: value for key, value in said.items() if key in ("labels", *origin.known(kind))}
    held = before.labels if before else {}
    if held and "labels" in said and not labels:
        label_names.checked(name, held, settings)
    model, found, digest = _origin(name, kind, source, settings, by_shard, said, labels, held, device)
    settings.models[name] = ModelSettings(source=place, kind=kind, labels=model.labels, options=model.options)
    where, keep = label_maps.predictions(root, name), opening.keep_of(model.options)
    stamps, done = _stamps(where), there(where)
    stale = [
        s
        for s, stamp in model.stamps.items()
        if (part := done.get(part_name(s))) and origin.outdated(stamps.get(part_name(s), ""), stamp, refused=bool(part.failures))
    ]
    if stale:
        print(
            f"{name}: its source or options changed; {len(stale)} of {len(by_shard)} shards are done anew, and pairs made from them are stale"
        )
    beside = {folder: read_manifest(where / folder) for folder in keep.folders}
    lacking = [
        s
        for s in model.stamps
        if (part := done.get(part_name(s))) and not all(kept.complete(m, s, part.sha256) for m in beside.values())
    ]
    todo = [s for s in sorted(model.stamps) if s in stale or s in lacking or part_name(s) not in done]
    if todo:
        print("".join(f"{word}\n" for word in model.words), end="")
    if todo and found is not None:  # what cannot work is said before the study learns of it
        size = settings.working_size or max(((i.width, i.height) for i in images), key=math.prod)
        trial.run(found, size, where, sum(len(by_shard[s]) for s in todo))
    return [
        {
            "study": str(root), "name": name, "number": s, "images": len(rows), "stamp": model.stamps[s], "kind": kind, "source": place if kind != "folder" else source,
            "options": model.options, "labels": model.labels, "files": {i.id: model.files[i.id] for i in rows if i.id in model.files}, "key": model.keys.get(s, ""),
            "device": device, "digest": digest,
        }
        for s in todo
        for rows in [by_shard[s]]
    ]  # fmt: skip


def _origin(
    name: str, kind: str, source: str, settings: Any, by_shard: dict[int, list[Any]], said: dict[str, Any], labels: str | None, held: dict[str, str], device: str
) -> tuple[Any, Any, str]:  # fmt: skip
    """Return what a model's maps follow from, the opened network where it is one, and the digest of its files."""
    from faultscape.prediction import label_names, opening, origin, trial

    given = label_names.of_file(labels, settings, None) if labels and kind not in opening.NETWORKS else {}
    if kind == "folder":
        return origin.of_folder(source, settings, by_shard, said, given or (held if "labels" in said else {}), held), None, ""
    if kind == "program":
        words = (opening.OWN_CODE[kind].format(source.removeprefix("exec:")),)
        return origin.of_photos(opening.digest(kind, source, said), settings, by_shard, said, given or held, words), None, ""
    if kind == "hub" and "revision" not in said:
        said = {**said, "revision": opening.revision_of(source)}
    said = {"threads": opening.threads_for(len(by_shard)), **said}  # recorded, since sums depend on their number
    digest = opening.digest(kind, source, said)
    found = opening.held_model(kind, source, {**said, "device": device}, digest, (len(held), len(settings.class_list)))
    if found.network.device.startswith("cuda") and "batch" not in said:
        said["batch"] = trial.fitting_batch(found, settings.working_size or (512, 512))
    mapping = label_names.of_network(
        name, found.network, settings, labels, held if "labels" in said else {}, said.get("unmapped", "")
    )
    words = (*found.network.notes, *([opening.OWN_CODE[kind].format(source)] if kind in opening.OWN_CODE else []))
    return origin.of_photos(digest, settings, by_shard, said, mapping, words), found, digest


def shard(
    study: str, name: str, number: int, images: int, stamp: str, kind: str, source: str, options: dict[str, Any], labels: dict[str, str],
    files: dict[str, str], key: str, device: str, digest: str, tick: Any, attempt: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Make one part of predictions/NAME; what a killed run had done is taken from its spool."""
    from faultscape.prediction import opening
    from faultscape.prediction.batches import unrecord
    from faultscape.prediction.shard_work import Work
    from faultscape.study import kept, label_maps
    from faultscape.study.corpus import part_name, read_corpus
    from faultscape.study.settings import read_settings
    from faultscape.study.spool import Spool

    start = time.perf_counter()
    root = Path(study)
    rows = read_corpus(root, number)
    assert len(rows) == images
    where, keep = label_maps.predictions(root, name), opening.keep_of(options)
    spool = Spool(where / f".spool-{part_name(number)}", f"{stamp} {' '.join(keep.words)}")
    try:
        work = Work(read_settings(root), kind, source, options, labels, files, device, digest)
        work.fill(spool, rows, tick, attempt)
    except BaseException:
        spool.close()
        raise
    maps, failures, times = [], [], []
    chunks = {folder: kept.Chunks(where / folder, number) for folder in keep.folders}
    for record in spool:
        batch = unrecord(record)
        times.append([len(batch.rows), *batch.seconds])
        for row in batch.rows:
            if row.runs is None:
                failures.append((row.id, row.problem))
                continue
            maps.append(label_maps.StoredMap(row.id, row.runs))
            for folder, codes in row.kept.items():
                chunks.setdefault(folder, kept.Chunks(where / folder, number)).add(row.id, codes)
    sha = label_maps.put_maps(where, number, maps)
    beside = {folder: writer.finish() for folder, writer in chunks.items()}
    spool.finish()
    return {
        "sha256": sha, "rows": len(maps), "key": key, "failures": failures, "kept": beside, "times": times, "device": work.device,
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def _stamps(where: Path) -> dict[str, str]:
    """Return what each shard was made from: outside the laws, since it holds times of files."""
    try:
        return json.loads((where / ".stamps.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _enter(root: Path, call: dict[str, Any], made: dict[str, Any]) -> None:
    """Make a finished part count."""
    from faultscape.study import kept, label_maps
    from faultscape.study.corpus import part_name
    from faultscape.study.folder import put
    from faultscape.study.parts import Part, read_manifest, write_manifest
    from faultscape.study.tables import add_timings

    where, part = label_maps.predictions(root, call["name"]), part_name(call["number"])
    failures = tuple((image, why) for image, why in made["failures"])
    stamps = _stamps(where)
    if stamps.pop(part, None) is not None:  # at no moment does a stamp stand beside a part of something else
        put(where / ".stamps.json", json.dumps(stamps, sort_keys=True).encode())
    for folder in {*made["kept"], *kept.kinds(root, call["name"])}:  # those of other labels go
        chunks = made["kept"].get(folder, [])
        write_manifest(where / folder, kept.with_shard(read_manifest(where / folder), call["number"], made["sha256"], chunks))
    write_manifest(where, read_manifest(where) | {part: Part(made["sha256"], made["rows"], made["key"], failures)})
    put(where / ".stamps.json", json.dumps(stamps | {part: call["stamp"]}, sort_keys=True).encode())
    add_timings(
        root,
        [
            {
                "stage": "predict",
                "name": call["name"],
                "shard": call["number"],
                "items": call["images"],
                "seconds": made["seconds"],
            }
        ],
    )


def _settle(root: Path, name: str, numbers: list[int]) -> tuple[int, int]:
    """Write a model's failures where people look, and return (maps, images without one)."""
    from faultscape.study import label_maps
    from faultscape.study.corpus import part_name
    from faultscape.study.parts import read_manifest
    from faultscape.study.tables import Failure, replace_failures

    manifest = read_manifest(label_maps.predictions(root, name))
    parts = [manifest[part_name(n)] for n in numbers if part_name(n) in manifest]
    failures = [Failure("predict", name, image, why) for part in parts for image, why in part.failures]
    replace_failures(root, "predict", name, failures)
    return sum(part.rows for part in parts), len(failures)
