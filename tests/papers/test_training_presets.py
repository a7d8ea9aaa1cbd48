"""The numbers that S3 and its code print of how networks are trained, beside those of the presets and of the
page that documents them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faultscape.uncertainty.catalogue import HEADS, head_named
from faultscape.uncertainty.training.presets import preset_named

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "heads.md").read_text(encoding="utf-8")


def documented(column: str) -> dict[str, str]:
    """The rows of the documented table of presets, of one column."""
    part = PAGE.partition("<!-- TRAINING -->\n\n")[2].partition("\n\n")[0].splitlines()
    head = [cell.strip() for cell in part[0].strip("|").split("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part[2:]]
    return {row[0]: row[head.index(column)] for row in rows}


# S3 2: 100 epochs, Adam, polynomial; Cityscapes 1e-4, ADE20K 3e-5. Its code: batch 64 at 768, 32 at 640,
# gradient norm 1, dropout .1, pixels / 255, window 768 and stride 512, three members.
@pytest.mark.parametrize(
    ("preset", "many", "expected"),
    [
        (
            "s3-paper",
            False,
            {
                "epochs": "100",
                "rate": "0.0001",
                "batch": "64",
                "crop": "768 x 768",
                "schedule": "polynomial, power 0.9",
                "warm-up, epochs": "0",
                "encoder blocks with fast weights": "0",
            },
        ),
        (
            "s3-paper",
            True,
            {
                "epochs": "100",
                "rate": "3e-05",
                "batch": "32",
                "crop": "640 x 640",
                "schedule": "polynomial, power 0.9",
            },
        ),
        (
            "s3-code",
            False,
            {
                "epochs": "100",
                "rate": "0.0001",
                "batch": "64",
                "crop": "768 x 768",
                "schedule": "cosine",
                "warm-up, epochs": "1",
                "epochs of some heads": "",
                "encoder blocks with fast weights": "2",
            },
        ),
        (
            "s3-code",
            True,
            {
                "rate": "3e-05",
                "batch": "32",
                "crop": "640 x 640",
                "schedule": "cosine",
                "warm-up, epochs": "1",
                "epochs of some heads": "`batch-ensemble` 50",
            },
        ),
    ],
)
def test_presets_have_the_numbers_of_the_paper_and_of_its_code(
    preset: str, many: bool, expected: dict[str, str]
) -> None:
    held = documented(f"`{preset}`{', 100 classes or more' if many else ''}")
    both = {
        "optimiser": "adam",
        "gradient norm": "1",
        "dropout": "0.1",
        "pixels": "divided by 255",
        "window / stride at prediction time": "768 / 512",
        "fast weights' rate": "x 2",
    }
    assert {name: held[name] for name in {**both, **expected}} == {**both, **expected}
    for head, words in {
        "batch-ensemble": "`members` 3, `fast_start` normal, `spread` 0.5",
        "gp": "`features` 1024, `ridge` 1, `mean_field` 1, `normalised` on, `scaled` off, `momentum` 0.99"
        + ", `wide_start` on" * (preset == "s3-code"),
        # the network of ADE20K that the code evaluates has twice the factors and the temperature
        "heteroscedastic": (
            "`factors` 10, `samples` 1000, `temperature` 2, "
            if many and preset == "s3-code"
            else "`factors` 5, `samples` 1000, `temperature` 1, "
        )
        + ("`shared_noise` on, `wide_start` on" if preset == "s3-code" else "`shared_noise` off"),
    }.items():
        assert held[f"`{head}`"] == words


def test_presets_say_what_heads_can_be_told_and_the_plan_is_the_documented_one() -> None:
    for name in ("s3-paper", "s3-code", "camvid-small"):
        preset = preset_named(name)
        for head, told in preset.heads.items():
            head_named(head).check(told)
        assert preset.plan_for(19) == preset.plan
        assert preset.plan_for(150) == preset.many
        assert preset.plan_for(150, "batch-ensemble").epochs == (
            50 if name == "s3-code" else preset.many.epochs
        )
        for plan in (preset.plan, preset.many):
            plan.check()


def test_sweeps_of_the_paper_are_named_with_their_heads() -> None:
    swept = {head.name: dict(head.sweeps) for head in HEADS if head.sweeps}
    assert swept["gp"] == {"mean_field": "1 to 9", "feature_scale": "1, 2", "normalised": "on, off"}
    assert swept["heteroscedastic"] == {
        "temperature": ".15 to 2",
        "factors": "5 to 9 (ADE20K: 5 to 50)",
        "efficient": "on, off",
    }
    assert all(name in head.options for head in HEADS for name in head.sweeps)


def test_steps_of_the_paper_on_cityscapes() -> None:
    """2,975 images in batches of 64 are 46 steps an epoch, and 4,600 in all; ADE20K's 20,210 in batches of 32
    are 631.
    """
    paper = preset_named("s3-paper")
    assert paper.plan.all_steps(2975) == 4600
    assert paper.many.all_steps(20210) == 63100
