"""Points: single pixels that a person answers, from the draw to the verdict; through a table, beside masks, over
rounds, and with models that come later.
"""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import FixedSelectionError, LabellingError, OptionError, RankingError, SelectionError
from faultscape.maps.borders import near_borders
from faultscape.maps.resize import nearest
from faultscape.ranking.points.answers import PointAnswers as Told
from faultscape.ranking.points.pool import PointPool, find_tuples
from faultscape.reading.points.evidence import read_point_evidence, totals_from, totals_of
from faultscape.reading.points.places import place_in_image
from faultscape.reading.points.pool import StoredPool, drawable, read_point_pool
from faultscape.reading.points.truths import point_truth
from faultscape.reading.points.tuples import Scope
from faultscape.reading.study import Study
from faultscape.selection.points.probabilities import point_allocation, point_probabilities
from faultscape.study.answers.database import Database
from faultscape.study.answers.points import PointAnswer, PointAnswers
from faultscape.study.answers.withdrawal import take_back_all
from made_point_study import (
    POINTS,
    answer_all,
    by_truth,
    compared,
    fill,
    group_images,
    lines,
    pointed,
    points_of,
    put_lines,
    some,
    take_classes,
    with_models,
    with_own_photos,
)
from refusals import refused

CLASSES = len(made.NAMES)


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study of three models whose points are drawn, and what it was made of: a fourth model too."""
    return pointed(tmp_path / "a study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


@pytest.fixture
def corpus(made_once: tuple[str, made.Corpus]) -> made.Corpus:
    return made_once[1]


def pooled(corpus: made.Corpus, model: str, images: list[str] | None = None) -> float:
    """mIoU over all pixels of some images."""
    mine = [k for k, image in enumerate(corpus.ids) if images is None or image in images]
    said = corpus.maps[model][mine]
    true = corpus.truths[mine]
    both = [((said == c) & (true == c)).sum() for c in range(CLASSES)]
    either = [((said == c) | (true == c)).sum() for c in range(CLASSES)]
    return float(np.mean([b / e for b, e in zip(both, either, strict=True) if e]))


@pytest.mark.slow
def test_from_the_draw_to_the_verdict_through_a_table(
    study: str,
    corpus: made.Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    place = f"'{study}'"
    line = f"faultscape label export {place} points/ --format points --selection points"
    assert fs.status(study).next == f"faultscape label serve {place} --selection points"
    assert fs.status(study).instead == line
    assert made.states(study)["label"] == "missing"
    capsys.readouterr()
    assert main(["label", "export", study, "points/"]) == 0
    told = capsys.readouterr().out
    rows = fill(tmp_path / "points" / "points.csv", by_truth(corpus))
    assert f"{len(rows)} points, a crop of the image around each" in told
    assert f"faultscape label import {place} points/points.csv" in told
    drawn = points_of(study)
    assert [(r["image"], int(r["row"]), int(r["column"])) for r in rows] == list(
        dict.fromkeys((p.image, p.row, p.column) for p in drawn)
    )
    with made.Image.open(tmp_path / "points" / rows[0]["crop"]) as crop:
        assert crop.size == (288, 216)
    assert main(["label", "import", study, "points/points.csv"]) == 0
    assert f"{len(rows)} points answered" in capsys.readouterr().out
    assert main(["rank", study]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Use model-0.\nmodel-0 is ahead of model-1 by ")
    assert " points of pooled mIoU [" in told
    assert f"Standings of 3 models from {POINTS} answered points" in told
    assert "score: pooled mIoU over all images that could be drawn, estimated" in told
    held = json.loads((Path(study) / "standings-points.json").read_text())
    assert held["definitions"]["metric"] == "pooled mIoU"
    assert held["labels"] == {"used": POINTS, "slots": POINTS, "missing": 0, "points": POINTS}
    table = held["rankings"]["points"]
    for model, (low, high) in table["score_interval"].items():
        assert table["scores"][model] == pytest.approx(pooled(corpus, model), abs=0.05)
        assert low < table["scores"][model] < high
    assert table["order"] == ["model-0", "model-1", "model-2"]
    found = fs.status(study)
    assert made.states(study)["rank"] == "done"
    assert found.verdict.models == ("model-0",)
    assert found.verdict.metric == "pooled mIoU"


@pytest.mark.slow
def test_more_points_follow_the_first_and_learn_from_their_answers(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    first = points_of(study)
    whole = fs.select(
        study, sampling=fs.options.Sampling(points=POINTS + 40), as_="whole", engine="local"
    ).points
    assert [(p.image, p.pixel) for p in whole[:POINTS]] == [(p.image, p.pixel) for p in first]
    answer_all(study, corpus, tmp_path / "first")
    more = fs.select(study, more=40, as_="points", engine="local").points
    assert more[:POINTS] == first
    assert [(p.round, p.step) for p in more[POINTS:]] == [(2, POINTS + k) for k in range(1, 41)]
    # other probabilities, by what was learnt
    assert {p.probability for p in more[POINTS:]} != {p.probability for p in whole[POINTS:]}
    with refused(SelectionError, r"\d+ of the 40 points that --more drew last .* --points 195"):
        fs.select(study, more=5, as_="points")
    answer_all(study, corpus, tmp_path / "more")
    found = fs.rank(study, selection="points")
    assert found.labels["used"] == POINTS + 40
    assert found.rankings["points"].scores["model-0"] == pytest.approx(pooled(corpus, "model-0"), abs=0.03)


@pytest.mark.slow
def test_a_mask_answers_every_point_in_it_and_is_known_in_full(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    some = tmp_path / "some"
    for image in corpus.ids[:6]:
        (some / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", some / f"{image}.png")
    fs.label.import_(study, str(some))
    answer_all(study, corpus, tmp_path / "rest")
    rows = lines(tmp_path / "rest" / "points.csv")
    assert {row["image"] for row in rows} <= set(corpus.ids[6:])
    found = fs.rank(study, selection="points")
    assert "masks answer 60 % of all pixels; points speak about the rest" in found.notes
    narrow = found.rankings["points"].score_interval["model-1"]
    assert narrow[0] <= pooled(corpus, "model-1") <= narrow[1]
    fs.label.import_(study, str(corpus.truth))
    exact = fs.rank(study, selection="points").rankings["points"]
    measured = fs.measure(study, resamples=0, worst=0)
    for model in ("model-0", "model-1", "model-2"):
        assert exact.scores[model] == pytest.approx(pooled(corpus, model), abs=1e-9)
        assert exact.score_interval[model] == pytest.approx([exact.scores[model]] * 2)
        assert measured.models[model]["miou"]["value"] == pytest.approx(exact.scores[model], abs=1e-9)
    assert exact.best_set == ["model-0"]


@pytest.mark.slow
def test_later_points_are_drawn_among_the_images_without_a_mask_and_those_need_their_masks(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    def masks_of(images: list[str], name: str) -> str:
        for image in images:
            (tmp_path / name / image).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(corpus.truth / f"{image}.png", tmp_path / name / f"{image}.png")
        return str(tmp_path / name)

    first = set(corpus.ids[:4])
    fs.label.import_(study, masks_of(corpus.ids[:4], "some"))
    answer_all(study, corpus, tmp_path / "first")
    fs.select(study, more=200, as_="points")
    later = points_of(study)[POINTS:]
    assert {p.image for p in later} == set(corpus.ids) - first
    # their probabilities are those among these images: the draws estimate how many pixels these have
    assert np.mean([1 / p.probability for p in later]) == pytest.approx(corpus.truths[4:].size, rel=0.3)
    answer_all(study, corpus, tmp_path / "later")
    before = fs.rank(study, selection="points").rankings["points"].scores
    # a mask that arrives later takes the place of the answers in its image
    fs.label.import_(study, masks_of(corpus.ids[4:7], "more"))
    after = fs.rank(study, selection="points").rankings["points"].scores
    for model in ("model-0", "model-1", "model-2"):
        assert before[model] == pytest.approx(pooled(corpus, model), abs=0.04)
        assert after[model] == pytest.approx(pooled(corpus, model), abs=0.03)
    fs.label.import_(study, masks_of(corpus.ids[1:2], "other"), truth="other")
    with refused(
        RankingError, "of those that had one then 3 images have none in truth 'other' .*: import it again"
    ):
        fs.rank(study, selection="points", truth="other")


@pytest.mark.slow
def test_several_points_of_an_image_are_one_draw(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    of_three = fs.options.Sampling(points=100, per_image=3)
    fs.select(study, sampling=of_three, as_="looks", engine="local")
    drawn = points_of(study, "looks")
    assert [p.step for p in drawn] == list(range(1, 103))  # whole looks
    looks = [drawn[k : k + 3] for k in range(0, 102, 3)]
    assert all(len({p.image for p in look}) == 1 for look in looks)
    assert len({(p.image, p.pixel) for p in drawn}) > 90
    # the probabilities are those of single pixels: the draws estimate how many there are
    assert np.mean([1 / p.probability for p in drawn]) == pytest.approx(corpus.truths.size, rel=0.3)
    answer_all(study, corpus, tmp_path / "first", "looks")
    fs.select(study, more=100, as_="looks", engine="local")
    assert [p.step for p in points_of(study, "looks")][102:] == list(range(103, 205))
    answer_all(study, corpus, tmp_path / "more", "looks")
    found = read_point_evidence(Study(study), "looks", "labels", engine="local")
    assert found.look.tolist() == np.repeat(np.arange(68), 3).tolist()
    assert totals_of(found, Study(study).classes).draws == 68
    ranked = fs.rank(study, selection="looks").rankings["points"]
    for model in ("model-0", "model-1", "model-2"):
        low, high = ranked.score_interval[model]
        assert low <= pooled(corpus, model) <= high
    with refused(FixedSelectionError, "was drawn with per_image 3, not 2"):
        fs.select(study, sampling=fs.options.Sampling(points=300, per_image=2), as_="looks", engine="local")
    with refused(OptionError, "--per-image must be 1 to 50 points; got 0"):
        fs.select(study, sampling=fs.options.Sampling(points=300, per_image=0), as_="none", engine="local")


@pytest.mark.slow
def test_what_people_answered_is_counted_apart_from_what_masks_answer(
    study: str, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = 90
    fs.label.export(study, str(tmp_path / "out"), selection="points")
    table = tmp_path / "out" / "points.csv"
    put_lines(table, [{**row, "answer": by_truth(corpus)(row)} for row in lines(table)[:number]])
    fs.label.import_(study, str(table))
    answered = [(point.image, point.row, point.column) for point in Study(study).point_answers.answers()]
    masked, gone = list(dict.fromkeys(image for image, *_ in answered))[:2]
    mask = tmp_path / "masks" / f"{masked}.png"
    mask.parent.mkdir(parents=True)
    shutil.copy(corpus.truth / f"{masked}.png", mask)
    fs.label.import_(study, str(tmp_path / "masks"))
    (tmp_path / "discard.csv").write_text(f"image,reason\n{gone},blurred\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))

    drawn = [(point.image, point.row, point.column) for point in points_of(study)]
    mine = sum(pixel in answered and pixel[0] not in (masked, gone) for pixel in drawn)
    asked = sum(image not in (masked, gone) for image, *_ in drawn)
    of_mask = sum(image == masked for image, *_ in drawn)
    capsys.readouterr()
    assert main(["status", study]) == 0
    row = f"points: {mine} of {asked} points answered (truth labels); {of_mask} more in images with a mask"
    assert row in capsys.readouterr().out
    found = fs.rank(study, selection="points")
    counted = found.labels["masked"]
    assert 0 < counted < of_mask  # those drawn after the last answer do not count
    assert found.labels["points"] - counted <= mine
    assert f"from {mine} answered points and 1 mask" in repr(found)
    plan = fs.plan(study, engine="local").points
    assert plan["answered"] == mine
    fs.report(study, selection="points")
    page = (Path(study) / "report-points.html").read_text()
    assert f"people answered {mine} of them; {counted} lie in images with a mask" in page


@pytest.mark.slow
def test_points_of_discarded_images_leave_and_the_others_keep_their_probabilities(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    answer_all(study, corpus, tmp_path / "all")
    gone = corpus.ids[3]
    before = points_of(study)
    (tmp_path / "discard.csv").write_text(f"image,reason\n{gone},blurred\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    made_now = Study(study).selection("points")
    assert made_now.slots.points == before
    assert {p.image for p in made_now.now.points} == {p.image for p in before} - {gone}
    assert made.states(study)["rank"] == "missing"
    fs.label.import_(study, str(corpus.truth))
    found = fs.rank(study, selection="points").rankings["points"]
    left = [image for image in corpus.ids if image != gone]
    assert found.scores["model-2"] == pytest.approx(pooled(corpus, "model-2", left), abs=1e-9)
    assert found.scores["model-2"] != pytest.approx(pooled(corpus, "model-2"), abs=1e-4)


@pytest.mark.slow
def test_a_model_that_comes_later_is_ranked_by_the_same_answers(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    answer_all(study, corpus, tmp_path / "all")
    fs.rank(study, selection="points")
    with_models(study, some(corpus, "model-3"))
    states = made.states(study)
    assert (states["select"], states["label"], states["rank"]) == ("done", "done", "stale")
    found = fs.rank(study, selection="points")
    assert found.models == ("model-0", "model-1", "model-2", "model-3")
    assert found.labels["used"] == POINTS
    assert found.rankings["points"].scores["model-3"] == pytest.approx(pooled(corpus, "model-3"), abs=0.08)
    assert main(["predict", study, "--remove", "model-0"]) == 0
    fewer = fs.rank(study, selection="points")
    assert fewer.models == ("model-1", "model-2", "model-3")


@pytest.mark.slow
def test_the_same_pixels_are_drawn_by_any_engine_and_order_of_models(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.select(study, sampling=fs.options.Sampling(points=POINTS), as_="again", engine="processes")
    other = str(made.collected(corpus, tmp_path / "other", shard_size=3))
    for name in ("model-2", "model-0", "model-1"):
        fs.predict(other, some(corpus, name), engine="local")
    fs.compare(other, engine="local")
    fs.select(other, sampling=fs.options.Sampling(points=POINTS), engine="local")
    first = points_of(study)
    assert points_of(study, "again") == first
    assert [(p.image, p.row, p.column) for p in points_of(other)] == [
        (p.image, p.row, p.column) for p in first
    ]
    assert [p.probability for p in points_of(other)] == pytest.approx(
        [p.probability for p in first], rel=1e-9
    )


def pool_of(study: str, border: int = 0) -> StoredPool:
    """All pixels that can be drawn."""
    held = Study(study)
    images = drawable(held, held.models, held.selection("points").slots.definition)
    return read_point_pool(held, Scope(tuple(held.models), "", border, tuple(held.models)), images)


@pytest.mark.slow
@pytest.mark.parametrize("border", [0, 1])
def test_every_pixel_is_drawn_as_often_as_its_probability_says(study: str, border: int) -> None:
    pool = pool_of(study, border)
    held = Study(study)
    none = Told(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    by = point_allocation(totals_from(pool, none, held.classes))
    number = 50_000
    drawn = pool.draw(by, (np.arange(number)[:, None] + 0.5) / number)
    # the same in memory
    maps = np.array([[held.maps(model)[image] for image in pool.images] for model in held.models])
    inside = np.array([[near_borders(own, border) for own in of_model] for of_model in maps]).any(0)
    inside = ~inside.ravel()
    found = find_tuples(maps.reshape(len(maps), -1)[:, inside], CLASSES)
    whole = totals_from(PointPool(found.said, found.pixels(), CLASSES), none, held.classes)
    chance = np.zeros(inside.size)
    chance[inside] = point_probabilities(whole)[found.place]
    place = {image: k for k, image in enumerate(pool.images)}
    at = np.array([place[image] * maps[0, 0].size + pixel for image, pixel, _ in drawn])
    assert [probability for _, _, probability in drawn] == pytest.approx(chance[at], rel=1e-9)
    # numbers at equal distances find a pixel as often as its probability says, to within one
    assert np.abs(np.bincount(at, minlength=inside.size) - number * chance).max() < 1 + 1e-6


def test_tuples_are_counted_once_and_again_when_a_map_changes_or_a_file_is_damaged(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    """What is kept is told from what it was counted from."""
    shutil.rmtree(Path(study) / "tuples")
    before = pool_of(study)
    kept = {path: path.stat().st_mtime_ns for path in Path(study, "tuples").rglob("*.tuples")}
    assert len(kept) == 3  # one of each shard
    again = pool_of(study)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    damaged = next(iter(kept))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    for other in (again, pool_of(study)):
        assert other.predicted.tolist() == before.predicted.tolist()
        assert other.pixels.tolist() == before.pixels.tolist()
    assert damaged.stat().st_mtime_ns != kept[damaged]
    # one map changes: its shard is counted again, and its old tuples are gone
    folder = tmp_path / "changed"
    shutil.copytree(corpus.models["model-2"], folder)
    image = corpus.ids[0]
    made.Image.fromarray(np.zeros((36, 48), np.uint8)).save(folder / f"{image}.png")
    fs.predict(study, {"model-2": str(folder)}, engine="local")
    changed = pool_of(study)
    now = set(Path(study, "tuples").rglob("*.tuples"))
    assert len(now) == 3
    assert len(now & {*kept}) == 2
    difference = (changed.predicted - before.predicted)[2]
    was = np.bincount(corpus.maps["model-2"][0].ravel(), minlength=CLASSES + 1)
    assert difference.tolist() == (np.bincount([0] * 36 * 48, minlength=CLASSES + 1) - was).tolist()


def test_tuples_of_models_that_no_selection_is_about_are_removed(study: str, corpus: made.Corpus) -> None:
    def scopes() -> int:
        return len(list(Path(study, "tuples").iterdir()))

    assert scopes() == 1
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, selection="points")
    with_truth = scopes()
    with_models(study, some(corpus, "model-3"))
    fs.rank(study, selection="points")
    assert scopes() == with_truth + 1
    assert main(["predict", study, "--remove", "model-3"]) == 0
    fs.rank(study, selection="points")
    assert scopes() == with_truth


@pytest.mark.slow
@pytest.mark.parametrize("size", ["24x18", "60x50", "own"])
def test_a_point_is_the_pixel_of_the_image_that_its_map_at_working_size_takes(
    corpus: made.Corpus, tmp_path: Path, size: str
) -> None:
    sized = compared(tmp_path / "sized", corpus, some(corpus, "model-0", "model-2"), size=size)
    drawn = fs.select(sized, sampling=fs.options.Sampling(points=40), engine="local").points
    held = Study(sized)
    truths = dict(zip(corpus.ids, corpus.truths, strict=True))
    working = held.settings.working_size or (48, 36)
    for point in drawn:
        small = nearest(truths[point.image], working)
        assert small.ravel()[point.pixel] == truths[point.image][point.row, point.column]
        assert place_in_image(held.image_rows[point.image], held.settings.working_size, point.pixel) == (
            point.row,
            point.column,
        )
    assert drawn[0].pool == 10 * working[0] * working[1]
    fs.label.import_(sized, str(corpus.truth))
    exact = fs.rank(sized, selection="points").rankings["points"].scores
    assert fs.measure(sized, resamples=0, worst=0).models["model-2"]["miou"]["value"] == pytest.approx(
        exact["model-2"], abs=1e-9
    )


@pytest.mark.slow
def test_with_a_margin_no_point_lies_near_a_border(study: str, corpus: made.Corpus) -> None:
    drawn = fs.select(
        study, sampling=fs.options.Sampling(points=60, border=2), as_="inside", engine="local"
    ).points
    held = Study(study)
    for point in drawn:
        for model in held.models:
            label_map = held.maps(model)[point.image]
            y, x = divmod(point.pixel, 48)
            assert len(np.unique(label_map[max(0, y - 2) : y + 3, max(0, x - 2) : x + 3])) == 1
    assert drawn[0].pool < points_of(study)[0].pool
    fs.label.import_(study, str(corpus.truth))
    found = fs.rank(study, selection="inside").rankings["points"]
    assert found.scores["model-2"] > pooled(corpus, "model-2")  # errors lie along borders, too


def test_lines_that_cannot_be_used_are_told_and_the_others_count(study: str, tmp_path: Path) -> None:
    first, second, third, fourth = points_of(study)[:4]
    rows = [
        ("image", "row", "column", "answer", "annotator"),
        (first.image, first.row, first.column, "car", "ann"),
        (first.image, first.row, first.column, "Cannot tell", "ben"),
        (second.image, second.row, second.column, "caar", "ann"),
        (third.image, third.row, third.column, "car", "ann"),
        (third.image, third.row, third.column, "sky", "ann"),
        (fourth.image, fourth.row, fourth.column, "tree|road", "ann"),
        (fourth.image, 99, 3, "tree", "ann"),
        ("nowhere", 1, 1, "tree", "ann"),
        (fourth.image, "1.5", 3, "tree", "ann"),
    ]
    with (tmp_path / "said.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = fs.label.import_(study, str(tmp_path / "said.csv"))
    assert (found.new, found.failures) == (3, 5)
    told = [row["reason"] for row in lines(Path(study) / "failures.csv") if row["stage"] == "label"]
    expected = {
        4: "Did you mean 'car'",
        5: f"row {third.row}, column {third.column} has different answers: 'car' here, 'sky' in said.csv,"
        " line 6",
        8: "row 99, column 3 lies outside of",
        9: "'nowhere' is not an image of the study",
        10: "expected a row and a column, from 0; got '1.5' and '3'",
    }
    assert len(told) == len(expected)
    for line, words in expected.items():
        assert any(one.startswith(f"said.csv, line {line}: ") and words in one for one in told), (line, told)
    held = Study(study)
    known = point_truth(held, held.selection("points").slots.points[:4], "labels")
    place = {name: k for k, name in enumerate(made.NAMES)}
    assert known.shares[0, place["car"]] == 1  # who cannot tell has no vote
    assert known.shares[3, [place["tree"], place["road"]]].tolist() == [0.5, 0.5]
    assert known.asked.tolist() == [True, False, False, True]


@pytest.mark.slow
def test_answers_follow_renamed_classes_travel_as_json_lines_and_are_taken_back(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fresh = str(shutil.copytree(study, tmp_path / "fresh"))
    table = answer_all(study, corpus, tmp_path / "all") / "points.csv"
    before = fs.rank(study, selection="points").rankings["points"].scores
    fs.label.answers(study, str(tmp_path / "said.jsonl"))
    fs.label.import_(fresh, str(tmp_path / "said.jsonl"))
    assert fs.rank(fresh, selection="points").rankings["points"].scores == pytest.approx(before)

    classes = json.loads(corpus.classes.read_text())
    for entry in classes["classes"]:
        entry["name"] = {"car": "vehicle"}.get(entry["name"], entry["name"])
    classes["parents"] = {}
    (tmp_path / "renamed.json").write_text(json.dumps(classes))
    take_classes(study, tmp_path / "renamed.json")
    seen = {one.answer for one in Study(study).point_answers.answers()}
    assert "vehicle" in seen
    assert "car" not in seen
    assert fs.rank(study, selection="points").rankings["points"].scores == pytest.approx(before)

    assert main(["label", "remove", study, "--selection", "points"]) == 0
    assert Study(study).truths == []
    assert made.states(study)["label"] == "missing"
    fs.label.import_(study, str(table))  # by the names of their time
    assert fs.rank(study, selection="points").rankings["points"].scores == pytest.approx(before)


@pytest.mark.slow
def test_where_two_people_differ_the_one_who_is_more_often_right_counts_if_people_are_weighted(
    study: str, corpus: made.Corpus
) -> None:
    rng = np.random.default_rng(2)
    truths = dict(zip(corpus.ids, corpus.truths, strict=True))
    pixels = list(dict.fromkeys((p.image, p.row, p.column) for p in points_of(study)))
    right = [made.NAMES[truths[image][row, column]] for image, row, column in pixels]
    answers = [PointAnswer(*pixel, name, "eve") for pixel, name in zip(pixels, right, strict=True)]
    held = Study(study).point_answers
    held.add_all(answers, "test")
    by_eve = fs.rank(study, selection="points", resamples=20).rankings["points"].scores
    held.take_back(answers, "test")
    for k, (pixel, name) in enumerate(zip(pixels, right, strict=True)):
        for who in [("ann", "ben"), ("ben", "eve"), ("eve", "ann")][k % 3]:
            wrong = who == "ben" and rng.random() < 0.4
            said = made.NAMES[(made.NAMES.index(name) + 1) % CLASSES] if wrong else name
            held.add(PointAnswer(*pixel, said, who), "test")
    assert main(["rank", study, "--selection", "points", "--weight-annotators"]) == 0
    kept = json.loads((Path(study) / "standings-points.json").read_text())
    assert kept["rankings"]["points"]["scores"] == pytest.approx(by_eve, abs=1e-9)
    weights = kept["definitions"]["annotator_weights"]
    assert weights["ben"] < weights["ann"] == weights["eve"]
    assert any(note.startswith("answers are weighted by the estimated accuracy") for note in kept["notes"])
    halves = fs.rank(study, selection="points", resamples=20)
    assert "annotator_weights" not in halves.definitions
    assert halves.rankings["points"].scores != pytest.approx(by_eve, abs=1e-3)


def test_the_first_points_count_in_their_order(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    fs.label.export(study, str(tmp_path / "out"), selection="points")
    table = tmp_path / "out" / "points.csv"
    right = by_truth(corpus)
    rows = lines(table)
    kept = {(row["image"], row["row"], row["column"]) for row in (*rows[:60], *rows[100:])}
    fill(table, lambda row: right(row) if (row["image"], row["row"], row["column"]) in kept else "")
    fs.label.import_(study, str(table))
    found = read_point_evidence(Study(study), "points", "labels", engine="local")
    assert 60 <= len(found.chance) <= 64  # the first that nobody answered, and a few behind it
    assert found.waiting > 30
    assert found.after > 30
    notes = fs.rank(study, selection="points").notes
    assert any("points without an answer; " in note for note in notes)
    assert any("fewer than 300 answered points are rough" in note for note in notes)


def test_a_few_answers_are_too_few(study: str, tmp_path: Path) -> None:
    fs.label.export(study, str(tmp_path / "out"), selection="points")
    table = tmp_path / "out" / "points.csv"
    rows = lines(table)
    table.write_text(
        "image,row,column,answer\n"
        + "".join(f"{r['image']},{r['row']},{r['column']},sky\n" for r in rows[:9])
    )
    fs.label.import_(study, str(table))
    with refused(RankingError, "9 answered points in truth 'labels', and at least 30 are needed"):
        fs.rank(study, selection="points")
    with refused(LabellingError, "9 points are answered and never overwritten"):
        fs.label.export(study, str(tmp_path / "out"), selection="points")


def test_a_point_whose_image_is_gone_has_no_crop(corpus: made.Corpus, tmp_path: Path) -> None:
    moved, photos = with_own_photos(corpus, tmp_path, 20)
    drawn = points_of(moved)
    (photos / f"{drawn[0].image}.png").unlink()
    found = fs.label.export(moved, str(tmp_path / "out"), selection="points")
    gone = len({(p.image, p.row, p.column) for p in drawn if p.image == drawn[0].image})
    assert (found.points - found.seen) == gone
    assert "whose file is missing or has changed, and without a crop" in repr(found)


@pytest.mark.slow
def test_groups_let_points_speak_of_images_to_come(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    answer_all(study, corpus, tmp_path / "all")
    with refused(RankingError, "if the pool has 6 groups of images; make them with `faultscape collect"):
        fs.rank(study, selection="points", population="future")
    assert fs.rank(study, selection="points").to_come == {}
    group_images(study)
    found = fs.rank(study, selection="points")
    pool, later = found.rankings["points"], found.to_come["points"]
    assert later.scores == pool.scores
    assert later.speaks_of == "future"
    assert found.verdict.population == "future"

    def width(ranking: fs.ranking.ModelRanking, model: str) -> float:
        low, high = ranking.score_interval[model]
        return high - low

    assert all(width(later, model) > width(pool, model) for model in found.models)
    turned = fs.rank(study, selection="points", population="future")
    assert turned.rankings["points"] == later
    assert turned.of_pool["points"] == pool
    # masks leave the spread between images, as leaving out one after the other shows it
    fs.label.import_(study, str(corpus.truth))
    known = fs.rank(study, selection="points").to_come["points"]
    left = [pooled(corpus, "model-2", [i for i in corpus.ids if i != one]) for one in corpus.ids]
    error = np.sqrt(9 * np.var(left))  # the jackknife's: (n - 1) / n times the sum of squares
    assert width(known, "model-2") == pytest.approx(2 * 2.262 * error, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 22])
def test_any_number_of_models_is_drawn_for_and_ranked(
    corpus: made.Corpus, tmp_path: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    models = {f"net-{k:02d}": corpus.models[f"model-{k % 4}"] for k in range(number)}
    study = compared(tmp_path / "study", corpus, models)
    capsys.readouterr()
    fs.select(study, sampling=fs.options.Sampling(points=60), engine="local")
    told = capsys.readouterr()
    answer_all(study, corpus, tmp_path / "all")
    found = fs.rank(study, selection="points").rankings["points"]
    for k, model in enumerate(models):
        low, high = found.score_interval[model]
        assert low < found.scores[model] < high
        assert found.scores[model] == pytest.approx(pooled(corpus, f"model-{k % 4}"), abs=0.12)
    twins = [model for model in models if int(model[-2:]) % 4 == 0]
    assert max(found.scores[m] for m in twins) - min(found.scores[m] for m in twins) < 1e-9
    assert set(twins) <= set(found.best_set)  # equal models cannot be told apart
    assert told.err == ""


def test_images_of_different_sizes_are_drawn_from_by_their_pixels(tmp_path: Path) -> None:
    small = made.corpus(tmp_path / "small", images=1, models=2, shape=(12, 16))
    large = made.corpus(tmp_path / "corpus", images=3, models=2, shape=(36, 48), seed=8)
    for folder, other in ((large.photos, small.photos), (large.truth, small.truth)):
        shutil.copy(other / f"{small.ids[0]}.png", folder / "small.png")
    for name, folder in large.models.items():
        shutil.copy(small.models[name] / f"{small.ids[0]}.png", folder / "small.png")
    study = compared(tmp_path / "study", large, size="own")
    drawn = fs.select(study, sampling=fs.options.Sampling(points=400), engine="local").points
    assert drawn[0].pool == 3 * 36 * 48 + 12 * 16
    inside = [(p.row < 12 and p.column < 16) for p in drawn if p.image == "small"]
    assert inside
    assert all(inside)
    fs.label.import_(study, str(large.truth))
    exact = fs.rank(study, selection="points").rankings["points"].scores
    measured = fs.measure(study, resamples=0, worst=0)
    for model, score in exact.items():
        assert measured.models[model]["miou"]["value"] == pytest.approx(score, abs=1e-9)


def test_a_pool_of_one_image_is_drawn_from(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=1, models=3)
    study = compared(tmp_path / "study", corpus)
    drawn = fs.select(study, sampling=fs.options.Sampling(points=80), engine="local").points
    assert {p.image for p in drawn} == set(corpus.ids)
    answer_all(study, corpus, tmp_path / "all")
    found = fs.rank(study, selection="points")
    assert found.rankings["points"].scores["model-1"] == pytest.approx(pooled(corpus, "model-1"), abs=0.1)
    assert found.to_come == {}


@pytest.mark.slow
def test_where_models_say_the_same_points_are_drawn_evenly_and_tell_the_level_alone(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    models = {f"net-{k}": corpus.models["model-2"] for k in range(3)}
    study = compared(tmp_path / "study", corpus, models)
    drawn = fs.select(study, sampling=fs.options.Sampling(points=120), engine="local").points
    assert [p.probability for p in drawn] == pytest.approx([1 / (10 * 36 * 48)] * 120)
    answer_all(study, corpus, tmp_path / "all")
    found = fs.rank(study, selection="points")
    ranking = found.rankings["points"]
    assert ranking.best_set == ["net-0", "net-1", "net-2"]
    assert ranking.scores["net-1"] == pytest.approx(pooled(corpus, "model-2"), abs=0.1)
    assert "do not decide" in repr(found)


@pytest.mark.slow
def test_a_margin_is_that_of_the_models_that_points_were_drawn_for(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    drawn = fs.select(
        study, sampling=fs.options.Sampling(points=60, border=1), as_="inside", engine="local"
    ).points
    answer_all(study, corpus, tmp_path / "all", "inside")
    before = fs.rank(study, selection="inside").rankings["points"].scores
    with_models(study, some(corpus, "model-3"))
    after = fs.rank(study, selection="inside").rankings["points"].scores
    assert [*after] == [*before, "model-3"]
    assert Study(study).selection("inside").slots.points == drawn


def test_points_do_not_ask_for_masks(study: str) -> None:
    made_ = Study(study).selection("points")
    assert made_.now.images == ()
    assert made_.now.asked == POINTS
    told = repr(fs.select(study, sampling=fs.options.Sampling(points=POINTS)))
    assert f"points: {POINTS} points to answer in 10 images, drawn for the order of the models" in told
    fs.select(study, goal="order", budget=4, engine="local")
    assert Study(study).selection("order").now.asked == 4
    rows = fs.status(study)
    assert any(words == f"points: {POINTS} points" for _, _, words in rows.stages)


def test_answers_of_a_person_who_is_forgotten_are_taken_back_and_old_databases_have_room_for_points(
    study: str, tmp_path: Path
) -> None:
    held = Study(study)
    first, second = points_of(study)[:2]
    for point, who in ((first, "ann"), (second, "ben")):
        held.point_answers.add(PointAnswer(point.image, point.row, point.column, "car", who), "test")
    take_back_all(held.database, "ann", "test")
    assert [one.annotator for one in held.point_answers.answers()] == ["ben"]
    # a database that was made before there were points
    earlier = Database(tmp_path)
    earlier.create_tables()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as connection:
        connection.execute("DROP TABLE points")
        connection.commit()
    answers = PointAnswers(tmp_path, Database(tmp_path))
    assert answers.rows() == []
    assert answers.truths() == []
    answer = PointAnswer("x", 1, 2, "car|road", "ann", key="k")
    assert answers.add(answer, "test")
    assert not answers.add(answer, "test")
    assert [one.answer for one in answers.answers()] == ["car|road"]
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as connection,
        pytest.raises(sqlite3.IntegrityError, match="only ever added"),
    ):
        connection.execute("DELETE FROM points")


@pytest.mark.slow
def test_points_drawn_for_an_order_say_that_single_scores_are_known_less_well(
    study: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.select(study, sampling=fs.options.Sampling(points=60), goal="values", as_="values", engine="local")
    for name in ("points", "values"):
        answer_all(study, corpus, tmp_path / name, name)
    for loose in (0, 100):  # times as uncertain as differences
        monkeypatch.setattr("faultscape.verbs.rank.points.LOOSE", loose)
        told = [
            note for note in fs.rank(study, selection="points").notes if "drawn to tell models apart" in note
        ]
        assert len(told) == (loose == 0)
    monkeypatch.setattr("faultscape.verbs.rank.points.LOOSE", 0)
    assert not any("drawn to tell" in note for note in fs.rank(study, selection="values").notes)
