"""Which plan and which network a line of train asks for, before anything is trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import OptionError
from faultscape.uncertainty.training.presets import preset_named
from faultscape.verbs.options import TrainOptions
from faultscape.verbs.train.options import head_options
from refusals import refused

CITYSCAPES = 2975  # images


def plan_of(preset: str, images: int = CITYSCAPES, classes: int = 19, **words):
    from faultscape.verbs.train.network import _plan

    told = TrainOptions(study="study", name="net", preset=preset, **words)
    return _plan(told, preset_named(preset), classes, images)


def test_a_head_that_starts_from_a_network_takes_a_fifth_of_the_steps_of_camvid_small() -> None:
    steps = [
        plan_of("camvid-small", **words).all_steps(305)
        for words in ({}, {"head": "gp", "init": "plain"}, {"head": "gp", "from_scratch": True})
    ]
    assert steps == [600, 120, 600]
    assert plan_of("camvid-small", init="plain", plan=fs.options.TrainingPlan(steps=7)).all_steps(305) == 7
    assert plan_of("camvid-small", init="plain", plan=fs.options.TrainingPlan(epochs=2)).all_steps(
        305
    ) == 2 * (305 // 8)


@pytest.mark.parametrize("init", [None, "plain"])
def test_the_epochs_of_s3_are_those_of_the_batch_that_a_line_asks_for(init: str | None) -> None:
    assert plan_of("s3-paper", init=init).all_steps(CITYSCAPES) == 100 * (CITYSCAPES // 64)
    assert plan_of("s3-paper", init=init, plan=fs.options.TrainingPlan(batch=8)).all_steps(
        CITYSCAPES
    ) == 100 * (CITYSCAPES // 8)


def test_the_code_of_s3_trains_batch_ensembles_on_ade20k_for_half_of_the_epochs() -> None:
    epochs = [
        plan_of("s3-code", classes=classes, head=head).epochs
        for classes in (19, 150)
        for head in ("batch-ensemble", "gp")
    ]
    assert epochs == [100, 100, 50, 100]


def wanted(tmp_path: Path, **words):
    from transformers import ViTConfig, ViTModel

    from faultscape.study.settings import read_settings
    from faultscape.study.tables.stress_sets import read_stress
    from faultscape.verbs.train.network import want
    from faultscape.verbs.train.withheld import find_withheld
    from made_training import make_study

    if not (tmp_path / "vit").exists():
        make_study(tmp_path)
        small = ViTConfig(
            hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=48, image_size=64
        )
        ViTModel(small, add_pooling_layer=False).save_pretrained(tmp_path / "vit")
        (tmp_path / "net.py").write_text((tmp_path / "net.py").read_text())
    root = tmp_path / "study"
    withheld = find_withheld(read_stress(root), read_settings(root).class_list, None)
    told = TrainOptions(study=root, name="net", **{"backbone": str(tmp_path / "vit"), **words})
    return want(root, told, withheld, 8)


def test_a_preset_of_s3_says_what_it_brings_and_what_it_cannot(tmp_path: Path) -> None:
    ensemble = wanted(tmp_path, preset="s3-code", head="batch-ensemble")
    assert (ensemble.description.member_blocks, ensemble.notes) == (2, ())
    assert (ensemble.description.window, ensemble.description.stride) == (768, 512)
    assert (ensemble.description.mean, ensemble.description.std) == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert wanted(tmp_path, preset="s3-paper", head="batch-ensemble").description.member_blocks == 0
    for blocks in (0, 1):
        options = {"member_blocks": blocks}
        asked = wanted(tmp_path, preset="s3-code", head="batch-ensemble", head_options=options)
        assert asked.description.member_blocks == blocks
    (note,) = wanted(tmp_path, preset="s3-code", head="gp").notes
    assert note.startswith(
        "note: --preset s3-code: the variance of random features that are not scaled is half their number"
    )
    assert wanted(tmp_path, preset="s3-code", head="gp", head_options={"scaled": True}).notes == ()
    own = f"{tmp_path / 'net.py'}:net"
    (note,) = wanted(tmp_path, preset="s3-code", head="batch-ensemble", backbone=own).notes
    assert (
        note == "note: net.py:net is not a Segmenter, so --preset s3-code puts fast weights in the head only"
    )


def of_head(head: str, given: object) -> dict[str, object]:
    return head_options(TrainOptions(study="study", name="net", head=head, head_options=given))


def test_options_of_heads_are_the_same_from_words_and_from_a_mapping() -> None:
    words = ["features=16", "mean-field=2", "scaled=False", "wide_start=true"]
    given = {"features": np.int64(16), "mean_field": 2, "scaled": False, "wide-start": True}
    found = of_head("gp", words)
    assert (
        found
        == of_head("gp", given)
        == {"features": 16, "mean_field": 2, "scaled": False, "wide_start": True}
    )
    assert list(map(type, found.values())) == list(map(type, of_head("gp", given).values()))
    assert of_head("batch-ensemble", "fast-start=signs") == {"fast_start": "signs"}
    assert of_head("linear", None) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("featurs=3", r"head gp has no option 'featurs'; it has features, .* Did you mean 'features'\?"),
        ({"members": 3}, "head gp has no option 'members'; it has features, ridge, "),
        ("ridge=a", "--head-option ridge must be a number; got 'a'"),
        ("features=2.5", "--head-option features must be a whole number; got '2.5'"),
        ({"features": 2.5}, "head gp: features is a whole number, 1 or more; got 2.5"),
        ("scaled=maybe", "--head-option scaled must be true or false; got 'maybe'"),
        ("ridge", "--head-option 'ridge' is not NAME=VALUE, for example members=3"),
        (["ridge=2", "ridge=3"], "--head-option ridge is given twice; leave one out"),
        ({"ridge": ""}, "--head-option is empty; give a value, or remove it"),
        (5, r"head_options must be NAME=VALUE, \{NAME: value\}, or a list of NAME=VALUE; got 5"),
    ],
)
def test_options_that_a_head_does_not_take_are_refused_in_one_line(given: object, says: str) -> None:
    with refused(OptionError, says):
        of_head("gp", given)
