"""Blum et al. 2021, "The Fishyscapes benchmark", top to bottom: FS Static and FS Web from a data set and
cut-outs, every method of Table 1, and the table with its guards.

Conventions: DATA is Cityscapes as distributed, VOC a PASCAL VOC tree (FS Static), OBJECTS a folder of
cut-outs with transparent backgrounds (FS Web), and models are {name: source} of networks. An edition of FS
Web uses the objects in the folder on that day; earlier editions stay. Methods are tuned on the 30 validation
frames of FS Static; the paper (Tables 4 to 9) tunes them on the validation set of FS Lost and Found
(`recipes/fs_lost_and_found.py`). The paper's base network is a DeepLabv3+ on Xception-71; ours is on
ResNet-101. Run as ``python -m faultscape.recipes.fishyscapes STUDY DATA VOC OBJECTS EDITION
[NAME=SOURCE ...]``; without models it trains its own, which takes days on one GPU.
Source: Blum et al. 2021, section 3.1, 3.3, 4.1, 4.2, Tables 1 and 3 to 9, Fig. 4, appendix B.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

import faultscape as fs
from faultscape.choices import FitMethod, LossName
from faultscape.verbs.reliability import Reliability

BASE = "base"
BACKBONE = "deeplabv3plus"
VALIDATION = "fs-static-v2-validation"  # set on which methods are tuned
# Table 1: random, softmax; and two later ones
SCORERS = ["random", "msp", "entropy", "max-logit", "energy"]
# fitted to a trained network
METHODS: list[FitMethod] = ["odin", "standardised-max-logit", "mahalanobis", "knn", "knn-class", "flow"]
LOSSES: dict[LossName, list[str]] = {
    "void-class": ["void"],
    "entropy": ["entropy"],
    "outlier-head": ["outlier", "outlier-msp"],  # 4.3: alone, and with the softmax of the segmentation
    "dirichlet": ["differential-entropy"],
}
PASTED = "outlier-head-pasted"  # 4.3: with pieces of other images, of random size, pasted in
# B.6; 100,000 embeddings of 1,000 images (B.5): all of them would take 22 GB
FLOW = fs.MethodOptions(steps=200_000, rate=1e-4)
DATA = fs.FitData()
MEMBERS = ["predictive-entropy", "expected-entropy", "mutual-information"]  # eq. 1 and 2


def base(study: str, data: str, *, train: bool = False) -> None:
    """Collect the validation set to blend objects into, and, if methods are fitted, the training set."""
    fs.collect(
        study, data, classes="cityscapes", role="test", known=fs.KnownData(layout="cityscapes", split="val")
    )
    if train:
        fs.collect(
            study, data, set_="train", role="train", known=fs.KnownData(layout="cityscapes", split="train")
        )


def static(study: str, voc: str) -> None:
    """Make FS Static (3.1): objects from PASCAL VOC, 30 validation and 1,000 test frames, fog on known pixels
    with probability 1/5.
    """
    fs.stress.blend(study, preset="fs-static", objects=voc)


def web(study: str, objects: str, edition: str, version: Literal["v2", "v3"] = "v2") -> None:
    """Make an edition of FS Web (3.1), with the steps of June 2019 (v2) or with known objects too, cut out of
    training images, as from January 2020 on (v3), and fog against methods that know the backgrounds.
    """
    fs.stress.blend(
        study,
        preset="fishyscapes-v2" if version == "v2" else "fishyscapes-v3",
        set_="main",
        objects=objects,
        edition=edition,
        blending=fs.Blending(fog=0.2),
    )


def train(
    study: str, backbone: str = BACKBONE, plan: fs.TrainingPlan | None = None, negatives: str | None = None
) -> dict[str, str]:
    """Train the base network and those in 5.1 that need their own training; return {name: source}. The
    Bayesian network has dropout in its middle (B.3); the others start from the base, a prior network except
    for its last layer (B.4). An outlier head learns from void, with a folder of other images (``negatives``)
    another one from these.
    """
    told = plan or fs.TrainingPlan()
    fs.train(study, BASE, backbone=backbone, preset="s4-bayesian", plan=told)
    fs.train(study, "bayesian", backbone=backbone, preset="s4-bayesian", dropout_at=["middle"], plan=told)
    for loss in LOSSES:
        fs.train(study, loss, init=BASE, preset="s4-bayesian", loss=loss, plan=told)
    pasted = (PASTED,) if negatives else ()
    for name in pasted:
        data = fs.TrainingData(negatives=negatives)
        fs.train(study, name, init=BASE, preset="s4-bayesian", loss="outlier-head", plan=told, data=data)
    return {name: f"{study}/models/{name}" for name in (BASE, "bayesian", *LOSSES, *pasted)}


def fit(
    study: str,
    model: str,
    validation: str | None = None,
    flow: fs.MethodOptions = FLOW,
    data: fs.FitData = DATA,
) -> list[FitMethod]:
    """Fit every method to a network and return their scorers; with a set with anomaly labels, also search for
    layer, k and epsilon (Tables 4 to 9).
    """
    for method in METHODS:
        layered = validation is not None and method in ("mahalanobis", "knn", "knn-class", "flow")
        searched = validation if layered or method == "odin" else None
        mine = flow if method == "flow" else fs.MethodOptions()
        images = fs.FitData() if method == "odin" else data
        fs.fit(
            study,
            method,
            model=model,
            validation=searched,
            select_layer=layered,
            data=images,
            method_options=mine,
        )
    return METHODS


def scorers_of(model: str, fitted: Sequence[str] = ()) -> list[str]:
    """Return the scorers of a network made by `train`; for any other network, the general ones and those of
    methods fitted to it.
    """
    own = {**LOSSES, PASTED: LOSSES["outlier-head"], "bayesian": MEMBERS}
    return own.get(model, [*SCORERS, *fitted])


def table_1(
    study: str, models: dict[str, str], ensemble: list[str] | None = None, fitted: Sequence[str] = ()
) -> Reliability:
    """Score every model and an ensemble, and write the card: table-s4 has AP, FPR95 and flags per set, errors
    has Table 3, and the guards show what cheats gain.
    """
    for name, source in models.items():
        fs.predict(study, {name: source}, scorer=scorers_of(name, fitted), measure=True)
    if ensemble:
        members = {"ensemble": f"ensemble:{','.join(ensemble)}"}
        fs.predict(study, members, scorer=["msp", "predictive-entropy", "mutual-information"], measure=True)
    return fs.reliability(study)


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if len(words) < 5 or not all("=" in word for word in words[5:]):
        sys.exit(
            "usage: python -m faultscape.recipes.fishyscapes STUDY DATA VOC OBJECTS EDITION [NAME=SOURCE ...]"
        )
    study, data, voc, objects, edition, *named = words
    base(study, data, train=True)
    static(study, voc)
    web(study, objects, edition)
    web(study, objects, edition, "v3")
    models = dict(word.split("=", 1) for word in named) or train(study)
    plain = [name for name in models if scorers_of(name) == SCORERS]
    table_1(study, {name: models[name] for name in plain})
    for name in plain:
        fit(study, name, VALIDATION)
    print(table_1(study, models, plain if len(plain) > 1 else None, METHODS))


if __name__ == "__main__":
    main(sys.argv[1:])
