"""The numbers on the page of one image: how far models agree with each other and with the truth, and where
two of them differ.

Conventions: the numbers are those that `rank` and `report` would use: for maps at working size, without
pixels that are void in a truth; for classifiers right, wrong or undecided. A missing number is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from faultscape.classes.class_lists import table
from faultscape.comparison import counts
from faultscape.errors import FaultscapeError
from faultscape.labelling.answers import majority
from faultscape.labelling.correctness import right_or_wrong
from faultscape.maps import class_answers
from faultscape.maps.resize import nearest
from faultscape.metrics.pixel import miou
from faultscape.nouns import Predictions
from faultscape.study.answers.choices import question_of
from faultscape.study.answers.schema import TRAINING
from faultscape.study.tables import label_maps
from faultscape.verbs.view.between import CONCORDANCE
from faultscape.verbs.view.layers import MODEL, TRUTH, Layer, part_of, read_map
from faultscape.verbs.view.library import Opened
from faultscape.web import overlays

_SHOWN = 8  # most pairs of classes in which two maps differ


@dataclass(frozen=True)
class ModelRow:
    """One model on one image: whether it has a prediction, how far it agrees with the truth, and for
    classifiers the prediction and whether it is right; ``why`` its map cannot be read.
    """

    name: str
    there: bool
    value: float | None = None
    answer: str = ""
    verdict: str = ""
    why: str = ""


@dataclass(frozen=True)
class PairFacts:
    """Two maps of one image: their concordance; the share of pixels on which they differ; of these, if the
    truth decides, which is wrong (first, second, both), as shares of all pixels; and the classes that differ,
    (first, second, share).
    """

    concordance: float | None
    differ: float
    wrong: tuple[float, float, float] | None
    parts: tuple[tuple[str, str, float], ...]


def model_rows(study: Opened, place: int, truth: str) -> list[ModelRow]:
    """Return each model's score on an image, against a truth if one is named."""
    if study.settings.classifies:
        return _answers(study, place, truth)
    layers = [*(Layer(MODEL, name) for name in study.models), *([Layer(TRUTH, truth)] if truth else [])]
    whys: dict[str, str] = {}
    stack = _maps(study, place, layers, whys)
    models = len(study.models)
    if not truth or stack[models] is None:
        return [
            ModelRow(name, found is not None, why=whys.get(f"{MODEL}:{name}", ""))
            for name, found in zip(study.models, stack, strict=False)
        ]
    pairs = np.array([(models, j) for j in range(models)], np.int64).reshape(-1, 2)
    n = len(study.classes) + 1
    cells = counts.count_image(stack, n, pairs, models)[0] if models else np.zeros((0, n, n), np.int64)
    cells[:, -1] = 0  # void in the truth
    values = _concordance(cells)
    return [
        ModelRow(
            name,
            stack[j] is not None,
            None if stack[j] is None else values[j],
            why=whys.get(f"{MODEL}:{name}", ""),
        )
        for j, name in enumerate(study.models)
    ]


def learners(study: Opened, place: int) -> list[str]:
    """Return the models that an image does not judge, because they learnt from it or from one like it."""
    return [name for name in study.models if study.columns.id_at(place) in study.now.trained_on(name)]


