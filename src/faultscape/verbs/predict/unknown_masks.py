"""Mask what a model does not know: its maps, void where its doubt is at least the threshold of a false-alarm
rate, as the maps of a model of their own.

Conventions: the threshold is learnt from the known pixels of the study's collected images of role validation
that have labels, as on the reliability card; the images that are masked need none. Masks are PNG files,
STUDY/masks/NAME-masked/ID.png, with the ids of the class list and its first void id (or the largest free one
up to 255). They become a model NAME-masked of the kind folder, so that every verb treats them as maps: void
is a missed pixel where the class is known, and no wrong one of another class. The threshold is recorded
beside the folder.
Source: own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.errors import ModelError, StudyError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.metrics.scorers import plain_name, rounded, scorer_named
from faultscape.metrics.scores.histogram import SIZE, places_of
from faultscape.metrics.scores.thresholds import learnt_place, lowest_score
from faultscape.reading.image_truths import Judge, View, find_judged, validation_views, with_labels
from faultscape.reading.study import Study
from faultscape.study.folder import make_folder, put
from faultscape.study.tables import label_maps, outputs
from faultscape.study.trained_images import put_record, read_record
from faultscape.verbs.options import PredictOptions
from faultscape.verbs.predict.pixel_counts import counting_of
from faultscape.verbs.predict.result import Masked

_FOLDER = "masks"


class UnknownMasks:
    """The masks of some models; StudyError or ModelError, before any model runs, for a study that lacks
    labels to learn from, or that has another model of the name.
    """

    def __init__(self, study: Study, options: PredictOptions, names: Sequence[str]) -> None:
        self._study = study
        self._options = options
        self._names = names
        self._truth = study.truth(options.truth) if options.truth or study.truths else ""
        self._views = dict(self._learn_from())
        if not self._views:
            raise StudyError(
                f"{study.place}: no image of role validation has labels to learn a threshold from; add some"
                " with `faultscape collect --role validation` and `faultscape label import`"
            )
        for name in names:
            held = study.settings.models.get(_called(name))
            # by the end of its path, since a study may have moved
            if held is not None and Path(held.source).parts[-2:] != (_FOLDER, _called(name)):
                raise ModelError(
                    f"{_called(name)} is already a model of the study, {held.source}; rename it first:"
                    f" `faultscape predict {study.place} --rename {_called(name)}=NAME`"
                )

    def write(self) -> dict[str, Masked]:
        """Write the masks of all models whose maps and doubt are stored; return how each was made."""
        self._study.reread()
        with self._study.writing():
            made = {_called(name): self._write(name) for name in self._names}
            for name in self._names:  # what trained a model trained its masks
                put_record(self._folder(name), read_record(label_maps.predictions(self._study.root, name)))
        return made

    def options_of_models(self) -> PredictOptions:
        """Return the options with which `predict` reads the masks."""
        return PredictOptions(
            study=self._options.study,
            models=({_called(name): str(self._folder(name)) for name in self._names},),
            labels=f"{self._void}=void",
            engine=self._options.engine,
            workers=self._options.workers,
        )

    def _learn_from(self) -> list[tuple[str, str]]:
        judged = find_judged(self._study, self._study.image_rows, self._truth)
        return validation_views(self._study, with_labels(self._study, judged))

    @property
    def _void(self) -> int:
        classes = self._study.classes
        free = (value for value in range(255, -1, -1) if value not in classes.ids)
        return classes.void[0] if classes.void else next(free, max(classes.ids) + 1)

    def _folder(self, name: str) -> Path:
        return (self._study.root / _FOLDER / _called(name)).resolve()

    def _write(self, name: str) -> Masked:
        """Write the masks of one model."""
        study = self._study
        (word,) = self._options.scorer
        counting = counting_of(study.settings, name, self._truth, [plain_name(word)])
        ((kind, (full, offset, channels)),) = counting.scorers.items()
        scorer = scorer_named(full)
        judge = Judge.of_truth(study, self._truth)
        known = np.zeros(SIZE, np.int64)
        images = 0
        for id_, doubt in self._doubt(name, kind):
            if id_ in self._views:
                views = judge.views(id_, (doubt.shape[1], doubt.shape[0]))
                inside = next(_known(v, len(study.classes)) for v in views if v.holdout == self._views[id_])
                places = places_of(rounded(scorer, doubt, channels, offset))[inside]
                known += np.bincount(places, minlength=SIZE)
                images += 1
        rate = self._options.scoring.mask_unknown
        assert rate is not None
        score = lowest_score(scorer, learnt_place(known, rate), channels, offset)
        if not images or np.isnan(score):
            why = "is the same in all of their pixels" if images else "was scored on none of them"
            raise StudyError(
                f"{study.place}: no threshold of {plain_name(word)} can be learnt for {name} from the"
                f" {len(self._views)} validation images with labels: it {why}"
            )
        masked = Masked(str(self._folder(name)), plain_name(word), score, rate, images)
        self._write_files(name, kind, score)
        text = json.dumps({"model": name, **vars(masked), "void": self._void}, indent=1)
        put(self._folder(name).with_suffix(".json"), f"{text}\n".encode("utf-8", "surrogateescape"))
        return masked

    def _write_files(self, name: str, kind: str, score: float) -> None:
        study = self._study
        places = narrow(table(study.classes, dict(study.settings.models[name].labels)))
        values = np.array([*study.classes.ids, self._void])
        values = values.astype(np.uint8 if values.max() < 256 else np.uint16)
        folder = self._folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        shard, maps = -1, dict[str, bytes]()
        for id_, doubt in self._doubt(name, kind):
            if study.image_rows[id_].shard != shard:
                shard = study.image_rows[id_].shard
                maps = label_maps.read_maps(label_maps.predictions(study.root, name), shard)
            if id_ in maps:
                map_ = nearest(places[runs.decode(maps[id_])], (doubt.shape[1], doubt.shape[0]))
                mask = values[np.where(doubt >= score, len(study.classes), map_)]
                path = folder / f"{id_}.png"
                make_folder(path.parent)
                put(path, cv2.imencode(".png", mask)[1].tobytes())

    def _doubt(self, name: str, kind: str) -> Iterator[tuple[str, np.ndarray]]:
        """Yield (image, doubt (H, W)) of the study's images for which it is stored."""
        root = self._study.root
        for shard in sorted({image.shard for image in self._study.image_rows.values()}):
            for id_, (doubt, *_) in outputs.read_kept(root, name, kind, shard):
                if id_ in self._study.image_rows:
                    yield id_, doubt


def _called(name: str) -> str:
    return f"{name}-masked"


def _known(view: View, classes: int) -> np.ndarray:
    """Return where the pixels of a view are known (H, W)."""
    if view.anomaly is not None:
        return view.anomaly == 0
    assert view.semantic is not None
    return view.semantic != classes
