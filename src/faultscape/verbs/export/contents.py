"""What an export holds, read off a study: a row an image, the maps or answers of models, labels, and ranks.

Conventions: maps are ids of the class list, (H, W) at the size of their image (nearest); where the class list
has no void id, one that no class has stands for it. Disagreement is that of `view`: 1 minus the mean
concordance of every two models. A score is what `rank` counts: a map's concordance with the label, or for
classifiers 1 if right and 0 if wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from faultscape.choices import ImageFiles
from faultscape.errors import FaultscapeError, LabelMapError, OptionError, StudyError, counted
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes, Definition, Row, Slots
from faultscape.progress import progress
from faultscape.reading import evidence
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.maps import StoredLabels
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.standings import could_be_best
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import Image, shards
from faultscape.verbs import graph
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.select.chosen_images import why_chosen
from faultscape.verbs.view.between import Answers, MapCounts

_BY_DEFAULT: Definition = {"selector": "", "concordance": "miou", "over": "union"}


@dataclass(frozen=True)
class ExportedImage:
    """One image of an export: its row of the corpus, and what the study says about it."""

    image: Image
    chosen: bool  # whether the selection has it
    why: str  # why it was chosen; ''
    disagreement: float  # 0 to 1; NaN where it is not known
    scores: dict[str, float] = field(default_factory=dict)  # {model: score}; NaN without a label


@dataclass(frozen=True)
class ModelRank:
    """One row of the table of models: the recommended ranking of the selection."""

    model: str
    ranking: str  # name of the ranking; '' without standings
    rank: int | None  # 1 is the best
    rank_low: int | None  # 95 %, for all models at once
    rank_high: int | None
    score: float | None
    score_low: float | None  # 95 %
    score_high: float | None
    could_be_best: bool | None


class Contents:
    """The images of a selection, or all, in corpus order, with all that is exported of them; OptionError or
    StudyError if there is nothing to export.
    """

    def __init__(
        self, study: Study, *, selection: str, all_images: bool, truth: str | None, image_files: ImageFiles
    ) -> None:
        self.study = study
        self.image_files: ImageFiles = image_files
        self.classifies = study.classifies
        self.selection = _selection_of(study, selection, all_images=all_images)
        self.truth = study.truth(truth) if study.truths or truth is not None else ""
        self.models = study.models
        chosen = self._chosen
        wanted = None if all_images else chosen
        self.images: list[Image] = study.corpus.images(wanted)
        if not self.images:
            what = "has no images" if all_images else f"selection {self.selection!r} has no images left"
            raise StudyError(f"{study.called}: {what}; there is nothing to export")

    @cached_property
    def _slots(self) -> Slots | None:
        return self.study.selection(self.selection).now if self.selection else None

    @cached_property
    def _chosen(self) -> dict[str, list[Row]]:
        """{chosen image: its rows of the selection}."""
        held: dict[str, list[Row]] = {}
        for row in self._slots.chosen if self._slots else ():
            held.setdefault(row.image, []).append(row)
        return held

    @cached_property
    def _definition(self) -> Definition:
        given = self._slots.definition if self._slots and not self._slots.points else {}
        return cast("Definition", {**_BY_DEFAULT, **given})

    @property
    def metric(self) -> str:
        """The name of the scores: a metric, or ``correct`` of classifiers."""
        return "correct" if self.classifies else self._definition["concordance"].rpartition(":")[2]

    @cached_property
    def classes(self) -> Classes:
        """The class list, with a void id."""
        classes = self.study.classes
        if classes.void or self.classifies:
            return classes
        free = next(id_ for id_ in (255, 65535, 254, 253) if id_ not in classes.ids)
        return replace(classes, void=(free,))

    @cached_property
    def rows(self) -> list[ExportedImage]:
        """What the study says about each image; prints what it cannot say."""
        disagreement = self._disagreement()
        scores = self._scores()
        slots = self._slots
        rows = []
        for image in self.images:
            held = self._chosen.get(image.id, [])
            why = why_chosen(slots, held) if slots and held else ""
            rows.append(
                ExportedImage(
                    image, bool(held), why, disagreement.get(image.id, math.nan), scores.get(image.id, {})
                )
            )
        return rows

    def each(self, what: str = "export") -> Iterator[ExportedImage]:
        """Yield each image, with progress."""
        rows = self.rows
        with progress(what, len(rows)) as tick:
            for row in rows:
                yield row
                tick(1)

    def _disagreement(self) -> dict[str, float]:
        """Return {image: disagreement} of the images whose models were compared."""
        if len(self.models) < 2:
            return {}
        ids = [image.id for image in self.images]
        if self.classifies:
            said = read_predictions(self.study, self.models, ids, top=False)
            found = Answers(self.models, said.labels).disagreement
            return dict(zip(ids, found.tolist(), strict=True))
        out = dict[str, float]()
        lacking = 0
        for images in shards(self.images).values():
            counts = MapCounts(self.models, len(self.study.classes), len(images))
            try:
                counts.take(slice(0, len(images)), read_block(self.study, images, self.models))
            except FaultscapeError:
                lacking += sum(image.shard not in self.study.corpus.aside for image in images)
                continue
            out |= dict(zip([image.id for image in images], counts.disagreement.tolist(), strict=True))
        if lacking:
            print(
                f"note: the models are not compared on {counted(lacking, 'image')}, so their disagreement is "
                f"left out; run `faultscape compare {self.study.place}`, then this line again"
            )
        return out

    def _scores(self) -> dict[str, dict[str, float]]:
        """Return {image: {model: score}} of the labelled images."""
        if not self.truth or not self.models:
            return {}
        try:
            images, values = evidence.scores(
                self.study, self.models, self.truth, self._definition, self.study.discarded
            )
        except StudyError:
            print(
                f"note: truth {self.truth} is not compared with the models, so scores are left out; run "
                f"`faultscape compare {self.study.place}`, then this line again"
            )
            return {}
        return {
            image: dict(zip(self.models, column, strict=True))
            for image, column in zip(images, values.T.tolist(), strict=True)
        }

    @cached_property
    def ranks(self) -> list[ModelRank]:
        """The models in the order of the recommended ranking; those without a rank come last."""
        try:
            standings = self.study.standings(self.selection) if self.selection else None
        except FaultscapeError:  # there are none yet
            standings = None
        usable = [(n, r) for n, r in standings.rankings.items() if not r.unusable] if standings else []
        if not usable:
            return [ModelRank(model, "", *[None] * 7) for model in self.models]
        if (made := graph.node(self.study, STANDINGS, self.selection)).state == "stale":
            print(
                f"note: the standings are out of date: {', '.join(made.why)}; run `faultscape rank` and this"
                " line again"
            )
        name, ranking = usable[0]
        best = could_be_best(ranking)
        ranges = ranking.simultaneous_rank_interval or ranking.rank_interval
        rows = []
        for place, model in enumerate(ranking.order, 1):
            low, high = ranges.get(model, [math.nan] * 2)
            score_low, score_high = ranking.score_interval.get(model, [math.nan] * 2)
            score = _known(ranking.scores[model])
            interval = (_known(score_low), _known(score_high))
            rows.append(
                ModelRank(
                    model,
                    name,
                    place,
                    _whole(low),
                    _whole(high),
                    score,
                    *interval,
                    model in best if best else None,
                )
            )
        return rows + [ModelRank(m, name, *[None] * 7) for m in self.models if m not in ranking.order]

    @cached_property
    def _labels(self) -> dict[str, StoredLabels]:
        found = {f"model {model}": StoredLabels.of_model(self.study, model) for model in self.models}
        if self.truth and self.truth in self.study.label_folders:
            found[f"truth {self.truth}"] = StoredLabels.of_truth(self.study, self.truth)
        return found

    @cached_property
    def _ids(self) -> np.ndarray:
        ids = [*self.classes.ids, self.classes.void[0]]
        return np.array(ids, np.uint8 if max(ids) < 256 else np.uint16)

    def map_of(self, model: str, image: Image) -> np.ndarray | None:
        """Return a model's map of an image, (H, W) ids; None without one."""
        return self._map(f"model {model}", image)

    def truth_of(self, image: Image) -> np.ndarray | None:
        """Return the label of an image, (H, W) ids; None without one."""
        return self._map(f"truth {self.truth}", image)

    def _map(self, whose: str, image: Image) -> np.ndarray | None:
        try:
            places = self._labels[whose].of(image) if whose in self._labels else None
        except LabelMapError as error:
            raise StudyError(
                f"{whose}, image {image.id}: {error}; restore the class, or map it with `predict --labels"
                " FILE`"
            ) from None
        if places is None:
            return None
        return self._ids[nearest(places, (image.width, image.height))]

    @cached_property
    def answers(self) -> dict[str, dict[str, tuple[int, float]]]:
        """{model: {image: (place of its class, probability)}} of classifiers; NaN where it gives none."""
        ids = [image.id for image in self.images]
        said = read_predictions(self.study, self.models, ids, top=False)
        return {
            model: {
                image: (place, sure)
                for image, place, sure in zip(
                    ids, said.labels[j].tolist(), said.probabilities[j].tolist(), strict=True
                )
                if place >= 0
            }
            for j, model in enumerate(self.models)
        }

    @cached_property
    def true_places(self) -> dict[str, list[int]]:
        """{image: places of the classes that it shows} of labelled images of a study of classifiers."""
        ids = [image.id for image in self.images]
        if not self.truth:
            return {}
        sets: Sequence[frozenset[int] | None] = [None] * len(ids)
        if self.truth in self.study.label_folders:
            sets = read_label_sets(self.study, self.truth, ids)
        found = {image: sorted(held) for image, held in zip(ids, sets, strict=True) if held is not None}
        places = {name: place for place, name in enumerate(self.study.classes.names)}
        said = evidence.true_classes(self.study, self.truth, ids)
        return {image: [places[name]] for image, name in said.items()} | found

    def about(self) -> dict[str, Any]:
        """Return what a reader needs to know about the classes and the numbers, as JSON holds it."""
        classes = self.classes
        colours = classes.colours or [None] * len(classes)
        return {
            "classes": [
                {"id": id_, "name": name, "color": list(colour) if colour else None}
                for id_, name, colour in zip(classes.ids, classes.names, colours, strict=True)
            ],
            "void": list(classes.void),
            "background": classes.background,
            "truth": self.truth,
            "selection": self.selection,
            "metric": self.metric,
            "models": list(self.models),
        }

    @property
    def first(self) -> str:
        """The folder of the labels, or without them of the first model, where each has a folder."""
        return "truth" if self.truth or not self.models else f"models/{self.models[0]}"

    @property
    def has_maps(self) -> bool:
        """Whether there is a model, or a label of any image."""
        return bool(self.models or self.truth)


def _selection_of(study: Study, asked: str, *, all_images: bool) -> str:
    """Return the selection that is meant; '' if all images are wanted and there is none."""
    known = selections.names(study.root)
    if known:
        name = selections.the_name(study.root, asked)
        if name in known or asked != selections.MAIN:
            return study.selection(name).name
        if not all_images:
            raise OptionError(
                f"the study has several selections; choose one with --selection: {', '.join(known)}"
            )
        return ""
    if asked != selections.MAIN:
        return study.selection(asked).name  # which says that there is none
    if not all_images:
        raise OptionError(
            "no images are chosen yet; add --all-images to write all, or choose some with `faultscape select "
            f"{study.place}`"
        )
    return ""


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) else None
