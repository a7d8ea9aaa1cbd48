"""S4, "The Fishyscapes benchmark", top to bottom: FS Static and FS Web from a data set and cut-outs, every score without training, and Table 1 with its guards.

Conventions: DATA is Cityscapes as its site hands it out, OBJECTS a folder of cut-outs (PASCAL VOC for FS Static, images with transparent backgrounds for FS Web), models are {name: source} of networks. An edition of
FS Web is the objects that the folder holds on that day; run `web` again with another name and earlier editions stay. Methods that fit something (densities, kNN, Dirichlet) come with the next versions.
Run as ``python -m faultscape.recipes.fishyscapes STUDY DATA OBJECTS EDITION NAME=SOURCE ...``.
Source: Blum et al. 2021 (S4), 3.1, 3.3, Table 1, Fig. 4.
"""

from __future__ import annotations

import sys

import faultscape as fs
from faultscape.verbs.reliability import Reliability

SCORERS = ["random", "msp", "entropy", "max-logit", "energy"]  # Table 1: random, softmax; and two that came later


def base(study: str, data: str) -> None:
    """Collect the validation set that objects are blended into."""
    fs.collect(study, data, classes="cityscapes", role="test", known=fs.KnownData(layout="cityscapes", split="val"))


def static(study: str, voc: str) -> None:
    """Make FS Static (3.1): objects of PASCAL VOC, 30 frames of validation and 1,000 of test, fog on known pixels by a chance of a fifth."""
    fs.stress.blend(study, preset="fs-static", objects=voc)


def web(study: str, objects: str, edition: str) -> None:
    """Make an edition of FS Web (3.1), with the steps of June 2019 and fog against who knows the backgrounds."""
    fs.stress.blend(study, preset="fishyscapes-v2", objects=objects, edition=edition, blending=fs.Blending(fog=0.2))


def table_1(study: str, models: dict[str, str], ensemble: list[str] | None = None) -> Reliability:
    """Score every model and the ensemble of some, and write the card: table-s4 has AP and FPR95 a set, the guards what cheats gain."""
    fs.predict(study, models, scorer=SCORERS, measure=True)
    if ensemble:
        members = {"ensemble": f"ensemble:{','.join(ensemble)}"}
        fs.predict(study, members, scorer=["msp", "predictive-entropy", "mutual-information"], measure=True)  # eq. 1 and 2
    return fs.reliability(study)


def main(words: list[str]) -> None:
    """Run what the words of a command line ask for."""
    if len(words) < 5 or not all("=" in word for word in words[4:]):
        sys.exit("usage: python -m faultscape.recipes.fishyscapes STUDY DATA OBJECTS EDITION NAME=SOURCE ...")
    study, data, objects, edition, *named = words
    models = dict(word.split("=", 1) for word in named)
    base(study, data)
    web(study, objects, edition)
    print(table_1(study, models, list(models) if len(models) > 1 else None))


if __name__ == "__main__":
    main(sys.argv[1:])
