"""Questions about models in memory: the same answers, to the last digit, as the verbs give on a study of the same
images and maps in files; and what is refused, in one line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import golden
import made
import made_answers
from faultscape.errors import (
    ClassesError,
    FaultscapeError,
    LabellingError,
    LabelMapError,
    ModelError,
    OptionError,
    SelectionError,
)
from refusals import refused

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 3, (30, 6, 6)).repeat(4, 1).repeat(4, 2)
MAPS = {
    name: np.where(RNG.random(TRUTH.shape) < wrong, RNG.integers(0, 3, TRUTH.shape), TRUTH)
    for name, wrong in {"unet": 0.1, "fcn": 0.4}.items()
}


@pytest.fixture
def world(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study, and what it was made of."""
    return golden.copied("made and compared", made.compared, tmp_path / golden.STUDY)


def images_of(corpus: made.Corpus) -> dict[str, Any]:
    """The photos by id, which are paths, so that both studies have the same digests."""
    return {id_: corpus.photos / f"{id_}.png" for id_ in corpus.ids}


def maps_of(corpus: made.Corpus) -> dict[str, dict[str, np.ndarray]]:
    return {name: dict(zip(corpus.ids, maps, strict=True)) for name, maps in corpus.maps.items()}


def labelled(study: str, corpus: made.Corpus, selection: str, tmp_path: Path) -> tuple[str, ...]:
    """Label all chosen images of a selection by files, and return them."""
    folder = tmp_path / "drawn"
    images = fs.Study(study).selection(selection).now.images
    for id_ in images:
        made.write(folder / f"{id_}.png", corpus.truths[corpus.ids.index(id_)])
    fs.label.import_(study, folder)
    return images


def numbers(ranked: Any) -> dict[str, Any]:
    """All that standings and their verdict say, without where the study is."""
    verdict = replace(ranked.verdict, next="", hours=None)
    return {
        "models": ranked.models,
        "labels": ranked.labels,
        "matrices": ranked.matrices,
        "rankings": ranked.rankings,
        "definitions": ranked.definitions,
        "to_come": ranked.to_come,
        "failing": ranked.failing,
        "stability": ranked.stability,
        "details": ranked.details,
        "verdict": verdict,
    }


def same(one: Any, other: Any) -> None:
    """Equal to the last digit; NaN is NaN."""
    assert repr(numbers(one)) == repr(numbers(other))


@pytest.mark.slow
def test_which_is_better_says_what_a_study_says(world: tuple[str, made.Corpus], tmp_path: Path) -> None:
    study, corpus = world
    fs.select(study, goal="order", budget=12, seed=4, engine="local")
    chosen = labelled(study, corpus, "order", tmp_path)
    expected = fs.rank(study, selection="order", seed=4, engine="local")
    asked = []

    def label(image: str) -> np.ndarray:
        asked.append(image)
        return corpus.truths[corpus.ids.index(image)]

    found = fs.which_is_better(
        maps_of(corpus),
        label=label,
        images=images_of(corpus),
        classes=str(corpus.classes),
        budget=12,
        seed=4,
    )
    same(found, expected)
    assert found.labelled == tuple(asked) == chosen
    assert str(tmp_path) not in repr(found)
    assert "faultscape-" not in repr(found)
    assert "faultscape-" not in found.full_text()


@pytest.mark.slow
def test_the_best_is_found_in_the_rounds_of_a_study(world: tuple[str, made.Corpus], tmp_path: Path) -> None:
    study, corpus = world
    fs.select(study, goal="best", budget=10, engine="local")
    labelled(study, corpus, "best", tmp_path)
    fs.select(study, as_="best", more=7, engine="local")
    chosen = labelled(study, corpus, "best", tmp_path)
    expected = fs.rank(study, selection="best", engine="local")
    truth = dict(zip(corpus.ids, corpus.truths, strict=True))
    found = fs.which_is_better(
        maps_of(corpus),
        label=truth,
        images=images_of(corpus),
        classes=str(corpus.classes),
        budget=17,
        goal="best",
    )
    same(found, expected)
    assert found.labelled == chosen


