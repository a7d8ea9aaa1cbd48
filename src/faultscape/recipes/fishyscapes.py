"""Blum et al. 2021, "The Fishyscapes benchmark", top to bottom: FS Static and FS Web from a data set and
cut-outs, every method of Table 1, and the table with its guards.

Conventions: DATA is Cityscapes as distributed, VOC a PASCAL VOC tree (FS Static), OBJECTS a folder of
cut-outs with transparent backgrounds (FS Web), IMAGES a folder of images of other things, and models are
{name: source} of networks. An edition of FS Web uses the objects in the folder on that day; earlier editions
stay. Methods are tuned on the 30 validation frames of FS Static; the paper (Tables 4 to 9) tunes them on the
validation set of FS Lost and Found (`recipes/fs_lost_and_found.py`). Its base network is a DeepLabv3+ on
Xception-71; ours is on ResNet-101. Run as ``python -m
faultscape.recipes.fishyscapes STUDY cityscapes DATA VOC OBJECTS IMAGES EDITION [NAME=SOURCE ...]``; without
models it trains its own, which takes days on one GPU. ``STUDY camvid DATA IMAGES`` does all of it with
CamVid, small networks and drawn objects, in hours on a CPU. A line that was stopped goes on where it was.
Source: Blum et al. 2021, section 3.1, 3.3, 4.1 to 4.3, Tables 1 and 3 to 9, Fig. 4, appendix B.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import faultscape as fs
from faultscape.choices import FitMethod, LossName, TrainingPresetName
from faultscape.verbs.fit.result import FittedMethods
from faultscape.verbs.reliability import Reliability

BASE = "base"
BACKBONE = "deeplabv3plus"
VALIDATION = "fs-static-v2-validation"  # set on which methods are tuned
TAUGHT = "train-fishyscapes-v2"  # set that teaches a fusion, with drawn objects
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
FLOW = fs.options.MethodOptions(steps=200_000, rate=1e-4)
JOINED = 3  # layers of a flow ensemble, the best
JOINS: list[Literal["minimum", "logistic"]] = ["minimum", "logistic"]  # 4.2
BLOCK = fs.options.MethodOptions()  # 4.3: of resynthesis, and of the fusion
SYNBOOST = "entropy,margin,resynthesis,perceptual"  # what Di Biase et al. 2021 join
DATA = fs.options.FitData()
MEMBERS = ["predictive-entropy", "expected-entropy", "mutual-information"]  # eq. 1 and 2


def base(study: str, data: str, *, train: bool = False, layout: str = "cityscapes") -> None:
    """Collect the set to blend objects into, val of Cityscapes or test of another layout, and, if methods are
    fitted, the training set.
    """
    split = "val" if layout == "cityscapes" else "test"
    fs.collect(
        study, data, classes=layout, role="test", known=fs.options.KnownData(layout=layout, split=split)
    )
    if train:
        known = fs.options.KnownData(layout=layout, split="train")
        fs.collect(study, data, set_="train", role="train", known=known)


def static(study: str, voc: str | None, frames: int | None = None) -> None:
    """Make FS Static (3.1): objects from PASCAL VOC (or drawn ones), 30 validation and 1,000 test frames, fog
    on known pixels with probability 1/5.
    """
    fs.stress.blend(study, preset="fs-static", set_="main", objects=voc, frames=frames)


def web(study: str, objects: str | None, edition: str, version: Literal["v2", "v3"] = "v2") -> None:
    """Make an edition of FS Web (3.1), with the steps of June 2019 (v2) or with known objects too, cut out of
    training images, as from January 2020 on (v3), and fog against methods that know the backgrounds.
    """
    fs.stress.blend(
        study,
        preset="fishyscapes-v2" if version == "v2" else "fishyscapes-v3",
        set_="main",
        objects=objects,
        edition=edition,
        blending=fs.options.Blending(fog=0.2),
    )


def teaching(study: str, frames: int | None = 300) -> None:
    """Blend drawn objects into training images, to teach a fusion: SynBoost learns from such images too."""
    fs.stress.blend(study, preset="fishyscapes-v2", set_="train", frames=frames)


def train(
    study: str,
    backbone: str = BACKBONE,
    plan: fs.options.TrainingPlan | None = None,
    negatives: str | None = None,
    preset: TrainingPresetName = "s4-bayesian",
) -> dict[str, str]:
    """Train the base network and those in 5.1 that need their own training; return {name: source}. The
    Bayesian network has dropout in its middle (B.3); the others start from the base, a prior network except
    for its last layer (B.4). An outlier head learns from void, with a folder of other images (``negatives``)
    another one from these.
    """
    told = plan or fs.options.TrainingPlan()
    fs.train(study, BASE, backbone=backbone, preset=preset, plan=told)
    fs.train(study, "bayesian", backbone=backbone, preset=preset, dropout_at=["middle"], plan=told)
    for loss in LOSSES:
        fs.train(study, loss, init=BASE, preset=preset, loss=loss, plan=told)
    pasted = (PASTED,) if negatives else ()
    for name in pasted:
        data = fs.options.TrainingData(negatives=negatives)
        fs.train(study, name, init=BASE, preset=preset, loss="outlier-head", plan=told, data=data)
    return {name: f"{study}/models/{name}" for name in (BASE, "bayesian", *LOSSES, *pasted)}


def fit(
    study: str,
    model: str,
    validation: str | None = None,
    flow: fs.options.MethodOptions = FLOW,
    data: fs.options.FitData = DATA,
    block: fs.options.MethodOptions = BLOCK,
) -> list[str]:
    """Fit every method to a network and return their scorers; with a set with anomaly labels, also search for
    layer, k and epsilon (Tables 4 to 9), and join flows of the best layers. A fusion needs `teaching`.
    """
    fitted: list[str] = [*METHODS, "resynthesis", "fusion"]
    for method in METHODS:
        layered = validation is not None and method in ("mahalanobis", "knn", "knn-class", "flow")
        searched = validation if layered or method == "odin" else None
        mine = flow if method == "flow" else fs.options.MethodOptions()
        images = fs.options.FitData() if method == "odin" else data
        found = fs.fit(
            study,
            method,
            model=model,
            validation=searched,
            select_layer=layered,
            data=images,
            method_options=mine,
        )
        if method == "flow" and layered:
            assert isinstance(found, FittedMethods)
            best = [one.candidate for one in found.searches["layer"]][:JOINED]
            for join in JOINS:
                fs.fit(
                    study,
                    "flow",
                    model=model,
                    as_=f"flow-{join}",
                    layer=best,
                    validation=validation if join == "logistic" else None,
                    data=data,
                    method_options=replace(flow, join=join, epsilon=0.0),
                )
                fitted.append(f"flow-{join}")
    fs.fit(study, "resynthesis", model=model, method_options=block)
    fs.fit(study, "perceptual", model=model)
    joined = replace(block, spatial=True, parts=SYNBOOST)
    fs.fit(study, "fusion", model=model, data=fs.options.FitData(negatives=TAUGHT), method_options=joined)
    return fitted


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


def rows(
    study: str,
    models: dict[str, str],
    flow: fs.options.MethodOptions = FLOW,
    data: fs.options.FitData = DATA,
    block: fs.options.MethodOptions = BLOCK,
) -> Reliability:
    """Make every row of Table 1 of trained models: fit the methods to those with no score of their own."""
    plain = [name for name in models if scorers_of(name) == SCORERS]
    table_1(study, {name: models[name] for name in plain})
    fitted = [fit(study, name, VALIDATION, flow, data, block) for name in plain]
    return table_1(study, models, plain if len(plain) > 1 else None, fitted[0] if fitted else [])


def camvid(study: str, data: str, images: str) -> Reliability:
    """Make every row of Table 1 at the size of CamVid, on 300 frames with drawn objects."""
    base(study, data, train=True, layout="camvid")
    static(study, None, frames=300)
    teaching(study)
    models = train(study, "segformer-b0", negatives=images, preset="camvid-small")
    return rows(study, models, fs.options.MethodOptions(), fs.options.FitData(keep_embeddings=20_000))


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if words[1:2] == ["camvid"] and len(words) == 4:
        print(camvid(words[0], *words[2:]))
        return
    if words[1:2] != ["cityscapes"] or len(words) < 7 or not all("=" in word for word in words[7:]):
        sys.exit(
            "usage: python -m faultscape.recipes.fishyscapes STUDY cityscapes DATA VOC OBJECTS IMAGES EDITION"
            " [NAME=SOURCE ...], or STUDY camvid DATA IMAGES"
        )
    study, _, data, voc, objects, images, edition, *named = words
    base(study, data, train=True)
    static(study, voc)
    web(study, objects, edition)
    web(study, objects, edition, "v3")
    teaching(study)
    print(rows(study, dict(word.split("=", 1) for word in named) or train(study, negatives=images)))


if __name__ == "__main__":
    main(sys.argv[1:])
