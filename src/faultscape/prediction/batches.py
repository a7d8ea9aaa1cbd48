"""One shard's work on one model, batch by batch, and the form in which a batch stands in a spool.

Conventions: a batch is a range of the shard's rows and a function that does it, so that finished batches can be taken from a spool instead. Its result is
(image id, runs or None, confidence or None, problem) an image, and behind it the SHA-256 of a photo that the corpus knows by its store's tag. A batch never crosses a shard.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from faultscape.errors import ImageError, LabelMapError

Result = tuple[str, bytes | None, bytes | None, str] | tuple[str, bytes | None, bytes | None, str, str | None]
Batch = tuple[range, Callable[[], list[Result]]]


def folder_batches(
    settings: Any, rows: list[Any], source: str, files: list[str | None], labels: dict[str, str], options: dict[str, Any]
) -> Iterator[Batch]:
    """Yield the batches of a shard whose model is the folder ``source`` of maps: one path (or None) a row."""
    from faultscape.prediction.folder import BATCH, FolderModel

    model = FolderModel(settings.class_list, labels, settings.working_size, resize_maps=bool(options.get("resize_maps")))

    def read(span: range) -> list[Result]:
        out: list[Result] = []
        for k in span:
            image, path = rows[k], files[k]
            try:
                if path is None:
                    out.append((image.id, None, None, "no map of this image was found"))
                    continue
                out.append((image.id, model.read(path, image.width, image.height), _confidence(source, path), ""))
            except LabelMapError as error:
                out.append((image.id, None, None, str(error)))
        return out

    for first in range(0, len(rows), BATCH):
        span = range(first, min(first + BATCH, len(rows)))
        yield span, lambda span=span: read(span)


def _confidence(source: str, path: str) -> bytes | None:
    """Return the stored form of SOURCE/confidence/X beside SOURCE/labels/X, where there is one."""
    relative = os.path.relpath(path, os.path.join(source, "labels"))
    beside = os.path.join(source, "confidence", relative)
    if relative.startswith("..") or not os.path.isfile(beside):
        return None
    from faultscape.corpus.map_files import read_map
    from faultscape.maps import runs

    return runs.encode(read_map(beside))


def network_batches(
    settings: Any, rows: list[Any], source: str, options: dict[str, Any], labels: dict[str, str]
) -> Iterator[Batch]:
    """Yield the batches of a shard whose model is a network."""
    from faultscape.corpus.classes import UNKNOWN, allowed, table
    from faultscape.corpus.reading import read_photo
    from faultscape.maps import runs
    from faultscape.prediction.onnx import OnnxModel

    model = OnnxModel(source, options, (len(labels), len(settings.class_list)))
    places = table(settings.class_list, labels)

    def infer(span: range) -> list[Result]:
        photos, digests, problems = {}, {}, {}
        for k in span:
            try:
                photos[k], digests[k] = read_photo(rows[k])
            except ImageError as error:
                problems[k] = str(error)
        sizes = [settings.working_size or (rows[k].width, rows[k].height) for k in photos]
        results = dict(zip(photos, model.predict(list(photos.values()), sizes), strict=True)) if photos else {}
        out: list[Result] = []
        for k in span:
            if k in problems or (labelled := results[k].labels) is None:
                out.append((rows[k].id, None, None, problems.get(k) or results[k].problem))
                continue
            code = runs.encode(labelled)
            bad = [int(v) for v in runs.labels(code) if places[v] == UNKNOWN]
            if bad:
                what = f"{source}: gave the label {bad[0]}; allowed are {allowed(settings.class_list, labels)}; --labels FILE says what labels mean"
                out.append((rows[k].id, None, None, what))
                continue
            confidence = results[k].confidence
            coded = None if confidence is None else runs.encode(confidence)
            out.append((rows[k].id, code, coded, "", digests[k] if rows[k].tagged else None))
        return out

    for first in range(0, len(rows), model.batch):
        span = range(first, min(first + model.batch, len(rows)))
        yield span, lambda span=span: infer(span)


def record(results: list[Result]) -> bytes:
    """Return one batch as bytes: a line of JSON, then the codes."""
    head = [
        (id_, -1 if code is None else len(code), -1 if extra is None else len(extra), why, *photo)
        for id_, code, extra, why, *photo in results
    ]
    return json.dumps(head).encode() + b"\n" + b"".join((code or b"") + (extra or b"") for _, code, extra, *_ in results)


def unrecord(data: bytes) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return the maps and the failures (image id, problem) of one batch from its bytes."""
    from faultscape.study.label_maps import StoredMap

    head, _, rest = data.partition(b"\n")
    maps, failures, at = [], [], 0
    for id_, size, extra, why, *photo in json.loads(head):
        if size < 0:
            failures.append((id_, why))
            continue
        code, at = rest[at : at + size], at + size
        confidence = rest[at : at + extra] if extra >= 0 else None
        at += max(extra, 0)
        maps.append(StoredMap(id_, code, confidence, *photo))
    return maps, failures
