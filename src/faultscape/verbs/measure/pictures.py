"""Build the page of `measure` with its worst images, drawn with their regions, as many as fit.

Conventions: the worst images of a model, for each kind of error, are those with the largest error; images
with an undefined or zero error are left out. Errors equal to 12 digits are ordered by
`verbs.measure.sets.ranks_of`, never by name. All images together take about 6 MB; the worst of each kind and
model come first, and those that no longer fit are counted. Frames of anomaly scores are each model's best and
worst by average precision; what is found or missed at 5 % false positives is read from histograms of the data
set's scores in 65,536 steps, like intervals.
Source: Zhang et al. 2021, Figs. 2 and 7; Blum et al. 2021, Figs. 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.corpus.photos import read_source
from faultscape.errors import FaultscapeError
from faultscape.maps.resize import nearest
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.scores.histogram import SIZE, places_of
from faultscape.metrics.scores.rank_slopes import shares_above
from faultscape.reporting.anomaly_frames import Frame, FrameCard, choose_frames, draw_frame, fit_cards
from faultscape.reporting.measure import page as measure_page
from faultscape.reporting.measure import region_pictures
from faultscape.reporting.measure.document import Document
from faultscape.reporting.measure.tables import MAPS
from faultscape.reporting.pictures import Room, colour_words, fit, flat_uri, photo_uri
from faultscape.verbs.in_memory.folders import last_two
from faultscape.verbs.measure.gather import MeasuredSet
from faultscape.verbs.measure.jobs import Source
from faultscape.verbs.measure.scores import model_scores as scores
from faultscape.verbs.measure.scores.summary import Scored
from faultscape.verbs.measure.sets import DataSet, ranks_of
from faultscape.verbs.measure.shard import reader

KINDS = ("rom", "rum", "miou", "missed", "invented")
ROOM = 6_000_000  # characters of embedded images
LONGEST = 360  # pixels of an image's longer side
Draw = Callable[[str, int, str], measure_page.Card | None]


def page(
    out: Path,
    sets: Sequence[DataSet],
    documents: Mapping[str, MeasuredSet],
    document: Document,
    definitions: Definitions,
    worst: int,
) -> str:
    """Return the page, with the ``worst`` images of each model and kind of error, and as many best and worst
    frames for anomaly scores.
    """
    options = document.get("provenance") or {}
    room = Room(ROOM)
    cards: list[measure_page.Card] = []
    left_out = photos_left_out = unreadable = 0
    wanted = [
        (*chosen, data)
        for data in sets
        for chosen in worst_images(documents[data.name].images, worst, partial(ranks_of, data))
    ]
    drawers = {data.name: drawer(data, documents[data.name], definitions, options) for data in sets}
    for _, metric, model, k, data in sorted(wanted, key=lambda row: row[0]):
        card = drawers[data.name](model, k, metric) if room.left > ROOM // 100 else None
        if card is None or len(card.truth) + len(card.predicted) > room.left:
            left_out += 1
            continue
        photo = room.take(card.photo)
        photos_left_out += bool(card.photo and not photo)
        unreadable += bool(data.images and not card.photo)
        cards.append(
            replace(card, truth=room.take(card.truth), predicted=room.take(card.predicted), photo=photo)
        )
    scored = [(data, of) for data in sets if (of := documents[data.name].scored) is not None]
    drawn = [row for data, of in scored for row in anomaly_frames(data, of, worst)]
    order = {id(frame): k for k, (_, frame) in enumerate(drawn)}
    frames, frames_left_out = fit_cards((frame for _, frame in sorted(drawn, key=lambda row: row[0])), room)
    frames.sort(key=lambda frame: order[id(frame)])
    places = {
        (data.name, model): at for at, (data, model) in enumerate((d, m) for d in sets for m in d.models)
    }
    cards.sort(key=lambda card: (KINDS.index(card.metric), places[card.data_set, card.model]))
    names = [data.name if data.study or len(sets) > 1 else last_two(data.truth.source) for data in sets]
    title = ", ".join(names) if len(sets) <= 4 else f"{len(sets)} data sets"
    colours = {data.name: [*colour_words(data.classes).items()] for data in sets if data.with_classes}
    return measure_page.page(
        document,
        measure_page.Facts(
            title or out.name, cards, left_out, photos_left_out, unreadable, colours, frames, frames_left_out
        ),
    )


def worst_images(
    images: Mapping[str, Mapping[str, np.ndarray]],
    worst: int,
    ranks: Callable[[np.ndarray], np.ndarray] | None = None,
) -> list[tuple[int, str, str, int]]:
    """Return (rank, metric, model, index of the image) of the ``worst`` images of each model and kind of
    error; ``ranks`` returns the tie-breaking rank of image indices (default: their order).

    >>> worst_images({"a": {"rom": np.array([0.0, np.nan, 0.5, 0.7])}}, 3)
    [(0, 'rom', 'a', 3), (1, 'rom', 'a', 2)]
    """
    out = []
    for metric in KINDS:
        for model, values in images.items():
            if metric in values:
                errors = np.round(np.nan_to_num(error_of(metric, values[metric])), 12)
                places = np.flatnonzero(errors > 0)
                if 0 < worst < len(places):  # keep only images at least as bad as the last one taken
                    places = places[errors[places] >= np.sort(errors[places])[-worst]]
                tied = worst and len(np.unique(errors[places])) < len(places)
                order = np.lexsort((ranks(places) if ranks and tied else places, -errors[places]))[:worst]
                out += [(rank, metric, model, int(k)) for rank, k in enumerate(places[order])]
    return out


def error_of(metric: str, values: np.ndarray) -> np.ndarray:
    """Return values of a map metric as errors."""
    return 1 - values if named()[metric].better == "high" else values


def drawer(data: DataSet, found: MeasuredSet, definitions: Definitions, options: Mapping[str, Any]) -> Draw:
    """Return a function that draws the k-th image of a model as a card; None if its maps can no longer be
    read.
    """
    readers: dict[tuple[str, int], Any] = {}
    given = definitions.regions == "given"

    def map_of(name: str, source: Source, k: int) -> np.ndarray | None:
        number, (low, _) = next((n, span) for n, span in data.shards.items() if span[0] <= k < span[1])
        if (name, number) not in readers:
            readers[name, number] = reader(
                data.source_in(number, source), data.images_of(number), data.classes, given=given
            )
        return readers[name, number](k - low)

    def draw(model: str, k: int, metric: str) -> measure_page.Card | None:
        source = data.models[model]
        if not source.has_maps:
            return None
        try:
            truth = map_of("", data.truth, k)
            label_map = map_of(f"model {model}", source, k)
        except FaultscapeError:
            return None
        if truth is None or label_map is None:
            return None
        if truth.shape != label_map.shape:
            label_map = nearest(label_map, (truth.shape[1], truth.shape[0]))
        if given:
            divisor = int(options.get("divisor") or 1) if data.with_classes else 0
            true, seen = region_pictures.given(truth, label_map, data.classes, divisor)
        else:
            true, seen = region_pictures.connected(
                truth, label_map, data.classes, definitions.connectivity, definitions.void
            )
        marked = region_pictures.marked_regions(true, seen, metric)
        size = fit(truth.shape[1], truth.shape[0], LONGEST)
        classes = data.classes if data.with_classes else None
        pictures = [
            flat_uri(region_pictures.picture(side.places, side.numbers, of, classes, size))
            for side, of in zip((true, seen), marked, strict=True)
        ]
        bars = {
            m: float(error_of(m, found.images[model][m][k]))
            for m in _bars(metric)
            if m in found.images[model]
        }
        return measure_page.Card(
            data.name,
            model,
            data.ids[k],
            metric,
            pictures[0],
            pictures[1],
            _photo(data, k, size),
            size[0],
            size[1],
            {m: v for m, v in bars.items() if np.isfinite(v)},
            region_pictures.told(true, seen, marked, metric),
        )

    return draw


def _bars(metric: str) -> list[str]:
    return list(dict.fromkeys([metric, *MAPS]))


def _photo(data: DataSet, k: int, size: tuple[int, int]) -> str:
    pixels = _pixels(data, k)
    return "" if pixels is None else photo_uri(pixels, size)


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
            yield rank, draw_frame(about, Frame(mask, np.minimum(places, SIZE - 1), shares, _pixels(data, k)))


def _ranks(data: DataSet, values: dict[str, float]) -> dict[str, int]:
    """Return {index: tie-breaking rank}; files are read only if there are ties."""
    known = [round(v, 12) for v in values.values() if not math.isnan(v)]
    if len(set(known)) == len(known):
        return {word: k for k, word in enumerate(values)}
    words: Sequence[str] = list(values)
    return dict(zip(words, ranks_of(data, np.array([int(word) for word in words])).tolist(), strict=True))


def _pixels(data: DataSet, k: int) -> np.ndarray | None:
    path = data.images.get(data.ids[k])
    try:
        return read_source(path) if path else None
    except FaultscapeError:
        return None
