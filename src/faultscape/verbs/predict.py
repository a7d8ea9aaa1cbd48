"""predict: what the models say, once, on disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import ModelError, OptionError

OPTIONS = {"folder": ("pattern", "resize_maps"), "onnx": ("size", "mean", "std", "layout", "batch", "threads")}


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
    shard: str | None = None,
    labels: str | None = None,
    pattern: str | None = None,
    resize_maps: bool | None = None,
    input_size: str = "",
    mean: list[float] | None = None,
    std: list[float] | None = None,
    layout: str = "",
    batch: int | None = None,
) -> Predicted:
    """Store each model's label maps for every image: NAME=FOLDER of maps, or NAME=model.onnx; finished shards are not done again.

    Maps are kept as run-length codes in the model's own labels. An image without a usable map goes to failures.csv and leaves that model's pairs only.
    Options of a model are kept in study.toml, and hold until others are given or its source is another.

    Parameters
    ----------
    study
        The study folder.
    models
        NAME=SOURCE, SOURCE being a folder of label maps (8/16-bit grey, palette, class colours, npy) or an ONNX file. In Python also a dict.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: do every third shard beginning with the second, beside other jobs that do the rest.
    labels
        A JSON or TOML file that says which class each of the model's labels is: {"0": "road", "3": "void"}, or by the model's own class names.
    pattern
        How the maps' file names make ids, for example {id}_pred.png.
    resize_maps
        Take maps of any size.
    input_size
        Input of an ONNX network, WIDTHxHEIGHT, where the file does not say it.
    mean
        Mean subtracted from pixels on 0..1, one number a channel; goes before what the file says.
    std
        Standard deviation that pixels are divided by, one number a channel; goes before what the file says.
    layout
        nchw or nhwc, the order of the input's axes; goes before what the file says.
    batch
        Images a network gets at once (default 8).
    """
    from faultscape import engine as engines
    from faultscape.study import settings as toml
    from faultscape.study.arrays import share
    from faultscape.study.corpus import read_corpus, shard_sizes
    from faultscape.study.folder import existing
    from faultscape.study.lock import changing, writing
    from faultscape.study.tables import log

    root = existing(study)
    given, mine = named(models), share(shard)
    with writing(root, array="predict" if shard else ""):
        settings, images = toml.read_settings(root), read_corpus(root)
        options = {"size": input_size, "mean": mean, "std": std, "layout": layout, "batch": batch}
        options |= {"resize_maps": resize_maps, "pattern": pattern}
        if any(values and len(values) not in (1, 3) for values in (mean, std)):
            raise OptionError(f"mean and std are one number, or one for each of red, green and blue; got {mean} and {std}")
        if (batch is not None and batch < 1) or (std and min(std) <= 0) or layout not in ("", "nchw", "nhwc"):
            raise OptionError(f"batch must be 1 or more, std above 0, layout nchw or nhwc; got {batch}, {std}, {layout!r}")
        options = {key: value for key, value in options.items() if value not in ("", None, [])}
        calls, counts = [], {}
        for name, source in given.items():
            calls += _calls(root, settings, images, name, source, labels, options)
        with changing(root):
            toml.add_models(root, {name: settings.models[name] for name in given})
        calls = [call for call in calls if mine.has(call["number"])]
        total = sum(call["images"] for call in calls)
        with engines.progress("predict", total) as tick:
            for number, made in engines.run("faultscape.verbs.predict:shard", calls, engine=engine, workers=workers, tick=tick):
                with changing(root):
                    _enter(root, calls[number], made)
        with changing(root):
            for name in given:
                counts[name] = _settle(root, name, sorted(shard_sizes(root)))
            log(root, "predict", models={n: str(s) for n, s in given.items()}, engine=engine, shard=shard)
    if not shard and all(maps == 0 for maps, _ in counts.values()):
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
        raise ModelError("no model given; write NAME=SOURCE, SOURCE being a folder of label maps or an ONNX file")
    return out


def _calls(
    root: Path,
    settings: Any,
    images: list[Any],
    name: str,
    source: str,
    labels: str | None,
    options: dict[str, Any],
) -> list[dict[str, Any]]:
    """Enter a model in the settings and return the calls for those of its shards that are missing or stale."""
    from faultscape.prediction import label_names, origin
    from faultscape.study import label_maps
    from faultscape.study.corpus import part_name, shards
    from faultscape.study.parts import there
    from faultscape.study.settings import ModelSettings

    path, by_shard = Path(source), shards(images)
    kind = "onnx" if path.suffix.lower() == ".onnx" else "folder"
    if not path.exists():
        raise ModelError(f"{name}={source}: there is no such folder or file")
    if kind == "folder" and not path.is_dir() and path.suffix.lower() not in (".txt", ".csv", ".lst"):
        raise ModelError(f"{name}={source}: a model is a folder of label maps or a file ending in .onnx")
    if name in label_maps.truths(root):
        raise ModelError(f"{name!r} is the name of a truth of this study; give the model another")
    before = settings.models.get(name)
    if before is not None and (before.kind, before.source) != (kind, os.path.abspath(source)):
        if lost := ", ".join(
            k for k in ("labels", *OPTIONS["folder"], *OPTIONS["onnx"]) if k in before.options and k != "threads"
        ):
            print(f"{name}: its source is another; what was said of the first no longer holds: {lost}")
        before = None
    said = {**(before.options if before else {}), **options, **({"labels": "given"} if labels else {})}
    kept = {key: said[key] for key in ("labels", *OPTIONS[kind]) if key in said}
    held = before.labels if before else {}
    if held and "labels" in kept and not labels:
        label_names.checked(name, held, settings)
    if kind == "folder":
        given = label_names.of_file(labels, settings, None) or (held if "labels" in kept else {})
        model = origin.of_folder(source, settings, by_shard, kept, given, held)
    else:
        model = origin.of_network(name, source, settings, by_shard, kept, labels, held if "labels" in kept else {})
    settings.models[name] = ModelSettings(source=os.path.abspath(source), kind=kind, labels=model.labels, options=model.options)
    where = label_maps.predictions(root, name)
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
    todo = [s for s in sorted(model.stamps) if s in stale or part_name(s) not in done]
    if todo:
        print("".join(f"{name}: {word}\n" for word in model.words), end="")
    if todo and kind == "onnx":  # what cannot work is said before the study learns of it
        size = settings.working_size or (images[0].width, images[0].height)
        label_names.tried(path, model.options, (len(model.labels), len(settings.class_list)), size)
    return [
        {
            "study": str(root), "name": name, "number": s, "images": len(rows), "stamp": model.stamps[s], "kind": kind, "source": str(path),
            "options": model.options, "labels": model.labels, "files": [model.files.get(i.id) for i in rows] if kind == "folder" else [],
            "key": model.keys.get(s, ""),
        }
        for s in todo
        for rows in [by_shard[s]]
    ]  # fmt: skip


def shard(
    study: str, name: str, number: int, images: int, stamp: str, kind: str, source: str, options: dict[str, Any], labels: dict[str, str],
    files: list[str | None], key: str, tick: Any,
) -> dict[str, Any]:  # fmt: skip
    """Make one part of predictions/NAME; what a killed run had done is taken from its spool."""
    from faultscape.prediction.batches import folder_batches, network_batches, record, unrecord
    from faultscape.study import label_maps
    from faultscape.study.corpus import part_name, read_corpus
    from faultscape.study.settings import read_settings
    from faultscape.study.spool import Spool

    start = time.perf_counter()
    root = Path(study)
    settings = read_settings(root)
    rows = read_corpus(root, number)
    assert len(rows) == images
    where = label_maps.predictions(root, name)
    spool = Spool(where / f".spool-{part_name(number)}", stamp)
    if kind == "folder":
        batches = folder_batches(settings, rows, source, files, labels, options)
    else:
        batches = network_batches(settings, rows, source, options, labels)
    maps, failures = [], []
    for place, (batch, work) in enumerate(batches):
        if place < len(spool.records):
            done = spool.records[place]
        else:
            done = record(work())
            spool.append(done)
        good, bad = unrecord(done)
        maps += good
        failures += bad
        tick(len(batch))
    sha = label_maps.put_maps(where, number, maps)
    spool.finish()
    return {"sha256": sha, "rows": len(maps), "key": key, "failures": failures, "seconds": time.perf_counter() - start}


def _stamps(where: Path) -> dict[str, str]:
    """Return what each shard was made from: outside the laws, since it holds times of files."""
    try:
        return json.loads((where / ".stamps.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _enter(root: Path, call: dict[str, Any], made: dict[str, Any]) -> None:
    """Make a finished part count."""
    from faultscape.study import label_maps
    from faultscape.study.corpus import part_name
    from faultscape.study.folder import put
    from faultscape.study.parts import Part, read_manifest, write_manifest
    from faultscape.study.tables import add_timings

    where, part = label_maps.predictions(root, call["name"]), part_name(call["number"])
    failures = tuple((image, why) for image, why in made["failures"])
    stamps = _stamps(where)
    if stamps.pop(part, None) is not None:  # at no moment does a stamp stand beside a part of something else
        put(where / ".stamps.json", json.dumps(stamps, sort_keys=True).encode())
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
