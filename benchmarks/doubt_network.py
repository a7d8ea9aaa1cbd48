"""A network of benchmarks/doubt.py as scores see it: frames with logits and features, and training embeddings.

Conventions: features are the input of the last layer; embeddings are drawn as `doubt` draws them. ``head`` is
the last layer, of features (n, D); ``z`` (n, D) are the embeddings whose patch has one class, and ``y`` (n,)
their channels; ``few`` is every 16th embedding, to search neighbours in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from doubt import KEPT, V2, V3
from torch import Tensor

from faultscape.corpus.photos import read_photo
from faultscape.maps.winners import enlarged
from faultscape.reading.image_truths import Judge, find_judged, with_labels
from faultscape.reading.study import Study
from faultscape.uncertainty.methods.embeddings import Embeddings, grid_of
from faultscape.uncertainty.methods.layers import penultimate
from faultscape.uncertainty.replace import last_layer, output_tensor
from faultscape.verbs.fit.open_model import open_model
from faultscape.verbs.fit.samples import draw_samples, meaning_of
from faultscape.verbs.train.labelled_images import find_labelled

FEWER = 16
SETS = {"blended v2": ("kept", V2), "blended v3": ("kept", V3), "held out": ("open", "main")}


class Frame(NamedTuple):
    """What a network sees and makes of an image, and the truth (H, W): 0 known, 1 unknown, 255 void."""

    view: np.ndarray
    logits: np.ndarray
    grid: Tensor
    truth: np.ndarray

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of scores."""
        return self.truth.shape[1], self.truth.shape[0]

    @property
    def rows(self) -> Tensor:
        """Features (n, D) of the places of the grid."""
        return self.grid[0].flatten(1).T.contiguous()

    def resized(self, logits: Tensor) -> Tensor:
        """Logits (1, C, H, W) as torch resizes them."""
        return torch.nn.functional.interpolate(logits, size=self.truth.shape, mode="bilinear")

    def at_size(self, scores: Tensor) -> np.ndarray:
        """Scores (H, W) of the scores (n,) of places."""
        return enlarged(scores.reshape(1, *self.grid.shape[2:]).float().numpy(), self.size)[0]


class Network:
    """A network, and training embeddings of its last layer's input."""

    def __init__(self, folder: Path, model: str) -> None:
        study = Study(folder / "learn")
        opened = open_model(study, model, "")
        self.folder, self.inference, self.net = folder, opened.inference, opened.inference.network
        self.layer = penultimate(self.net.module)
        weight, bias = (value.detach() for value in last_layer(self.net.module)[1].parameters())
        self.head = torch.nn.Linear(weight.shape[1], len(weight))
        self.head.load_state_dict({"weight": weight.flatten(1), "bias": bias})
        meaning = meaning_of(opened, study)
        images = find_labelled(study, None, None, "train", "set")
        drawn = draw_samples(opened, study.settings, images, meaning, [self.layer], len(images), KEPT, 0)
        self.sample, self.channels = drawn[0][self.layer], meaning.channels
        self.few = Embeddings(self.sample.values[::FEWER], self.sample.classes[::FEWER])
        channel = torch.full((len(study.classes) + 1,), -1)  # of each class; the last is none
        channel[torch.from_numpy(self.channels)] = torch.arange(len(weight))
        y = channel[self.sample.only_class]
        self.z, self.y = self.sample.values[y >= 0], y[y >= 0]

    def __call__(self, x: Tensor) -> Tensor:
        """Return logits (N, C, h, w) of what the network sees (N, 3, H, W)."""
        return output_tensor(self.net.call(x))

    def frames(self, name: str, step: int = 1) -> Iterator[Frame]:
        """Yield the frames of a set, or every ``step``-th."""
        study = Study(self.folder / SETS[name][0])
        labels = "labels" if name == "held out" else ""
        judge = Judge(study, with_labels(study, find_judged(study, study.image_rows, labels)))
        for image in [image for image in study.image_rows.values() if image.set == SETS[name][1]][::step]:
            photo = read_photo(image)[0]
            size = photo.shape[1], photo.shape[0]
            (truth,) = (view.anomaly for view in judge.views(image.id, size) if view.anomaly is not None)
            view = self.inference.prepare(photo, size).views[0]
            (answer,) = self.net.run(view[None], [self.layer])
            grid = grid_of(answer.embeddings[self.layer], view.shape[1:])
            yield Frame(view, answer.scores, grid[None], truth)
