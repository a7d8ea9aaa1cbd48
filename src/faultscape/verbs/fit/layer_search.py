"""Search for the layers and option values that detect unknown objects best on a validation set (Blum et al.
2021, Tables 4 to 9).

Conventions: candidates are judged by the average precision over all pixels, at the working size, on images
with anomaly labels. Classes that the study withholds are never used in a search, because the study evaluates
on them: their pixels are void (`reading.image_truths`). A method chosen in this way has seen unknown objects
(flag ``tuned-with-ood``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultscape.errors import ModelError, StudyError, counted
from faultscape.metrics.scorers import offset_of, rounded, scorer_named
from faultscape.metrics.scores.histogram import Histogram16, detection_from_histogram, histogram16
from faultscape.prediction.inference import Inference
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import Image
from faultscape.uncertainty.methods.method import Fitted
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.result import Tried
from faultscape.verbs.train.anomalous_images import AnomalousImages, note_of_tested


class SearchImages(AnomalousImages):
    """Images of a set with anomaly labels, for a search."""

    def __init__(self, study: Study, name: str, truth: str | None = None) -> None:
        purpose = (
            "a search needs; blend objects into validation images (`faultscape stress blend`), or collect a"
            " data set with such labels. Classes withheld by a holdout cannot be used: the study is judged"
            " by them"
        )
        super().__init__(
            study,
            name,
            truth,
            option="validation",
            purpose=purpose,
            use="in a search",
            what="validation image",
        )
        if note := note_of_tested(self, "to search with"):
            print(note)
        self._settings = study.settings

    def judge(self, model: OpenedModel, method: str, candidates: Mapping[str, Fitted]) -> list[Tried]:
        """Return how well each candidate of a method detects the anomalies, the best first, without
        candidates that give NaN or infinity.
        """
        inference = Inference(model.inference.network, model.inference.way, methods=candidates)
        scorer = scorer_named(method)
        channels = model.inference.network.channels or len(self._settings.class_list)
        found: dict[str, tuple[float, Histogram16]] = {}
        lost: set[str] = set()
        with progress("search", len(self.images)) as tick:
            for image in self.images:
                scores = self._scores(inference, image)
                if not scores:
                    continue
                anomaly = self._anomaly(image, scores)
                for name in [
                    name
                    for name, score in scores.items()
                    if name not in lost and not np.isfinite(score).all()
                ]:
                    print(f"note: {name} is left out: it gave NaN or infinity for {image.id}")
                    lost.add(name)
                for name, score in scores.items():
                    if name in lost:
                        continue
                    offset = found[name][0] if name in found else offset_of(scorer, [score])
                    counts = histogram16(rounded(scorer, score, channels, offset), anomaly, where=image.id)
                    found[name] = (offset, found[name][1] + counts if name in found else counts)
                tick(1)
        self.unread.tell()
        tried = []
        for name, (_, histogram) in found.items():
            if name not in lost:
                said = detection_from_histogram(histogram)
                tried.append(Tried(name, said.average_precision, said.fpr95))
        if lost and not tried:
            raise ModelError(
                f"method {method}: every candidate gave NaN or infinity for an image to search with; choose"
                " another layer"
            )
        if not tried or np.isnan(tried[0].average_precision):
            raise StudyError(
                f"the {counted(len(self.images), 'image')} to search with have no anomalous pixel"
            )
        # ties keep the order of trial
        return sorted(tried, key=lambda one: -one.average_precision)

    def pixels(
        self, model: OpenedModel, methods: Mapping[str, Fitted], most: int = 2000
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (n, methods) of up to ``most`` anomalous pixels of each image and as many others,
        spread evenly, and (n,), which are anomalous.
        """
        inference = Inference(model.inference.network, model.inference.way, methods=methods)
        rows = []
        anomalous = []
        for image in self.images:
            scores = self._scores(inference, image)
            if not scores:
                continue
            stacked = np.stack([score.ravel() for score in scores.values()], axis=1)
            truth = self._anomaly(image, scores)
            for value in (0, 1):
                at = np.flatnonzero(truth.ravel() == value)
                at = at[np.linspace(0, len(at) - 1, min(most, len(at))).astype(int)] if len(at) else at
                rows.append(stacked[at])
                anomalous.append(np.full(len(at), bool(value)))
        self.unread.tell()
        return np.concatenate(rows), np.concatenate(anomalous)

    def _scores(self, inference: Inference, image: Image) -> dict[str, np.ndarray]:
        """Return the score (H, W) of an image by each method of a network; {} if the image cannot be read."""
        if (photo := self.unread.read(image)) is None:
            return {}
        size = self._settings.working_size or (photo.shape[1], photo.shape[0])
        (answer,) = inference.run([inference.prepare(photo, size)])
        if isinstance(answer, str):
            raise ModelError(f"{image.id}: {answer}")
        return {name: method.score(answer.values[name], size) for name, method in inference.methods.items()}

    def _anomaly(self, image: Image, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the anomaly labels (H, W) of an image, at the size of its scores."""
        height, width = next(iter(scores.values())).shape
        return self.view(image, (width, height))[0]
