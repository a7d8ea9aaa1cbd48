"""The threshold of each scorer for a chosen false-alarm rate, learnt from validation images, and what it
flags on the other sets.

Conventions: learnt from the known pixels of collected images of role validation that have labels; without
any, from sets with anomalies that are for validation. Pixels of withheld classes are left out, as under the
first holdout. On every other set with anomalies the rate is what it turned out to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.metrics.scorers import scorer_named
from faultscape.metrics.scores.found_objects import RATES, object_places
from faultscape.metrics.scores.grouped_counts import dense_counts
from faultscape.metrics.scores.histogram import SIZE
from faultscape.metrics.scores.thresholds import learnt_place, lowest_score
from faultscape.reading.image_truths import validation_views
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardFlagged, CardThreshold
from faultscape.verbs.predict.pixel_counts import counting_of
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy
from faultscape.verbs.reliability.numbers import ModelNumbers

View = tuple[str, str]  # an image, and the holdout whose classes are left out


def thresholds(
    labelled: LabelledStudy, models: Sequence[ModelNumbers], conditions: Sequence[Condition]
) -> list[CardThreshold]:
    """Return the thresholds of every scorer of every model; [] without validation images."""
    of_sets = [one for one in conditions if one.with_anomalies and one.validation]
    views = validation_views(labelled.study, labelled.judged)
    views = views or [(id_, one.holdout) for one in of_sets for id_ in one.images]
    tests = [one for one in conditions if one.tests_anomalies]
    return [
        row
        for model in models
        for folder in model.scorers
        for row in (_of_scorer(labelled, model, folder, views, tests) if views else [])
    ]


def _of_scorer(
    labelled: LabelledStudy,
    model: ModelNumbers,
    folder: str,
    views: Sequence[View],
    tests: Sequence[Condition],
) -> list[CardThreshold]:
    known, images = model.known_pixels(folder, views)
    if not known.any():
        return []
    word = model.scorers[folder]
    counting = counting_of(labelled.study.settings, model.name, labelled.truth, [word])
    _, offset, channels = counting.scorers[folder]
    at = [learnt_place(known, rate) for rate in RATES]
    on = [_flagged(model, folder, test, at) for test in tests]
    return [
        {
            "model": model.name,
            "scorer": word,
            "rate": rate,
            "score": number(lowest_score(scorer_named(word), place, channels, offset)),
            "images": images,
            "on": [rows[k] for rows in on if rows],
        }
        for k, (rate, place) in enumerate(zip(RATES, at, strict=True))
    ]


def _flagged(model: ModelNumbers, folder: str, test: Condition, at: Sequence[int]) -> list[CardFlagged]:
    """Return what each threshold flags under a condition; [] if it was not counted."""
    held = model.groups(folder, test, model.counted(test, folder))
    known, anomalous = (dense_counts(getattr(c, name) for c in held) for name in ("known", "anomalous"))
    places = np.concatenate([np.zeros(0, np.int64), *(object_places(counts) for counts in held)])
    objects = np.bincount(places, minlength=SIZE)
    shares: list[Mapping[str, float | None]] = [
        {
            "false_alarms": _above(known, place),
            "pixels": _above(anomalous, place),
            "objects": _above(objects, place),
        }
        for place in at
    ]
    return [{"condition": test.name, **share} for share in shares] if held else []  # type: ignore[typeddict-item]


def _above(counts: np.ndarray, place: int) -> float | None:
    total = counts.sum()
    return number(counts[place:].sum() / total) if total else None
