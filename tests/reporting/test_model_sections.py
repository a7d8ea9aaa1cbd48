"""Model by model: worst images, confusions and kinds of error are those of plain loops over the maps."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

import faultscape as fs
import made
from faultscape.nouns import Classes, Predictions
from faultscape.reading.choices import digests
from faultscape.reading.study import Study
from faultscape.reporting.competition import model_sections
from faultscape.reporting.competition.model_sections import LEAST, Tally
from faultscape.reporting.view import number
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.report import sections as stage
from made_card import card, without_sets
from made_page import Page

NAMES = made.NAMES
CLASSES = Classes(NAMES, tuple(range(5)), tuple((k, k, k) for k in range(5)))
VOID = len(NAMES)


def maps(seed: int, images: int = 6, void: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    out = np.stack([made.blobs(rng, (18, 24)) for _ in range(images)])
    if void:
        out[rng.random(out.shape) < 0.05] = VOID
    return out


@pytest.fixture(scope="module")
def tally() -> tuple[Tally, np.ndarray, list[np.ndarray]]:
    """Six images, two models; the second has no map of the last image."""
    truth, models = maps(0), [maps(1), maps(2)]
    found = Tally(["a", "b"], CLASSES)
    for k in range(6):
        found.take(10 + k, truth[k], [models[0][k], models[1][k] if k < 5 else None])
    return found, truth, models


def test_confusions_are_counted_as_loops_count_them(tally: Any) -> None:
    found, truth, models = tally
    for j, images in ((0, range(6)), (1, range(5))):
        assert found.counted[j] == len(images)
        for t in range(5):
            assert found.images[j, t] == sum((truth[k] == t).any() for k in images)
            for p in range(5):
                per_image = [int(((truth[k] == t) & (models[j][k] == p)).sum()) for k in images]
                assert found.cells[j, t, p] == sum(per_image)
                assert found.wrong[j, t, p] == sum(n > 0 for n in per_image)
                if max(per_image):
                    assert found.example[j, t, p] == 10 + int(np.argmax(per_image))


def test_of_images_with_equally_much_of_a_confusion_the_first_is_the_example() -> None:
    found = Tally(["a"], CLASSES)
    for k in (7, 8):
        found.take(k, np.zeros((3, 3), np.uint8), [np.ones((3, 3), np.uint8)])
    assert found.example[0, 0, 1] == 7


def test_the_largest_shares_of_a_true_class_come_first(tally: Any) -> None:
    found, truth, models = tally
    shares = {
        (t, p): ((truth == t) & (models[0] == p)).sum() / (truth == t).sum()
        for t in range(5)
        for p in range(5)
        if t != p
    }
    first = sorted(shares, key=lambda pair: -shares[pair])[:3]
    assert found.confusions(0) == first
    one = found.confusion(0, first[0], model_sections.Shot("x"))
    assert one.share == pytest.approx(shares[first[0]])
    assert (one.truth, one.taken_for) == tuple(NAMES[k] for k in first[0])


def test_void_is_no_confusion_in_truth_or_prediction() -> None:
    found = Tally(["a"], CLASSES)
    truth = np.full((4, 4), VOID, np.uint8)
    truth[0] = 1
    for k in range(LEAST):
        found.take(k, truth, [np.full((4, 4), VOID, np.uint8)])
    assert found.cells[0, :, :VOID].sum() == 0
    assert found.confusions(0) == []


@pytest.mark.parametrize(
    ("images", "wrong", "shown"), [(LEAST - 1, 50, []), (LEAST, 50, [(0, 1)]), (LEAST, 0, [])]
)
def test_a_class_on_too_few_images_is_left_out(images: int, wrong: int, shown: list[Any]) -> None:
    between = np.array([[100 - wrong, wrong], [0, 100]])
    found = model_sections.largest(between, np.array([100, 100]), np.array([images, 9]))
    assert found == shown


def test_a_hundredth_of_a_class_is_the_least_that_is_shown() -> None:
    between, images = np.array([[991, 9], [10, 990]]), np.array([9, 9])
    assert model_sections.largest(between, np.array([1000, 1000]), images) == [(1, 0)]


def test_rom_and_rum_are_those_of_the_region_metrics(tally: Any) -> None:
    found, truth, models = tally
    r = fs.metrics.regions(truth, models[0], classes=5, void=VOID)
    errors = found.region_errors(0)
    assert (errors.rom, errors.rum) == pytest.approx((r.rom, r.rum))


def test_regions_are_torn_joined_missed_and_invented_as_loops_say(tally: Any) -> None:
    found, truth, models = tally
    sums = dict.fromkeys(("true", "seen", "torn", "joined", "missed", "invented"), 0)
    for k in range(5):
        known = truth[k] != VOID
        for c in range(5):
            eight = np.ones((3, 3))
            true, n = ndimage.label(truth[k] == c, eight)
            seen, m = ndimage.label((models[1][k] == c) & known, eight)
            upon = [set(seen[true == i]) - {0} for i in range(1, n + 1)]
            under = [set(true[seen == i]) - {0} for i in range(1, m + 1)]
            sums["true"] += n
            sums["seen"] += m
            sums["torn"] += sum(len(on) > 1 for on in upon)
            sums["joined"] += len({t for on in under if len(on) > 1 for t in on})
            sums["missed"] += sum(not on for on in upon)
            sums["invented"] += sum(not on for on in under)
    e = found.region_errors(1)
    assert (e.truth_regions, e.predicted_regions) == (sums["true"], sums["seen"])
    assert (e.torn, e.joined, e.missed, e.invented) == tuple(list(sums.values())[2:])


def test_a_close_up_holds_the_largest_piece_of_a_confusion() -> None:
    truth, seen = np.zeros((100, 200), np.uint8), np.zeros((100, 200), np.uint8)
    seen[2, 2] = 1  # a single pixel in a corner
    seen[80:96, 150:190] = 1
    left, top, right, bottom = model_sections.confusion_box(truth, seen, (0, 1))
    assert left <= 150
    assert right >= 190
    assert top <= 80
    assert bottom >= 96
    assert (right - left, bottom - top) == (60, 30)  # three tenths of each side
    assert bottom <= 100


def test_the_worst_images_are_the_lowest_values_and_a_perfect_one_is_none() -> None:
    values = np.array([1.0, 0.5, np.nan, 0.5, 0.2])
    assert model_sections.worst_places(values, np.array([0, 4, 1, 2, 3])) == [4, 3, 1]
    assert model_sections.worst_places(np.ones(3), np.arange(3)) == []


@pytest.fixture
def said() -> Predictions:
    """One classifier on six images: cat, dog, bird."""
    labels = np.array([[1, 1, 0, 1, 2, -1]], np.int32)
    sure = np.array([[0.6, 0.9, 0.8, 0.7, 0.99, np.nan]], np.float32)
    classes = Classes(("cat", "dog", "bird"), (0, 1, 2), ())
    return Predictions(classes, ("a",), tuple("uvwxyz"), labels, sure)


def test_a_classifiers_confusions_are_counted_among_images_of_one_class(said: Predictions) -> None:
    truths = {"u": "cat", "v": "cat", "w": "cat", "x": "bird", "z": "cat"}  # x alone is not a confusion
    (only,) = model_sections.class_confusions(said, truths, 0, np.arange(6))
    assert (only.truth, only.taken_for, only.amount, only.of) == ("cat", "dog", 2, 3)  # of z nothing was said
    assert only.example == model_sections.Shot("v", "90 % sure")


def test_a_classifiers_wrong_answers_come_surest_first(said: Predictions) -> None:
    correct = np.array([0.0, 0.0, 1.0, np.nan, 0.0, 0.0])
    shots = model_sections.wrong_answers(said, correct, {"u": "cat", "v": "cat"}, 0, np.arange(6))
    assert [shot.image for shot in shots] == ["y", "v", "u"]
    assert shots[0].says == "says bird (99 % sure); label: not this"
    assert shots[1].says == "says dog (90 % sure); label: cat"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, made.Corpus]:
    """A selection of duels over three shards, without labels."""
    root = tmp_path_factory.mktemp("sections")
    corpus = made.corpus(root / "corpus", images=18, models=3)
    study = Path(made.compared_study(corpus, root / "study", shard_size=6))
    fs.select(str(study), per_class=2)
    return study, corpus


@pytest.fixture
def own(world: tuple[Path, made.Corpus], tmp_path: Path) -> str:
    return str(shutil.copytree(world[0], tmp_path / "own"))


def words_of(study: str, **options: Any) -> tuple[Page, str]:
    page = Page(Path(fs.report(study, **options).path).read_text(encoding="utf-8"))
    return page, " ".join("".join(page.text).split())


def miou(truth: np.ndarray, seen: np.ndarray) -> float:
    """Mean IoU over the classes in either map."""
    present = sorted({*np.unique(truth), *np.unique(seen)})
    each = [((truth == c) & (seen == c)).sum() / ((truth == c) | (seen == c)).sum() for c in present]
    return float(np.mean(each))


def labelled(study: str, corpus: made.Corpus, some: Path, images: int) -> list[str]:
    """Label the first images of the selection; returns these."""
    chosen = list(read_selection(Path(study), "main")[0].images)[:images]
    for image in chosen:
        (some / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", some / f"{image}.png")
    fs.label.import_(study, str(some))
    fs.rank(study, resamples=0, engine="local")
    return chosen


@pytest.mark.slow
def test_the_page_says_which_class_a_model_takes_for_which(own: str, world: Any, tmp_path: Path) -> None:
    corpus = world[1]
    chosen = labelled(own, corpus, tmp_path / "labels", 8)
    page, words = words_of(own)
    at = [corpus.ids.index(image) for image in chosen]
    for model, seen in corpus.maps.items():
        truth = corpus.truths[at]
        shares = {
            (t, p): ((truth == t) & (seen[at] == p)).sum() / (truth == t).sum()
            for t in range(5)
            for p in range(5)
            if t != p and sum((m == t).any() for m in truth) >= LEAST
        }
        (t, p), share = max(shares.items(), key=lambda row: row[1])
        if share >= 0.01:
            assert f"{NAMES[t]} taken for {NAMES[p]}: {100 * share:.1f} % of its pixels" in words
        assert f"on {len(chosen)} images; takes {100 * share:.0f} % of {NAMES[t]} for {NAMES[p]}" in words
        assert any(attrs.get("alt", "").startswith(f"{model}, map of") for _, attrs in page.tags)
    assert "#models" in {attrs.get("href") for _, attrs in page.tags}
    assert {f"model-{k}" for k in (1, 2, 3)} <= {attrs.get("id") for _, attrs in page.tags}
    assert not any(tag == "details" and "open" in attrs and "model" in str(attrs) for tag, attrs in page.tags)


def test_the_worst_images_are_those_of_the_lowest_miou(own: str, world: Any, tmp_path: Path) -> None:
    corpus = world[1]
    chosen = labelled(own, corpus, tmp_path / "labels", 8)
    places = {image: corpus.ids.index(image) for image in chosen}
    page, _ = words_of(own)
    means = {image: miou(corpus.truths[k], corpus.maps["model-2"][k]) for image, k in places.items()}
    shown = [a["alt"] for tag, a in page.tags if tag == "img" and str(a["alt"]).startswith("model-2, map of")]
    worst = sorted(means, key=means.__getitem__)[:3]
    heads = re.findall(r"(model-\d)\s*mean IoU", " ".join(page.text))
    assert heads == fs.Study(own).standings().rankings["reuse_bradley_terry"].order
    assert shown[-3:] == [f"model-2, map of {image}" for image in worst]


def test_with_two_labels_nothing_is_said_of_where_a_model_fails(own: str, world: Any, tmp_path: Path) -> None:
    labelled(own, world[1], tmp_path / "labels", 2)
    _, words = words_of(own)
    assert words.count("Too few labelled images (2) to say where") == 3
    assert "taken for" not in words
    assert "Kinds of error" not in words


def test_without_labels_there_is_no_section(own: str) -> None:
    _, words = words_of(own)
    assert "Model by model" not in words


def test_of_more_images_than_are_counted_the_page_says_how_many(
    own: str, world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "COUNTED", 4)
    chosen = labelled(own, world[1], tmp_path / "labels", 8)
    _, words = words_of(own)
    assert "The largest shares of a true class that the model takes for another, over 4 images" in words
    assert len(chosen) > 4
    assert f"The lowest mean IoU of {len(chosen)} images" in words


def test_choices_say_which_images_are_the_worst_where_nobody_drew_a_mask(own: str) -> None:
    slots = read_selection(Path(own), "main")[0]
    shown = digests(Study(Path(own)), slots.models, slots.images)
    lost = list(slots.images)[:4]
    choices = [
        Choice(
            image,
            "model-0",
            "model-1",
            "first" if image in lost else "second",
            "ann",
            shown["model-0", image],
            shown["model-1", image],
        )
        for image in slots.images
    ]
    Choices(Path(own)).add_all(choices, "test")
    page, words = words_of(own)
    assert "by people's choices between two models" in words
    maps_shown = [str(a["alt"]) for tag, a in page.tags if tag == "img"]
    assert {
        alt.removeprefix("model-1, map of ") for alt in maps_shown if alt.startswith("model-1, map")
    } <= set(lost)
    assert "taken for" not in words
    assert "Too few labelled images (0) to say where model-2 fails" in words


def test_the_page_shows_each_models_row_of_the_card_and_is_stale_when_it_changes(own: str) -> None:
    fs.report(own)
    assert made.states(own)["report"] == "done"
    held = json.loads(json.dumps(card()).replace('"unet"', '"model-0"'))
    folder = Path(own) / "reliability"
    folder.mkdir()
    (folder / "reliability.json").write_text(json.dumps(held))
    assert made.states(own)["report"] == "stale"
    page, words = words_of(own)
    assert words.count("Reliability out of date") == 1
    rows = stage.card_rows(held)["model-0"]
    for title, mark in rows:
        assert title in page.cells
        assert number(mark.value) in page.cells
    assert made.states(own)["report"] == "done"
    held["cells"][0]["value"] = 0.123
    (folder / "reliability.json").write_text(json.dumps(held))
    (stale,) = [line for line in str(fs.status(own)).splitlines() if "report" in line and "stale" in line]
    assert "the reliability card changed" in stale


def test_a_card_that_cannot_be_read_is_left_out() -> None:
    assert stage.card_rows({"models": 3}) == {}  # type: ignore[typeddict-item]
    assert stage.card_rows({}) == {}


def test_a_closed_page_holds_few_pictures(own: str, world: Any, tmp_path: Path, monkeypatch: Any) -> None:
    labelled(own, world[1], tmp_path / "labels", 8)
    monkeypatch.setattr(stage, "_ROOM", 1000)
    _, words = words_of(own)
    assert "images were left out to keep this file small" in words


def test_photos_of_another_size_than_the_maps_are_cut_in_the_same_place() -> None:
    photo = np.zeros((40, 80, 3), np.uint8)
    photo[20:40, 40:80] = 255
    drawing = object.__new__(stage._Drawing)
    drawing._photo, drawing._room = photo, stage.Room()
    uri = drawing._crop((10, 5, 20, 10), (10, 20), (20, 10))
    cut = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("L"))
    assert cut.min() > 245


@pytest.mark.slow
def test_the_new_parts_break_no_rule_of_access_and_open(
    own: str, world: Any, tmp_path: Path, browser: Any
) -> None:
    axe = Path(__file__).parents[1] / "app" / "axe.min.js"
    if not axe.exists():
        pytest.skip("no axe-core: `make` fetches it")
    labelled(own, world[1], tmp_path / "labels", 8)
    path = fs.report(own).path
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light")):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        page.goto(Path(path).resolve().as_uri())
        page.locator("details.model > summary").nth(1).click()
        assert page.evaluate("[...document.querySelectorAll('details.model')].map(d => d.open)") == [
            False,
            True,
            False,
        ]
        page.evaluate("document.querySelectorAll('details.model').forEach(d => d.open = true)")
        page.evaluate(axe.read_text(encoding="utf-8"))
        found = page.evaluate(
            "async () => (await axe.run({ include: [['#models'], ['.pair-pictures']] }))"
            ".violations.map(v => v.id + ' ' + v.nodes[0].html)"
        )
        assert found == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        context.close()


def test_a_number_of_the_card_says_over_how_many_corrupted_sets_it_is_where_others_have_more() -> None:
    rows = stage.card_rows(without_sets(card(3), "model 2", keep=1))
    assert "mIoU corrupted (1 of 6 sets)" in [title for title, _ in rows["model 2"]]
    assert "mIoU corrupted" in [title for title, _ in rows["unet"]]