def pair_facts(study: Opened, place: int, first: str, second: str, truth: str) -> PairFacts | None:
    """Return where two models differ on an image; None if one of them has no map of it."""
    layers = [Layer(MODEL, first), Layer(MODEL, second), *([Layer(TRUTH, truth)] if truth else [])]
    one, other, *true = _maps(study, place, layers)
    if one is None or other is None:
        return None
    n = len(study.classes) + 1
    cells = counts.count_image([one, other], n, np.array([[0, 1]], np.int64), 2)[0]
    pixels = max(int(cells.sum()), 1)
    apart = cells[0] * ~np.eye(n, dtype=bool)
    order = np.argsort(-apart, axis=None, kind="stable")[:_SHOWN]
    names = [*study.classes.names, "void"]
    parts = [
        (names[k // n], names[k % n], float(apart.flat[k]) / pixels) for k in order.tolist() if apart.flat[k]
    ]
    wrong = None
    if true and true[0] is not None:
        _, *shares = overlays.verdict(one, other, true[0], study.classes).shares()
        wrong = shares[0], shares[1], shares[2]
    return PairFacts(_concordance(cells)[0], float(apart.sum()) / pixels, wrong, tuple(parts))


def agreements(study: Opened, place: int) -> list[list[float | None]]:
    """Return (J, J) how far every two models agree on an image, from the counts; None on the diagonal and if
    nothing is counted.
    """
    models = range(len(study.models))
    return [[None if i == j else _number(study.said.agreement(i, j)[place]) for j in models] for i in models]


def choices_on(study: Opened, place: int) -> int:
    """Return how many choices between two models' maps count on an image, of any truth, without training."""
    rows = study.now.choices.rows(image=study.columns.id_at(place))
    last = {(one.truth, question_of(one)): one for one in rows if one.truth != TRAINING}
    return sum(one.chosen != "" for one in last.values())


def disagreement(study: Opened, place: int) -> float | None:
    """Return the mean disagreement of an image; None if nothing is counted."""
    return _number(study.said.disagreement[place])


def _maps(
    study: Opened, place: int, layers: Sequence[Layer], whys: dict[str, str] | None = None
) -> list[np.ndarray | None]:
    """Return the maps of an image at working size; the reason why one cannot be read goes into ``whys`` if it
    is given, otherwise it is raised.
    """
    found: list[np.ndarray | None] = []
    for layer in layers:
        try:
            found.append(read_map(study, layer, place))
        except FaultscapeError as error:
            if whys is None:
                raise
            whys[str(layer)] = str(error)
            found.append(None)
    own = int(study.columns.widths[place]), int(study.columns.heights[place])
    first = next((label_map.shape[::-1] for label_map in found if label_map is not None), (1, 1))
    size = study.settings.working_size or (own if all(own) else first)
    return [None if label_map is None else nearest(label_map, size) for label_map in found]


def _concordance(cells: np.ndarray) -> list[float | None]:
    """Return the concordance of each of (P, n, n) cells, row = reference."""
    both = np.diagonal(cells, axis1=1, axis2=2)[:, :-1]
    assert miou.__name__ == CONCORDANCE
    return [_number(value) for value in miou(both, cells.sum(2), cells.sum(1)).tolist()]


def _answers(study: Opened, place: int, truth: str) -> list[ModelRow]:
    """Return the predictions of classifiers for an image, and whether they match the truth."""
    said_by = [study.said.labels[j, place] for j in range(len(study.models))]  # type: ignore[union-attr]
    labels = np.array(said_by, np.int32).reshape(-1, 1)
    id_ = study.columns.id_at(place)
    names = study.classes.names
    said = Predictions(study.classes, study.models, (id_,), labels, np.full(labels.shape, np.nan))
    right = np.full(labels.shape, np.nan)
    if truth:
        verdicts = {
            key: verdict
            for key, verdict in majority(study.now.answers.answers(truth)).items()
            if key[0] == id_
        }
        right = right_or_wrong(said, [_label_set(study, truth, place)], verdicts)
    words = {1.0: "right", 0.0: "wrong"}
    rows = zip(study.models, labels[:, 0].tolist(), right[:, 0].tolist(), strict=True)
    return [
        ModelRow(
            name,
            label >= 0,
            None,
            names[label] if label >= 0 else "",
            words.get(value, "undecided" if truth else ""),
        )
        for name, label, value in rows
    ]


def _label_set(study: Opened, truth: str, place: int) -> frozenset[int] | None:
    """Return the classes that a truth names for an image; None if it has no label."""
    shard = int(study.columns.shards[place])
    layer = Layer(TRUTH, truth)
    folder, part = part_of(study, layer, place)
    code = label_maps.read_map(folder, shard, part, study.columns.id_at(place)) if part else None
    if code is None:
        return None
    labels = class_answers.decode(pa.array([code], pa.binary()))[0][0]
    places = table(study.classes)
    known = [int(places[label]) for label in labels.tolist() if 0 <= label < len(places)]
    return frozenset(known_ for known_ in known if known_ < len(study.classes))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
