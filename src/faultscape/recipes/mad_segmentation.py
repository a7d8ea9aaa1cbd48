"""Yan et al. 2021, "MAD for semantic segmentation", top to bottom: Algorithm 1, then Algorithm 2, as
sequences of verbs.

Conventions: IMAGES is the large unlabelled set D, models are the set F as {name: source}, and MASKS are the
training masks for the scale statistics. Between `algorithm_1_until_labels` and `algorithm_1_from_labels`
people label the exported images. Run as ``python -m faultscape.recipes.mad_segmentation STUDY IMAGES MASKS
CLASSES NAME=SOURCE ...`` and again once LABELS exist.
Source: Yan et al. 2021, "Exposing semantic segmentation failures via maximum discrepancy competition".
"""

from __future__ import annotations

import sys
from pathlib import Path

import faultscape as fs
from faultscape.nouns import Slots
from faultscape.standings import Standings


def algorithm_1_until_labels(
    study: str,
    images: str,
    masks: str,
    classes: str,
    models: dict[str, str],
    *,
    size: str = "512x512",
    per_class: int = 1,
) -> Slots:
    """Do lines 1 to 17 of Algorithm 1: predict, compare, divide by the defender's classes, filter by scale,
    choose; then export what to label.
    """
    scale = str(Path(study) / "scale.json")
    fs.collect(study, images, classes=classes, size=size)  # 4.1.1: D; inputs are resized to 512 x 512
    fs.predict(study, models)  # lines 2-4: {f_i(x) | x in D}
    fs.compare(study)  # line 8: concordances, as counts
    fs.scale(masks, classes=classes, output=scale)  # 3.1.2: T_min, T_max of each class
    slots = fs.select(
        study, maps=fs.options.MapRules(scale=scale), per_class=per_class
    )  # lines 9-13, eq. 1 and 2
    fs.label.export(study, str(Path(study) / "to-label"))  # 4.1.4: people see only the image
    return slots


def algorithm_1_from_labels(study: str, labels: str) -> Standings:
    """Run lines 18 to 20 of Algorithm 1: import the labels, compute A and R (eq. 3-5), and both rankings
    (eq. 6).
    """
    fs.label.import_(study, labels)  # line 18
    standings = fs.rank(study)  # lines 19 and 20
    fs.report(study)
    return standings


def algorithm_2(study: str, model: dict[str, str]) -> Slots:
    """Add a model to a competition by running the same verbs again, which process only its own pairs and
    cells (Algorithm 2, lines 2-13).
    """
    fs.predict(study, model)  # line 2
    fs.compare(study)  # line 4
    slots = fs.select(study)  # lines 5-12, both roles
    # line 14: only unlabelled images are exported
    fs.label.export(study, str(Path(study) / "to-label"))
    return slots


def sensitivity(study: str) -> Standings:
    """Do section 4.3: select again under FWIoU and MPA and compare the rankings with those under mIoU (Table
    4).
    """
    scale = str(Path(study) / "scale.json")
    for concordance in ("fwiou", "mpa"):
        fs.select(study, as_=concordance, maps=fs.options.MapRules(concordance=concordance, scale=scale))
    return fs.rank(study, against=["fwiou", "mpa"])


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if len(words) < 5:
        sys.exit(
            "usage: python -m faultscape.recipes.mad_segmentation STUDY IMAGES MASKS CLASSES NAME=SOURCE"
            " NAME=SOURCE ... [labels=FOLDER]"
        )
    study, images, masks, classes, *rest = words
    named = dict(word.split("=", 1) for word in rest)
    labels = named.pop("labels", None)
    print(repr(algorithm_1_until_labels(study, images, masks, classes, named)))
    if labels:
        print(repr(algorithm_1_from_labels(study, labels)))


if __name__ == "__main__":
    main(sys.argv[1:])