@pytest.mark.slow
def test_where_they_fail_chooses_and_ranks_as_a_study_does(
    world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    study, corpus = world
    slots = fs.select(study, per_class=2, engine="local")
    chosen = labelled(study, corpus, "main", tmp_path)
    expected = fs.rank(study, engine="local")
    found = fs.where_they_fail(
        maps_of(corpus),
        label=dict(zip(corpus.ids, corpus.truths, strict=True)),
        images=images_of(corpus),
        classes=str(corpus.classes),
        per_class=2,
    )
    assert found.slots.rows == slots.rows
    assert found.images == chosen
    assert found.standings is not None
    same(found.standings, expected)
    without = fs.where_they_fail(
        maps_of(corpus), images=images_of(corpus), classes=str(corpus.classes), per_class=2
    )
    assert (without.slots.rows, without.standings, without.labelled) == (slots.rows, None, ())
    worst = found.cases[0]
    assert worst.concordance == min(row.concordance for row in slots.duels)
    one = corpus.maps[worst.defender][corpus.ids.index(str(worst.image))]
    other = corpus.maps[worst.attacker][corpus.ids.index(str(worst.image))]
    here, there = made.NAMES.index(worst.defender_says), made.NAMES.index(worst.attacker_says)
    assert worst.share == ((one == here) & (other == there)).mean() > 0


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["order", "best"])
def test_classifiers_are_asked_as_in_a_study_of_tables(goal: Any, tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made")
    study = it.study
    truth = dict(zip(it.images, map(int, it.truth), strict=True))
    chosen: tuple[str, ...] = ()
    for more in ({"goal": goal, "budget": 10 if goal == "best" else 20}, {"as_": goal, "more": 10}):
        if goal == "best" or not chosen:
            fs.select(study, engine="local", **more)
            chosen = fs.Study(study).selection(goal).now.images
            made_answers.import_labels(it, [*chosen])
    expected = fs.rank(study, selection=goal, engine="local")
    maps = {model: dict(zip(it.images, labels.tolist(), strict=True)) for model, labels in it.labels.items()}
    found = fs.which_is_better(
        maps, label=truth.__getitem__, classes=list(made_answers.NAMES), budget=20, goal=goal
    )
    same(found, expected)
    assert found.labelled == chosen
    assert len(chosen) == 20


def test_without_images_ids_decide_among_equals_as_they_do_on_arrays() -> None:
    keys = [f"{k:06}" for k in range(len(TRUTH))]
    pairs = fs.comparison.count(MAPS, 3, images=keys)
    expected = fs.selection.duels(pairs, "miou", per_class=4)
    found = fs.where_they_fail(MAPS, per_class=4)
    assert [row.image for row in found.slots.rows] == [row.image for row in expected.rows]
    assert [keys[place] for place in found.images] == list(expected.images)
    assert "image" in repr(found)


@pytest.mark.slow
def test_a_function_a_module_and_their_maps_are_one_model() -> None:
    import torch

    images = RNG.integers(0, 256, (30, 24, 24, 3), np.uint8)
    dark = (images[..., 0] > 100).astype(np.uint8) + (images[..., 0] > 200)

    class Bands(torch.nn.Module):
        def forward(self, shown: torch.Tensor) -> torch.Tensor:
            red = (shown[:, :1] * 255).round()
            return torch.cat([(red <= 100) * 1.0, ((red > 100) & (red <= 200)) * 1.0, (red > 200) * 1.0], 1)

    module = Bands().train()
    other = np.roll(dark, 1, 0)
    truth = np.where(RNG.random(dark.shape) < 0.2, 0, dark)
    more = {"label": truth, "images": images, "classes": 3, "budget": 15}
    expected = fs.which_is_better({"dark": dark, "other": other}, **more)
    for given in (
        lambda image: (image[..., 0] > 100).astype(np.uint8) + (image[..., 0] > 200),
        module,
        torch.tensor(dark),
        [Image.fromarray(one) for one in dark],
        iter(dark),
    ):
        same(fs.which_is_better({"dark": given, "other": other}, **more), expected)
    assert module.training
    as_pil = [Image.fromarray(one) for one in images]
    same(fs.which_is_better({"dark": dark, "other": other}, **{**more, "images": as_pil}), expected)


@pytest.mark.slow
def test_an_image_without_a_label_is_left_out_and_a_spare_takes_its_place() -> None:
    found = fs.where_they_fail(MAPS, label=TRUTH, per_class=4)
    gone = found.images[0]
    again = fs.where_they_fail(MAPS, label=lambda image: None if image == gone else TRUTH[image], per_class=4)
    assert gone not in again.images
    assert set(found.images) - {gone} <= set(again.images)
    assert again.standings is not None
    assert again.standings.labels["discarded"] == 1
    fewer = fs.which_is_better(MAPS, label=lambda image: None if image == gone else TRUTH[image], budget=30)
    assert len(fewer.labelled) == 29


def test_a_budget_above_the_number_of_images_asks_for_all_and_reads_no_other_label() -> None:
    asked = []

    class Truth:
        def __len__(self) -> int:
            return len(TRUTH)

        def __getitem__(self, place: int) -> np.ndarray:
            asked.append(place)
            return TRUTH[place]

    found = fs.which_is_better(MAPS, label=Truth(), budget=20)
    assert len(found.labelled) == 20
    assert asked == [*found.labelled]
    assert found.labels["used"] == 20


FEW = {name: maps[:3] for name, maps in MAPS.items()}
ANSWERS = {name: maps[:, 0, 0] for name, maps in MAPS.items()}
WRONG: dict[type[FaultscapeError], dict[str, tuple[dict[str, Any], str]]] = {
    ModelError: {
        "no dict": ({"maps": TRUTH}, "maps: expected a dict, {name: maps or a function}; got ndarray"),
        "no model": ({"maps": {}}, "maps: 0 models; give at least two, to compare them"),
        "one model": ({"maps": {"unet": TRUTH}}, "maps: 1 model; give at least two"),
        "a folder": ({"maps": {"a": TRUTH, "b": "maps/b"}}, "b: expected maps in memory or a function"),
        "no maps": ({"maps": {"a": TRUTH, "b": None}}, "b: expected maps, answers or a function; got None"),
        "fewer images": (
            {"maps": {"a": TRUTH, "b": TRUTH[:7]}},
            "b: has 7 images, and a has 30; give each model the same images",
        ),
        "other ids": (
            {"maps": {"a": {"x": TRUTH[0]}, "b": {"y": TRUTH[0]}}},
            "b: has no image 'x', which a has",
        ),
        "some ids": (
            {"maps": {"a": {"x": TRUTH[0]}, "b": TRUTH[:1]}},
            "b: has no ids, and a has; give all as {id: map}, or none",
        ),
        "no images": ({"maps": {"a": TRUTH[:0], "b": TRUTH[:0]}}, "a: has no image; give one map for each"),
        "void": (
            {"maps": {"a": TRUTH, "b": np.full_like(TRUTH, 255)}},
            "maps: hold the value 255; say what is a class, classes=, and what is void, void=255",
        ),
        "other sizes": (
            {"maps": {"a": TRUTH, "b": TRUTH[:, :12]}},
            "image 0: the map of a is 24 x 24, that of b 24 x 12; give maps of one size, or images=",
        ),
        "a function without images": (
            {"maps": {"a": TRUTH, "b": len}},
            "b: a function or module is shown images; give them as images=",
        ),
        "a function without classes": (
            {"maps": {"a": TRUTH, "b": len}, "images": np.zeros((30, 24, 24, 3), np.uint8)},
            "b: a function or module does not say its classes; give classes=",
        ),
        "fewer photos": (
            {"images": np.zeros((2, 24, 24, 3), np.uint8)},
            "images: got 2 images, and unet has 30 maps or answers; give one image for each",
        ),
        "grey photos": (
            {"maps": FEW, "label": TRUTH[:3], "images": np.zeros((3, 24, 24), np.uint8)},
            "images, image 0: expected H x W x 3 of uint8; got uint8 of shape (24, 24)",
        ),
        "lost photos": (
            {"maps": FEW, "label": TRUTH[:3], "images": ["a.png", "b.png", "c.png"]},
            "images: there is no file",
        ),
        "maps and answers": (
            {"maps": {"a": TRUTH, "b": np.zeros(30, int)}},
            "a: gives maps or scores, and classifiers give one class id an image, (I,), for example scores.argmax(1); compare models of a kind",
        ),
        "scores of classifiers": (
            {"maps": {"a": np.full((30, 3), 0.5), "b": np.zeros(30, int)}},
            "a: expected maps (I, H, W) or class ids (I,); got float64 of shape (30, 3); of scores (I, C), give the class of the largest: .argmax(1)",
        ),
        "fewer classes": (
            {"classes": 2},
            "holds the value 2; allowed are 0-1; say otherwise with classes= and void=",
        ),
        "a folder of photos": (
            {"images": "images/"},
            "images: expected arrays, PIL images or paths, one for each image; got 'images/'; the files of a folder: sorted(Path(FOLDER).iterdir())",
        ),
        "photos of floats": (
            {"maps": FEW, "label": TRUTH[:3], "images": np.zeros((3, 24, 24, 3))},
            "got float64 of shape (24, 24, 3); convert floats with (255 * image).round().astype('uint8')",
        ),
    },
    LabelMapError: {
        "floats": (
            {"maps": {"a": TRUTH, "b": TRUTH * 1.0}},
            "b, image 0: expected whole numbers, H x W; got float64 of shape (24, 24); convert labels with .as",
        ),
        "logits": (
            {"maps": {"a": TRUTH, "b": np.zeros((30, 3, 24, 24))}},
            "got float64 of shape (3, 24, 24); of scores, give the class of the largest: .argmax over the axis of",
        ),
        "answers as names": (
            {"maps": {"a": ["cat"] * 30, "b": ["dog"] * 30}},
            "a: expected whole numbers, I; got text of shape (30,); convert names of classes to ids:",
        ),
        "below 0": (
            {"maps": {"a": TRUTH, "b": TRUTH.astype(int) - 1}},
            "holds the value -1; class ids are 0 to 65535, and void is one of them, usually 255",
        ),
    },
    OptionError: {
        "another task": ({"task": "classify"}, "task must be segmentation or classification; got 'classify'"),
        "no budget": ({"budget": 0}, "budget: how many images may be labelled, 1 or more; got 0"),
        "another goal": ({"goal": "values"}, "goal must be order or best; got 'values'"),
    },
    ClassesError: {
        "void as text": (
            {"void": "255"},
            "classes: void ids must be whole numbers from 0 to 65535; got ['255']",
        ),
    },
    LabellingError: {
        "labels in files": (
            {"label": "truth/"},
            "got 'truth/'; labels in files are read by `fs.label.import_`, in a study",
        ),
        "no label": (
            {"label": None},
            "label: expected a function of one image, or the truth (an array, a list, {id: mask}); got None",
        ),
        "fewer labels": (
            {"label": TRUTH[:3]},
            "label: a truth of 3 images, and models have 30; give one for each, or {id: mask}",
        ),
    },
}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in WRONG.items() for case in cases])
def test_what_is_no_question_is_refused_in_one_line(kind: type[FaultscapeError], case: str) -> None:
    given, text = WRONG[kind][case]
    with refused(kind, re.escape(text)):
        fs.which_is_better(**{"maps": MAPS, "label": TRUTH, **given})


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (lambda _: TRUTH[0][:5], r"label, image \d+: is 24 x 5 pixels, its image 24 x 24; both must have"),
        (lambda _: TRUTH[0] * 1.0, r"label, image \d+: expected whole numbers, H x W; got float64"),
        (lambda _: TRUTH[0] + 7, r"label, image \d+: holds the value 7; allowed are 0-2; say otherwise"),
        (
            lambda _: TRUTH,
            r"label, image \d+: the function returned \w+ of shape .*; return the mask of this",
        ),
        (
            lambda _: None,
            r"label: gave None for \d+ chosen images; give the mask or class id of one at least",
        ),
        ({0: TRUTH[0]}, r"label: has no image \d+, which was chosen"),
    ],
)
@pytest.mark.slow
def test_a_label_that_does_not_fit_its_image_is_refused_in_one_line(label: Any, text: str) -> None:
    with pytest.raises(LabellingError, match=text) as error:
        fs.which_is_better(MAPS, label=label, budget=3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("maps", "given", "text"),
    [
        (FEW, {"top": 3}, "top does not apply to label maps; per_class says how many images"),
        (ANSWERS, {"per_class": 3}, "per_class does not apply to classifiers; top says how many images"),
    ],
)
def test_an_option_of_other_models_names_the_one_that_does_the_same(
    maps: dict[str, Any], given: dict[str, Any], text: str
) -> None:
    with refused(OptionError, text):
        fs.where_they_fail(maps, **given)


def test_models_that_never_differ_are_refused_without_options_that_a_question_lacks() -> None:
    with pytest.raises(SelectionError) as caught:
        fs.where_they_fail({"a": TRUTH[:3], "b": TRUTH[:3]})
    assert "--" not in str(caught.value)


def test_the_mask_of_one_image_is_given_as_its_maps_are() -> None:
    other = np.where(TRUTH[0] == 1, 2, TRUTH[0])
    found = fs.where_they_fail({"a": TRUTH[0], "b": other}, label=TRUTH[0])
    assert found.labelled == (0,)
