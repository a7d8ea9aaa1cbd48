"""Choose the frames of anomaly scores that the `measure` page shows: each model's best and worst by average
precision, with the score map and the objects that it misses.

Conventions: frames of equal average precision are ordered by `verbs.measure.image_order`. What is found or
missed at 5 % false positives is read from histograms of the data set's scores in 65,536 steps, like
intervals.
Source: Blum et al. 2021, Figs. 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from faultscape.corpus.photos import read_source
from faultscape.errors import FaultscapeError
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.scores.histogram import SIZE, places_of
from faultscape.metrics.scores.rank_slopes import shares_above
from faultscape.reporting.anomaly_frames import Frame, FrameCard, choose_frames, draw_frame
from faultscape.verbs.measure.image_order import ranks_of
from faultscape.verbs.measure.scores import model_scores as scores
from faultscape.verbs.measure.scores.summary import Scored
from faultscape.verbs.measure.sets import DataSet


def anomaly_frames(data: DataSet, scored: Scored, many: int) -> Iterator[tuple[int, FrameCard]]:
    """Yield (rank, frame) for the ``many`` best and worst frames of each model with anomaly scores, without
    those whose files are gone.
    """
    for name, job in scored.jobs.items():
        found = scored.found[name]
        if job.kind != "anomaly" or not len(found["usable"]) or not many:
            continue
        values = {
            str(k): float(v) for k, v in zip(found["usable"].tolist(), found["alone"][:, 0], strict=True)
        }
        images = scores.sparse_images(found, len(data.ids))
        shares = shares_above(bootstrap.together(images).known)
        how = bootstrap.Coarse(bool(found["logit"]), *found["coarse"].tolist())
        load = scores.score_loader(job)
        for kind, rank, word in choose_frames(values, _ranks(data, values), many):
            k = int(word)
            try:
                loaded = load(k)
            except FaultscapeError:
                continue
            if loaded is None:
                continue
            score, mask = loaded[:2]
            counted = int(images[k].known.sum()), int(images[k].anomalous.sum())
            about = FrameCard(
                data.name, name, name, data.ids[k], kind, values[word], counted[1] / max(sum(counted), 1)
            )
            places = places_of(bootstrap.coarse_scores(np.nan_to_num(score), how))
            yield rank, draw_frame(about, Frame(mask, np.minimum(places, SIZE - 1), shares, _photo(data, k)))


def _ranks(data: DataSet, values: dict[str, float]) -> dict[str, int]:
    """Return {index: tie-breaking rank}; files are read only if there are ties."""
    known = [round(v, 12) for v in values.values() if not math.isnan(v)]
    if len(set(known)) == len(known):
        return {word: k for k, word in enumerate(values)}
    words: Sequence[str] = list(values)
    return dict(zip(words, ranks_of(data, np.array([int(word) for word in words])).tolist(), strict=True))


def _photo(data: DataSet, k: int) -> np.ndarray | None:
    path = data.images.get(data.ids[k])
    try:
        return read_source(path) if path else None
    except FaultscapeError:
        return None
