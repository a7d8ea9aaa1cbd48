"""Why likelihoods miss withheld classes: what features of the layer that `flow` taps say of them, in the
studies of benchmarks/doubt.py.

    python benchmarks/doubt_layer.py FOLDER [--model segformer-b0-linear-0]

Conventions: every method has the embeddings of `doubt`, of the same layer. Average precision is over every
seventh pixel of every second image of the study in which classes are withheld; lengths are means over the
pixels of a class.
Source: S4 4.1 and 4.2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from doubt import KEPT
from sklearn.metrics import average_precision_score
from torch import Tensor

import faultscape as fs
from faultscape.corpus.photos import read_photo
from faultscape.maps.winners import enlarged
from faultscape.prediction.doubt_methods import built
from faultscape.prediction.inference import Inference
from faultscape.reading.image_truths import Judge, find_judged, with_labels
from faultscape.reading.study import Study
from faultscape.uncertainty.methods.method import Fitted
from faultscape.verbs.fit.open_model import open_model

TRUTH, IMAGES, PIXELS = "labels", 2, 7  # every second image, every seventh pixel


class Length:
    """The length of features, as if it were a method."""

    epsilon = 0.0

    def __init__(self, layers: Sequence[str]) -> None:
        self.layers = tuple(layers)

    def values(self, features: Sequence[Tensor], logits: Tensor) -> tuple[Tensor, ...]:
        """Return the lengths (N, 1, h, w) of features (N, D, h, w)."""
        del logits
        return (features[0].float().norm(dim=1, keepdim=True),)

    def score(self, values: Sequence[np.ndarray], size: tuple[int, int]) -> np.ndarray:
        """Return the lengths at a size."""
        return np.array(enlarged(values[0], size)[0])

    def tensors(self) -> dict[str, Tensor]:
        """Return nothing: it learnt nothing."""
        return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="segformer-b0-linear-0")
    given = parser.parse_args()
    learn, judged_by, name = given.folder / "learn", given.folder / "open", given.model
    place = learn / "methods" / name
    methods: dict[str, Fitted] = {"flow": built(place / "flow.safetensors")}
    layers = list(methods["flow"].layers)
    for kind in ("mahalanobis", "knn"):
        fs.fit(
            str(learn),
            kind,
            model=name,
            layer=layers,
            as_=f"{kind}-at-flow",
            data=fs.options.FitData(keep_embeddings=KEPT),
        )
        methods[kind] = built(place / f"{kind}-at-flow.safetensors")
        (place / f"{kind}-at-flow.safetensors").unlink()  # is no method of the benchmark
    methods["length"] = Length(layers)

    study = Study(judged_by)
    images = study.image_rows
    judge = Judge(study, with_labels(study, find_judged(study, images, TRUTH)))
    opened = open_model(study, name, "").inference
    network, names = Inference(opened.network, opened.way, methods=methods), study.classes.names
    scores: dict[str, list[np.ndarray]] = {called: [] for called in methods}
    truths, classes = [], []
    for image in [image for image in images.values() if not image.parent][::IMAGES]:
        photo = read_photo(image)[0]
        size = photo.shape[1], photo.shape[0]
        (answer,) = network.run([network.prepare(photo, size)])
        assert not isinstance(answer, str)
        plain, withheld = sorted(judge.views(image.id, size), key=lambda view: view.holdout)
        assert plain.semantic is not None
        assert withheld.anomaly is not None
        truths.append(withheld.anomaly.ravel()[::PIXELS])
        classes.append(plain.semantic.ravel()[::PIXELS])
        for called, method in methods.items():
            scores[called].append(method.score(answer.values[called], size).ravel()[::PIXELS])
    truth, place_of = np.concatenate(truths), np.concatenate(classes)
    known = truth < 2
    print(f"| at {layers[0]} | AP of withheld classes |\n|---|---|\n| chance | {truth[known].mean():.3f} |")
    for called, parts in scores.items():
        print(f"| {called} | {average_precision_score(truth[known], np.concatenate(parts)[known]):.3f} |")
    length, score = np.concatenate(scores["length"]), np.concatenate(scores["flow"])
    print("\n| class | withheld | length | flow |\n|---|---|---|---|")
    for number in sorted(set(place_of) - {len(names)}, key=lambda one: length[place_of == one].mean()):
        here = place_of == number
        withheld = "yes" if (truth[here] == 1).all() else ""
        spread = f"{length[here].mean():.1f} ± {length[here].std():.1f}"
        print(
            f"| {names[number]} | {withheld} | {spread} | {score[here].mean():.2f} ±"
            f" {score[here].std():.2f} |"
        )


if __name__ == "__main__":
    main()
