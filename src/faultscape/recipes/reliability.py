"""Buchanan et al. 2022, "Reliability benchmarks for image segmentation", top to bottom: two in-distribution
sets, three shifts, three tasks, as a sequence of verbs.

Conventions: DATA is Cityscapes or ADE20K as distributed, models are {name: source} of networks. `cityscapes`
makes the columns of Table 2, `ade20k` those of Table 3, and `rows` trains the models that the rows compare:
one backbone with four heads. The paper's text and its released code differ in the corruptions, the held-out
classes, and how void counts; both are presets here (docs/explanation/errata.md). Run as ``python -m
faultscape.recipes.reliability STUDY cityscapes|ade20k DATA NAME=SOURCE ...``.
Source: Buchanan et al. 2022, Tables 1 to 3.
"""

from __future__ import annotations

import sys

import faultscape as fs
from faultscape.choices import HeadName, TrainingPresetName
from faultscape.verbs.reliability import Reliability

# the rows of Tables 2 and 3
HEADS: tuple[HeadName, ...] = ("linear", "batch-ensemble", "gp", "heteroscedastic")
SCORER = "msp"  # section 2, Evaluation Metrics: 1 - the maximum softmax probability


def cityscapes(study: str, data: str, models: dict[str, str], *, objects: str | None = None) -> Reliability:
    """Make Table 2: Cityscapes val, Cityscapes-C, and val with unknown objects blended in (the paper used the
    30 public frames of FS Static).
    """
    fs.collect(
        study,
        data,
        classes="cityscapes",
        role="test",
        known=fs.options.KnownData(layout="cityscapes", split="val"),
    )
    corrupted(study)
    fs.stress.blend(study, preset="fishyscapes-v2", objects=objects)  # Table 1: open set recognition
    return judged(study, models)


def ade20k(study: str, data: str, models: dict[str, str], *, classes: str = "s3-paper") -> Reliability:
    """Make Table 3: ADE20k-InD and its corruptions (columns InD), with three classes held out
    (ADE20k-Open).
    """
    fs.collect(
        study,
        data,
        classes="ade20k",
        role="test",
        known=fs.options.KnownData(layout="ade20k", split="validation"),
    )
    corrupted(study)
    fs.stress.holdout(study, preset=classes)
    return judged(study, models)


def rows(
    study: str,
    data: str,
    layout: str,
    backbone: str = "hf:google/vit-large-patch16-384",
    preset: TrainingPresetName = "s3-paper",
) -> dict[str, str]:
    """Train the rows: a Segmenter with each head (section 2), on the training split and without the classes
    that the study withholds.
    """
    fs.collect(
        study,
        data,
        set_="train",
        role="train",
        known=fs.options.KnownData(layout=layout, split="train" if layout == "cityscapes" else "training"),
    )
    for head in HEADS:
        fs.train(study, head, backbone=backbone, head=head, preset=preset)
    return {head: f"{study}/models/{head}" for head in HEADS}


def corrupted(study: str) -> None:
    """Make the corrupted sets: the paper does not name the corruptions; its data builder has four, its
    configurations one.
    """
    fs.stress.corrupt(study, preset="s3-data")


def judged(study: str, models: dict[str, str]) -> Reliability:
    """Predict every set with every model, and write the card; its table-s3 has the columns of the paper."""
    fs.predict(study, models, scorer=[SCORER], measure=True)
    return fs.reliability(study, preset="s3-code")


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    recipes = {"cityscapes": cityscapes, "ade20k": ade20k}
    if len(words) < 4 or words[1] not in recipes or not all("=" in word for word in words[3:]):
        sys.exit(
            "usage: python -m faultscape.recipes.reliability STUDY cityscapes|ade20k DATA NAME=SOURCE ..."
        )
    study, which, data, *named = words
    print(recipes[which](study, data, dict(word.split("=", 1) for word in named)))


if __name__ == "__main__":
    main(sys.argv[1:])
