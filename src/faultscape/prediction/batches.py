"""Results of a model for some images of a shard: rows and batches, and the format of a batch in a spool.

Conventions: a batch is some rows of the shard, in order. For each row its record holds (image id, runs or a
classifier's answer or None, kept codes by folder, problem), and for the batch how long loading, the model,
its methods and the rest took. A batch never spans two shards.

``image`` is the id of the image. ``labels`` are the answer: ids of classes, or a label map.
``probabilities`` are those of the labels. ``confidence`` (H, W) is the probability of the winner.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import array_codes, class_answers, runs

if TYPE_CHECKING:
    from faultscape.prediction.inference import Output
    from faultscape.study.tables.corpus import Image

# why an image has no result where its source does not mention it
NO_MAP = "no map found for this image"
NO_ROW = "the table has no row for this image"
NO_LABEL = "the table has no label for this image"
INSTANCES = "instances"  # the key under which the code of an image's instances is kept, beside its labels
COUNTED = "counted"  # the key under which an answer's counts are kept, instead of its doubt
# counts an image's output; the result is kept instead of doubt
Look = Callable[["Image", "Output"], bytes]


@dataclass(frozen=True)
class Row:
    """One image's result: the code of its labels and of what is kept, or the problem. A made image without a
    map in a folder or table has neither, because it need not have one. ``photo`` is the SHA-256 of an image
    that the corpus knows only by its store's tag.

    ``kept`` holds codes by their folder below predictions/NAME, such as confidence; `counted` holds counts of
    its pixels, and `instances` the code of its instances, which is stored beside its labels.
    """

    id: str  # the image's, as in the corpus
    runs: bytes | None  # code of its label map or a classifier's answer; None without one
    kept: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    problem: str = ""  # why it has no answer; '' with one, or where none is needed
    photo: str | None = None


@dataclass(frozen=True)
class Batch:
    """Results of some rows, with the seconds for loading, the model, its labels and scores, and the rest, and
    for all methods ``fitted`` to it, and each of these ``methods`` alone; ``warm`` is false for batches that
    began before the first one was done.
    """

    rows: list[Row]  # one for each image, in the order in which they were asked for
    seconds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # loading, the model, scores, the rest
    warm: bool = True
    fitted: float = 0.0
    methods: dict[str, float] = field(default_factory=dict)


def row_of_map(image: str, labels: np.ndarray, confidence: np.ndarray | None = None) -> Row:
    """Return the row of a label map (H, W) of whole numbers, with its confidence (H, W) on 0..1 if given.

    >>> row_of_map("a", np.zeros((2, 3), np.uint8)).id
    'a'
    """
    if confidence is None:
        return Row(image, runs.encode(labels))
    steps = np.rint(np.clip(confidence, 0, 1) * 255).astype(np.uint8)
    return Row(image, runs.encode(labels), {"confidence": (array_codes.encode(steps),)})


def row_of_answer(
    image: str,
    labels: int | Sequence[int] | np.ndarray,
    probabilities: Sequence[float] | np.ndarray | None = None,
) -> Row:
    """Return the row of a classifier's answer: the id of a class of the study (-1: none of them), or up to
    255 ids with or without the probability of each.

    The likeliest class is the answer: the first, or, with probabilities, the one with the largest.
    LabelMapError for anything else.

    >>> row_of_answer("a", 7) == row_of_answer("a", [7])
    True
    >>> row_of_answer("a", [2, 7], [0.25, 0.75]) == row_of_answer("a", [7, 2], [0.75, 0.25])
    True
    """
    ids = np.atleast_1d(labels)
    if ids.dtype.kind not in "iu":
        raise LabelMapError(f"the labels of an answer are ids of classes, whole numbers; got {ids.dtype}")
    sure = None if probabilities is None else np.atleast_1d(np.asarray(probabilities, dtype=float))
    if sure is None or sure.shape != ids.shape:
        return Row(image, class_answers.encode(ids, sure))
    order = np.argsort(-sure, kind="stable")
    return Row(image, class_answers.encode(ids[order], sure[order]))


def record(batch: Batch) -> bytes:
    """Return one batch as bytes: a line of JSON, then the codes."""
    codes: list[bytes] = []
    head = []
    for row in batch.rows:
        sizes = {kind: [len(code) for code in held] for kind, held in row.kept.items()}
        head.append([row.id, -1 if row.runs is None else len(row.runs), sizes, row.problem, row.photo])
        codes += [row.runs or b"", *(code for held in row.kept.values() for code in held)]
    told = json.dumps([head, batch.seconds, batch.warm, batch.fitted, batch.methods])
    return told.encode() + b"\n" + b"".join(codes)


def unrecord(data: bytes) -> Batch:
    """Return a batch from its bytes."""
    head, _, rest = data.partition(b"\n")
    rows = []
    at = 0
    listed, seconds, *told = json.loads(head)
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
    return Batch(rows, tuple(seconds), *told)
