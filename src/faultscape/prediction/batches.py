"""One shard's work on one model, batch by batch, and the form in which a batch stands in a spool.

Conventions: a batch is some rows of the shard, in order; its record holds (image id, runs (of a classifier: its answer) or None, kept codes by folder, problem) a row, and how long loading, the
model, and the rest took. A batch never crosses a shard. Pictures of the next batches are loaded, and results of the last are encoded, while the network runs.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import FaultscapeError, ImageError, ModelError
from faultscape.formats.confidence import beside, read_confidence
from faultscape.maps import array_codes, runs
from faultscape.nouns import UNKNOWN
from faultscape.prediction.inference import Inference, Output, Prepared

_AHEAD = 2  # batches that are loaded before the network is ready for them


@dataclass(frozen=True)
class Row:
    """One image's result: the code of its labels and of what is kept, or what went wrong; ``photo`` is the SHA-256 of a photo that the corpus knows by its store's tag."""

    id: str
    runs: bytes | None
    kept: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    problem: str = ""
    photo: str | None = None


@dataclass(frozen=True)
class Batch:
    """Results of some rows, with the seconds that loading, the model and the rest took; ``warm`` is false of those that began before one was done."""

    rows: list[Row]
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)
    warm: bool = True


Look = Callable[[Any, Output], None]  # sees each image's output before it is encoded
Loaded = tuple[list[Prepared | str], list[str | None], float]
ReadPhoto = Callable[[Any], tuple[np.ndarray, str]]  # pixels and SHA-256 of the file


def folder_batches(model: Any, batches: Sequence[Sequence[Any]], files: dict[str, str], source: str) -> Iterator[Batch]:
    """Yield the results of a model that is the folder ``source`` of maps: a path by image id."""
    for batch in batches:
        start, rows = time.perf_counter(), []
        for image in batch:
            path = files.get(image.id)
            try:
                if path is None:
                    rows.append(Row(image.id, None, problem="no map of this image was found"))
                    continue
                code, sure = model.read(path, image.width, image.height), beside(source, path)
                kept = {"confidence": (array_codes.encode(read_confidence(sure, runs.shape(code))),)} if sure else {}
                rows.append(Row(image.id, code, kept))
            except FaultscapeError as error:
                rows.append(Row(image.id, None, problem=str(error)))
        yield Batch(rows, (time.perf_counter() - start, 0.0, 0.0))


def network_batches(
    inference: Inference,
    batches: Sequence[Sequence[Any]],
    settings: Any,
    labels: dict[str, str],
    read: ReadPhoto,
    lanes: int = 1,
    look: Look | None = None,
) -> Iterator[Batch]:
    """Yield the results of a network, in order; up to ``lanes`` batches run at once, each as if it were alone."""
    places = table(settings.class_list, labels)
    words = allowed(settings.class_list, labels)

    def load(batch: Sequence[Any]) -> Loaded:
        start, out, photos = time.perf_counter(), [], []
        for image in batch:
            sha = None
            try:
                rgb, sha = read(image)
                out.append(inference.prepare(rgb, settings.working_size or (image.width, image.height)))
            except (ImageError, ModelError) as error:
                out.append(str(error))
            photos.append(sha if image.tagged else None)
        return out, photos, time.perf_counter() - start

    def answer(
        batch: Sequence[Any], prepared: list[Prepared | str], photos: list[str | None], loading: float
    ) -> Callable[[], Batch]:
        """Run the network, and return what turns its answers into a batch, in any thread."""
        warm = inference.warm  # once one batch is wholly done: those that ran beside the first waited for the same compilers
        good = [item for item in prepared if isinstance(item, Prepared)]
        answers = iter(inference.run(good) if good else [])
        found = [next(answers) if isinstance(item, Prepared) else item for item in prepared]
        model = inference.seconds if good else 0.0

        def rest() -> Batch:
            start, rows = time.perf_counter(), []
            for image, item, said, photo in zip(batch, prepared, found, photos, strict=True):
                output = inference.finish(said, item.target) if isinstance(item, Prepared) else Output(None, problem=item)
                rows.append(replace(_row(image, output, inference.network.name, places, words, look), photo=photo))
            inference.warm = inference.warm or bool(good)
            return Batch(rows, (loading, model, time.perf_counter() - start), warm)

        return rest

    def work(batch: Sequence[Any], loading: Future[Loaded]) -> Future[Batch]:
        return writer.submit(answer(batch, *loading.result()))

    lanes = 1 if inference.keep.embeddings else max(1, lanes)  # what watches a layer sees one batch at a time
    with ThreadPoolExecutor(lanes) as loader, ThreadPoolExecutor(lanes) as runner, ThreadPoolExecutor(lanes) as writer:
        under_way: deque[Future[Future[Batch]]] = deque()
        for batch in batches:
            under_way.append(runner.submit(work, batch, loader.submit(load, batch)))
            if len(under_way) > lanes + _AHEAD:
                yield under_way.popleft().result().result()
        while under_way:
            yield under_way.popleft().result().result()


def _row(image: Any, output: Output, name: str, places: np.ndarray, words: str, look: Look | None) -> Row:
    """Return one output encoded; a label that means nothing is a failure."""
    if output.labels is None:
        return Row(image.id, None, problem=output.problem)
    code = output.answer or runs.encode(output.labels)
    said = output.labels.ravel() if output.answer else runs.labels(code)
    if bad := [int(v) for v in said if places[v] == UNKNOWN]:
        return Row(
            image.id, None, problem=f"{name}: gave the label {bad[0]}; allowed are {words}; --labels FILE says what labels mean"
        )
    if look is not None:
        try:
            look(image, output)
        except FaultscapeError as error:
            return Row(image.id, None, problem=str(error))
    return Row(image.id, code, {kind: tuple(array_codes.encode(values) for values in held) for kind, held in output.kept.items()})


def record(batch: Batch) -> bytes:
    """Return one batch as bytes: a line of JSON, then the codes."""
    codes: list[bytes] = []
    head = []
    for row in batch.rows:
        sizes = {kind: [len(code) for code in held] for kind, held in row.kept.items()}
        head.append([row.id, -1 if row.runs is None else len(row.runs), sizes, row.problem, row.photo])
        codes += [row.runs or b"", *(code for held in row.kept.values() for code in held)]
    return json.dumps([head, batch.seconds, batch.warm]).encode() + b"\n" + b"".join(codes)


def unrecord(data: bytes) -> Batch:
    """Return a batch from its bytes."""
    head, _, rest = data.partition(b"\n")
    rows, at = [], 0
    listed, seconds, warm = json.loads(head)
    for id_, size, sizes, problem, photo in listed:
        code, at = (rest[at : at + size], at + size) if size >= 0 else (None, at)
        kept = {}
        for kind, lengths in sizes.items():
            held = []
            for length in lengths:
                held.append(rest[at : at + length])
                at += length
            kept[kind] = tuple(held)
        rows.append(Row(id_, code, kept, problem, photo))
    return Batch(rows, tuple(seconds), warm)
