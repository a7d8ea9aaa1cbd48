"""What `predict` must do for a model: how it comes to stand in the settings, and which of its shards are missing or stale.

Conventions: a call is what a worker needs for one shard (`shard.shard`), in words that JSON can hold. Whatever cannot work is said before the study learns of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from faultscape.errors import ModelError
from faultscape.stages.predict import shard


@dataclass(frozen=True)
class Plan:
    """What is to be done for a model: how it stands in the settings, the stamp that each of its shards is to have, and a call for each shard to make."""

    model: Any
    stamps: dict[int, str]
    calls: list[dict[str, Any]]


def refuse_truths(root: Path, names: Iterable[str]) -> None:
    """ModelError for a model called as labels are, or as those that come without a name will be."""
    from faultscape.stages.evidence import LABELS, truths
    from faultscape.study.settings import read_settings

    held, known = read_settings(root).models, {LABELS, *truths(root)}
    if bad := next((name for name in names if name in known and name not in held), None):
        raise ModelError(
            f"{bad!r} is the name of a truth, under which labels are kept; give the model another, for example {bad}-model"
        )


def plan(
    root: Path,
    settings: Any,
    name: str,
    source: str,
    labels: str | None,
    options: dict[str, Any],
    device: str,
    against: str,
) -> Plan:
    """Return what is to be done for a model, and enter it in the settings in hand."""
    from faultscape.classes import mapping as label_names
    from faultscape.prediction import bounds, catalogue, devices
    from faultscape.stages.predict import check, origin
    from faultscape.stages.predict.work import Work
    from faultscape.study.parts import there
    from faultscape.study.settings import ModelSettings
    from faultscape.study.tables import label_maps, outputs
    from faultscape.study.tables.corpus import each_shard, part_name, shard_sizes

    shards = partial(each_shard, root)
    kind = catalogue.kind_of(name, source, settings.task)
    place = catalogue.absolute(kind, source)
    before = settings.models.get(name)
    if before is not None and (before.kind, before.source) != (kind, place):
        if lost := ", ".join(_option(key) for key in before.options if key not in ("threads", "revision", "precision")):
            print(f"{name}: its source is another; what was said of the first no longer holds: {lost}")
        before = None
    if idle := [key for key in options if key not in origin.known(kind)]:
        print(
            f"note: {name}: {', '.join(map(_option, idle))} changes nothing for a {'network' if kind in catalogue.NETWORKS else kind}"
        )
    said = {**(before.options if before else {}), **options, **({"labels": "given"} if labels else {})}
    said = {key: value for key, value in said.items() if key in ("labels", *origin.known(kind))}
    held = before.labels if before else {}
    if held and "labels" in said and not labels:
        label_names.checked(name, held, settings)
    tried = partial(bounds.bounded, when=kind == "onnx" and devices.pick(device, kind) == "cpu")
    with tried():
        model, found, digest = _origin(name, kind, source, settings, shards, said, labels, held, device)
    settings.models[name] = ModelSettings(source=place, kind=kind, labels=model.labels, options=model.options)
    sizes = shard_sizes(root)
    where, keep = label_maps.predictions(root, name), catalogue.keep_of(model.options, settings.task)
    stamps, done = label_maps.stamps_of(where), there(where)
    stale = [
        s
        for s, stamp in model.stamps.items()
        if (part := done.get(part_name(s))) and origin.outdated(stamps.get(part_name(s), ""), stamp, refused=bool(part.failures))
    ]
    beside = {folder: outputs.complete(where / folder) for folder in keep.folders}
    lacking = [
        s
        for s in model.stamps
        if (part := done.get(part_name(s))) and not all(whole.get(part_name(s)) == part.sha256 for whole in beside.values())
    ]
    lacking += [
        s
        for s, rows in shards()
        if model.keys and (part := done.get(part_name(s))) and part.failures and origin.again(rows, part.failures)
    ]
    lacking += shard.unmeasured(root, settings, against, name, done) if against else []
    todo = [s for s in sorted(model.stamps) if s in stale or s in lacking or part_name(s) not in done]
    for s in model.stamps.keys() - set(todo):  # of a run that was killed when its part counted already
        shard.spool_path(where, s).unlink(missing_ok=True)
    if todo:
        print("".join(f"{word}\n" for word in model.words), end="")
    about = {
        "kind": kind, "source": source if kind == "folder" else place, "options": model.options, "labels": model.labels, "device": device, "digest": digest,
    }  # fmt: skip
    drop = ["confidence"] if against and not keep.confidence else []
    about["options"] = {**model.options, "keep": [*keep.words, *drop]}
    if todo:  # what cannot work is said before the study learns of it
        first = next(image for number, rows in shards() if number == todo[0] for image in rows)
        if found is not None:
            with tried():
                check.run(found, _largest(settings, shards), where, sum(sizes[s] for s in todo), first)
        elif kind == "program":
            Work(settings, about, {}).try_one(first)
    if stale:
        print(
            f"{name}: its source, its options or photos changed; {len(stale)} of {len(sizes)} shards are done anew, and {'selections drawn' if settings.classifies else 'pairs made'} from them are stale"
        )
    made = [
        {
            "study": str(root), "name": name, "number": s, "images": sizes[s], "stamp": model.stamps[s], "key": model.keys.get(s, ""), "model": about,
            "files": model.files.get(s, {}), "against": against, "drop": drop,
        }
        for s in todo
    ]  # fmt: skip
    return Plan(settings.models[name], model.stamps, made)


def _origin(
    name: str, kind: str, source: str, settings: Any, shards: Any, said: dict[str, Any], labels: str | None, held: dict[str, str], device: str
) -> tuple[Any, Any, str]:  # fmt: skip
    """Return what a model's maps follow from, the opened network where it is one, and the digest of its files."""
    from faultscape.classes import mapping as label_names
    from faultscape.prediction import catalogue, devices
    from faultscape.stages.predict import check, origin

    given = label_names.of_file(labels, settings, None) if labels and kind not in catalogue.NETWORKS else {}
    if kind == "folder":
        return origin.of_folder(source, settings, shards, said, given or (held if "labels" in said else {}), held), None, ""
    if kind == "program":
        words = (catalogue.OWN_CODE[kind].format(source.removeprefix("exec:")),)
        digest = catalogue.digest(kind, source, said)
        return origin.of_photos(digest, settings, shards, said, given or held, words), None, digest
    if kind == "hub" and "revision" not in said:
        said = {**said, "revision": catalogue.revision_of(source)}
    said = {"threads": 1, **said}  # recorded, since sums depend on their number
    digest = catalogue.digest(kind, source, said)
    wanted = {**said, "device": device, "task": settings.task}
    found = catalogue.held_model(kind, source, wanted, digest, (len(held), len(settings.class_list)))
    digest += found.network.weights
    if kind != "onnx":  # recorded, since it would follow the device of each worker
        said["precision"] = devices.precision_of(said.get("precision", ""), found.network.device)
    if found.network.device.startswith("cuda") and "batch" not in said:
        said["batch"] = check.fitting_batch(found, settings.working_size or (512, 512))
    check.count_channels(found, _largest(settings, shards))  # the order of channels is no list of ids
    mapping = label_names.of_network(
        name, found.network, settings, labels, held if "labels" in said else {}, said.get("unmapped", "")
    )
    words = (*found.network.notes, *([catalogue.OWN_CODE[kind].format(source)] if kind in catalogue.OWN_CODE else []))
    return origin.of_photos(digest, settings, shards, said, mapping, words), found, digest


def _largest(settings: Any, shards: Any) -> tuple[int, int]:
    """Return the working size, or where maps have their photos' the largest of these."""
    return settings.working_size or max(((i.width, i.height) for _, rows in shards() for i in rows), key=math.prod)


def _option(key: str) -> str:
    """Return an option as it is written on the command line."""
    return "--input-size" if key == "size" else f"--{key.replace('_', '-')}"
