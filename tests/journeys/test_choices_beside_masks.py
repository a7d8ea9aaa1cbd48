"""Masks and choices of images drawn at random: what people are asked, one ranking of both, and what a plan says
that each was worth.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError, RankingError
from faultscape.reading.choices import digests
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.study.answers.choices import Choice, Choices
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.options import CampaignRules
from faultscape.verbs.serve.result_facts import results
from refusals import refused

MASKS, DRAWN = 20, 70


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, made.Corpus, list[str]]:
    """Three models that err alike, seventy images drawn at random, the first twenty with masks."""
    folder = tmp_path_factory.mktemp("beside")
    corpus = made.corpus(folder / "corpus", images=80, models=1)
    rng = np.random.default_rng(4)
    for name in ("model-1", "model-2"):
        corpus.models[name] = corpus.models["model-0"].parent / name
        corpus.maps[name] = np.stack([made.disturbed(rng, truth, 2) for truth in corpus.truths])
        for image, label_map in zip(corpus.ids, corpus.maps[name], strict=True):
            (corpus.models[name] / image).parent.mkdir(parents=True, exist_ok=True)
            made.write(corpus.models[name] / f"{image}.png", label_map)
    study = made.collected(corpus, folder / "study", shard_size=64)
    fs.predict(str(study), {name: str(path) for name, path in corpus.models.items()}, engine="local")
    fs.compare(str(study), engine="local")
    images = list(fs.select(str(study), selector="random", budget=DRAWN, engine="local").images)
    for image in images[:MASKS]:
        (folder / "labels" / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", folder / "labels" / f"{image}.png")
    fs.label.import_(str(study), str(folder / "labels"))
    return study, corpus, images


@pytest.fixture
def study(world: tuple[Path, made.Corpus, list[str]], tmp_path: Path) -> str:
    shutil.copytree(world[0], tmp_path / "study")
    return str(tmp_path / "study")


def choose(study: str, corpus: made.Corpus, images: Sequence[str], who: str = "ann") -> int:
    """Choose the better map between every two models, by the mIoU of the image."""
    shown = digests(Study(Path(study)), corpus.models, images)
    rows = []
    for image, (a, b) in (
        (image, pair) for image in images for pair in combinations(sorted(corpus.models), 2)
    ):
        k = corpus.ids.index(image)
        right = [fs.metrics.miou(corpus.truths[k], corpus.maps[model][k], classes=5) for model in (a, b)]
        chosen = "first" if right[0] > right[1] else "second" if right[0] < right[1] else "both good"
        rows.append(Choice(image, a, b, chosen, who, shown[a, image], shown[b, image], seconds=2.5))
    return Choices(Path(study)).add_all(rows, "test")


def told(found: Standings) -> list[str]:
    return [note for note in found.notes if "beside masks" in note]


def test_choices_make_masks_worth_more(study: str, world: tuple[Path, made.Corpus, list[str]]) -> None:
    _, corpus, images = world
    alone = fs.rank(study, selection="random", resamples=100)
    assert "with_choices" not in alone.rankings
    assert not told(alone)
    number = choose(study, corpus, images)
    assert number == 3 * DRAWN
    found = fs.rank(study, selection="random", resamples=100)
    both, masks = (found.rankings[name] for name in ("with_choices", "prediction_powered"))
    assert next(iter(found.rankings)) == "with_choices"
    assert found.labels["choices"] == number
    assert f"from {MASKS} labelled images and {number} choices between two models" in repr(found)
    assert masks.scores == pytest.approx(alone.rankings["prediction_powered"].scores)
    # the level of all models is that of the masks; their differences are sharper
    assert np.mean([*both.scores.values()]) == pytest.approx(np.mean([*masks.scores.values()]))
    narrow, wide = (np.mean([np.ptp(gap.interval) for gap in of.gaps]) for of in (both, masks))
    assert narrow < 0.95 * wide
    assert (both.effective_labels or 0) > (masks.effective_labels or 0) > 0
    (note,) = told(found)
    worth = round(both.effective_labels or 0)
    assert note == (
        f"{number} choices between two models count beside masks, on {DRAWN} images, {MASKS} of them with a"
        f" mask: they make {MASKS} masks worth {worth} where models are compared"
    )
    assert note in found.notes[found.details :]  # printed without -v
    assert not any("change nothing yet" in note for note in found.notes)
    future = fs.rank(study, selection="random", resamples=100, population="future")
    assert next(iter(future.rankings)) == "with_choices"
    assert future.rankings["with_choices"].speaks_of == "future"


def test_choices_that_cannot_count_are_told(study: str, world: tuple[Path, made.Corpus, list[str]]) -> None:
    _, corpus, images = world
    choose(study, corpus, images[MASKS:])
    found = fs.rank(study, selection="random", resamples=0)
    assert "with_choices" not in found.rankings
    (note,) = told(found)
    assert note.startswith(f"{3 * (DRAWN - MASKS)} choices between two models do not count beside masks")
    assert "`faultscape label serve` asks in the order of the draws" in note
    fs.label.remove(study, *images[:MASKS])
    with refused(RankingError, "what people chose counts beside masks: label 10 of them"):
        fs.rank(study, selection="random", resamples=0)


def test_looks_at_any_time_count_no_choices(study: str, world: tuple[Path, made.Corpus, list[str]]) -> None:
    _, corpus, images = world
    choose(study, corpus, images)
    looked = fs.rank(study, selection="random", resamples=0, looks=fs.options.Looks(anytime=True))
    (note,) = told(looked)
    assert note.startswith(
        "choices between two models do not count beside masks where one may look at any time"
    )


def test_people_choose_on_drawn_images_in_their_order(
    study: str, world: tuple[Path, made.Corpus, list[str]]
) -> None:
    _, corpus, images = world
    options = LabelServeOptions(study=study, selection="random")
    campaign = Campaign(Study(Path(study)), options)
    asked = [(one.image, one.first, one.second) for one in campaign.choices_asked]
    pairs = [*combinations(("model-0", "model-1", "model-2"), 2)]
    assert asked == [(image, *pair) for image in images for pair in pairs]
    assert campaign.rules.overlap == 1
    assert campaign.items_for("ann", [], 1)[0].item.image == images[0]
    # once there are standings, about those that they leave open
    found = next(iter(fs.rank(study, selection="random", resamples=200).rankings.values()))
    open_ = [{gap.model, gap.other} for gap in found.gaps if not gap.settled]
    again = Campaign(Study(Path(study)), options)
    of_first = [{one.first, one.second} for one in again.choices_asked if one.image == images[0]]
    assert of_first == [{*pair} for pair in pairwise(found.order) if {*pair} in open_]
    assert 0 < len(of_first) < 3
    # all that people chose on drawn images is counted, whatever is asked now
    number = choose(study, corpus, images)
    shown = results(again.study(), again)
    assert (shown.answers, shown.people, shown.anytime) == (number, 1, True)
    assert shown.forecasts.rows == []  # choices alone settle no order of drawn images
    with refused(OptionError, "--adaptive is for duels, and selection 'random' is of images drawn for all"):
        Campaign(
            Study(Path(study)),
            LabelServeOptions(study=study, selection="random", campaign=CampaignRules(adaptive=True)),
        )


def test_a_plan_names_the_cheapest_answers_and_what_those_so_far_were_worth(
    study: str, world: tuple[Path, made.Corpus, list[str]]
) -> None:
    _, corpus, images = world
    before = fs.plan(study, cost={"mask": 1500}, engine="local")
    assert before.mix is not None
    assert before.mix["explained"] is None
    assert [row["kind"] for row in before.mix["worth"]] == ["mask"]
    choose(study, corpus, images)
    found = fs.plan(study, cost={"mask": 1500, "choice": 6}, engine="local")
    mix = json.loads((Path(study) / "plan.json").read_text())["mix"]
    assert mix["pairs"] == (found.mix or {}).get("pairs")
    assert 0.1 < mix["explained"] < 1
    masks, choices = mix["worth"]
    assert (masks["answers"], masks["hours"]) == (MASKS, pytest.approx(MASKS * 1500 / 3600))
    assert (choices["answers"], choices["hours"]) == (3 * DRAWN, pytest.approx(3 * DRAWN * 6 / 3600))
    assert choices["masks"] > MASKS
    assert choices["half_width"] < masks["half_width"]
    for row in mix["rows"]:
        hours = {
            key: row[f"{name}_hours"]
            for key, name in (("points", "point"), ("masks", "mask"), ("mix", "mix"))
        }
        assert row["cheapest"] == min((k for k in hours if hours[k] is not None), key=lambda k: hours[k])
        assert row["mix_hours"] is None or row["mix_hours"] < row["mask_hours"]
    words = " ".join(repr(found).split())
    assert "The cheapest answers points alone masks alone masks and choices cheapest" in words
    assert f"So far {MASKS} masks (8.3 h) tell how far two models are apart to" in words
    assert "a minute of choices saved" in words
    assert "which are never added up" in words
