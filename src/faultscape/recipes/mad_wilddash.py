"""Yan et al. 2021, section 4.4, "Further testing on WildDash": rank four models by two people's choices
between their maps, without a single mask.

Conventions: IMAGES is the unlabelled set D of urban scenes, models are {name: source}, and MASKS are the
training masks for the scale statistics. Between `until_choices` and `from_choices` two people answer in their
browsers, forced to choose, until Ctrl-C; answers are kept, and running the recipe again continues. Run as
``python -m faultscape.recipes.mad_wilddash STUDY IMAGES MASKS CLASSES NAME=SOURCE ...``.
Source: Yan et al. 2021, "Exposing semantic segmentation failures via maximum discrepancy competition", Table
5.
"""

from __future__ import annotations

import sys
from pathlib import Path

import faultscape as fs
from faultscape.nouns import Slots
from faultscape.standings import Standings


def until_choices(
    study: str,
    images: str,
    masks: str,
    classes: str,
    models: dict[str, str],
    *,
    size: str = "512x512",
    per_class: int = 1,
) -> Slots:
    """Choose the images on which the models differ most, as on PASCAL VOC: the protocol is the same (4.1)."""
    scale = str(Path(study) / "scale.json")
    fs.collect(study, images, classes=classes, size=size)  # 4.4: 4,256 images of WildDash
    fs.predict(study, models)
    fs.compare(study)
    fs.scale(masks, classes=classes, output=scale)
    return fs.select(study, maps=fs.options.MapRules(scale=scale), per_class=per_class)


def choices(study: str, *, port: int = 8760) -> None:
    """Let two people choose the better of two maps, without a tie (two-alternative forced choice), until
    Ctrl-C.
    """
    fs.label.serve(study, port=port, forced=True, campaign=fs.options.CampaignRules(overlap=2, repeats=0))


def from_choices(study: str) -> Standings:
    """Rank the models: P(f) of eq. 4 is the share of choices for f over people and images of a cell, then eq.
    3, 5 and 6 (Table 5).
    """
    standings = fs.rank(study)
    fs.report(study)
    return standings


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if len(words) < 6:
        sys.exit(
            "usage: python -m faultscape.recipes.mad_wilddash STUDY IMAGES MASKS CLASSES NAME=SOURCE"
            " NAME=SOURCE ..."
        )
    study, images, masks, classes, *rest = words
    print(repr(until_choices(study, images, masks, classes, dict(word.split("=", 1) for word in rest))))
    choices(study)
    print(repr(from_choices(study)))


if __name__ == "__main__":
    main(sys.argv[1:])
