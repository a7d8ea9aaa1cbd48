"""Boxes in a study of points: they narrow what is expected, split no other image's tuples, and leave with their
images, their people, and as soon as a mask says more.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.maps.boxes import Box, scaled
from faultscape.ranking.points.answers import PointAnswers as Told
from faultscape.ranking.points.box_states import OPEN, SHUT, BoxStates
from faultscape.ranking.points.pool import PointPool
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.boxes.open_classes import open_classes
from faultscape.reading.points.evidence import totals_from
from faultscape.reading.points.pool import StoredPool, drawable, read_point_pool
from faultscape.reading.points.tuples import Scope
from faultscape.reading.study import Study
from faultscape.selection.points.probabilities import point_allocation, point_probabilities
from faultscape.study.answers.boxes import BoxAnswer, text_of
from faultscape.study.answers.withdrawal import take_back_all
from made_point_study import POINTS, answer_all, boxes_of, compared, pointed, put_boxes, some

CLASSES = len(made.NAMES)
BOXED = 6  # images


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    return pointed(tmp_path / "study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


@pytest.fixture
def corpus(made_once: tuple[str, made.Corpus]) -> made.Corpus:
    return made_once[1]


def ranked(study: str) -> dict[str, Any]:
    fs.rank(study, selection="points")
    return json.loads((Path(study) / "standings-points.json").read_text())


def pool_of(study: str) -> StoredPool:
    held = Study(study)
    images = drawable(held, held.models, held.selection("points").slots.definition)
    return read_point_pool(held, Scope(tuple(held.models), "labels", 0, tuple(held.models)), images)


@pytest.mark.slow
def test_boxes_and_points_speak_in_one_ranking(
    study: str, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_all(study, corpus, tmp_path / "all")
    before = ranked(study)
    put_boxes(study, corpus, 10)
    assert made.states(study)["rank"] == "stale"
    after = ranked(study)
    assert made.states(study)["rank"] == "done"
    assert after["labels"] == before["labels"] | {"boxed": 10}
    widths = [
        sum(high - low for low, high in one["rankings"]["points"]["score_interval"].values())
        for one in (before, after)
    ]
    assert widths[1] < 0.7 * widths[0]
    note = "boxes in 10 images narrow what is expected there, and count as no answer"
    assert note in after["notes"]
    capsys.readouterr()
    assert f"from {POINTS} answered points and boxes in 10 images" in repr(
        fs.Study(study).standings("points")
    )
    # more are drawn by what boxes leave open, each with the probability of its own round
    held = Study(study).selection("points").slots.points
    more = fs.select(study, more=20, as_="points", engine="local").points
    assert more[:POINTS] == held


@pytest.mark.slow
def test_boxes_of_an_image_with_a_mask_of_a_discarded_one_or_taken_back_change_nothing(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    for image in corpus.ids[:2]:
        (tmp_path / "masks" / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", tmp_path / "masks" / f"{image}.png")
    fs.label.import_(study, str(tmp_path / "masks"))
    (tmp_path / "discard.csv").write_text(f"image,reason\n{corpus.ids[2]},blurred\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    answer_all(study, corpus, tmp_path / "all")
    before = ranked(study)
    assert before["labels"]["masks"] == 2
    put_boxes(study, corpus, 3)
    after = ranked(study)
    for same in ("labels", "rankings", "notes"):
        assert after[same] == before[same]
    put_boxes(study, corpus, 5)
    assert ranked(study)["labels"]["boxed"] == 2
    take_back_all(Study(study).database, "bo", "made")
    gone = ranked(study)
    for same in ("labels", "rankings", "notes"):
        assert gone[same] == before[same]


@pytest.mark.slow
def test_answers_outside_of_all_boxes_count_and_are_told(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    answer_all(study, corpus, tmp_path / "all")
    nothing = [BoxAnswer(id_, text_of(made.NAMES[:1], []), "bo") for id_ in corpus.ids]
    box_answers(Study(study)).add_all(nothing, "made")  # nowhere is the first class
    points = Study(study).selection("points").slots.points
    truths = dict(zip(corpus.ids, corpus.truths, strict=True))
    wrong = sum(int(truths[point.image].ravel()[point.pixel]) == 0 for point in points)
    notes = ranked(study)["notes"]
    assert any(f"{wrong} answers show a class outside of all its boxes" in note for note in notes)


def test_a_stored_pool_with_boxes_is_that_in_memory(study: str, corpus: made.Corpus) -> None:
    plain = pool_of(study)
    folder = Path(study, "tuples", plain.scope.name)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.tuples")}
    put_boxes(study, corpus, BOXED)
    pool = pool_of(study)
    # a shard without boxes is not counted again
    after = {path: path.stat().st_mtime_ns for path in folder.glob("*.tuples")}
    assert len(before) == len(after) == 3
    assert len(before.items() & after.items()) == 1
    assert plain.boxed_number == 0
    assert pool.boxed_number == BOXED
    held = Study(study)
    maps = np.array([[held.maps(model)[image] for image in pool.images] for model in held.models])
    states = np.zeros((*maps.shape[1:], CLASSES), np.uint8)
    for k, image in enumerate(pool.images):
        if image in corpus.ids[:BOXED]:
            found = boxes_of(corpus.truths[corpus.ids.index(image)])
            for place, name in enumerate(made.NAMES[:-1]):
                states[k, ..., place] = SHUT
                for of, box in found:
                    if of == name:
                        states[k, box.top : box.bottom, box.left : box.right, place] = OPEN
    columns, place, pixels = np.unique(
        np.concatenate([maps.reshape(len(maps), -1), states.reshape(-1, CLASSES).T]),
        axis=1,
        return_inverse=True,
        return_counts=True,
    )
    boxes = BoxStates(*np.unique(columns[len(maps) :].T, axis=0, return_inverse=True))
    none = Told(np.zeros(0, int), np.zeros(0), np.zeros((0, CLASSES + 1)))
    whole = totals_from(PointPool(columns[: len(maps)], pixels, CLASSES, boxes=boxes), none, held.classes)
    found = totals_from(pool, none, held.classes)
    assert found.believed == pytest.approx(whole.believed)
    assert found.believed != pytest.approx(totals_from(plain, none, held.classes).believed)
    # and pixels are drawn as often as their probabilities say
    number = 20_000
    drawn = pool.draw(point_allocation(found), (np.arange(number)[:, None] + 0.5) / number)
    chance = point_probabilities(whole)[place.ravel()]
    at = np.array([pool.images.index(image) * maps[0, 0].size + pixel for image, pixel, _ in drawn])
    assert [probability for _, _, probability in drawn] == pytest.approx(chance[at], rel=1e-9)
    assert np.abs(np.bincount(at, minlength=len(chance)) - number * chance).max() < 1 + 1e-6


@pytest.mark.slow
def test_boxes_lie_where_maps_of_another_size_take_their_pixels(corpus: made.Corpus, tmp_path: Path) -> None:
    sized = compared(tmp_path / "sized", corpus, some(corpus, "model-0", "model-2"), size="24x18")
    fs.select(sized, sampling=fs.options.Sampling(points=60), engine="local")
    put_boxes(sized, corpus, 10)
    pool = pool_of(sized)
    assert pool.boxed_number == 10
    answer_all(sized, corpus, tmp_path / "all")
    # each answer lies inside a box of its class: rows and columns of points are those of the image
    assert not any("outside of all its boxes" in note for note in ranked(sized)["notes"])


def test_open_classes_are_those_of_each_pixel_however_many_boxes_overlap() -> None:
    rng = np.random.default_rng(0)
    boxes: dict[int, list[Box]] = {}
    for place in range(40):
        corner = rng.integers(0, 30, (3, 2))
        boxes[place] = [Box(int(x), int(y), int(x + 5), int(y + 7)) for x, y in corner][: place % 4]
    text = json.dumps({place: [box[:4] for box in mine] for place, mine in boxes.items()})
    found = open_classes(text, (40, 40), (20, 30), 50)
    each = found.states[found.rows]
    assert each.shape == (30, 20, 50)
    assert (each[..., 40:] == 0).all()
    for place, mine in boxes.items():
        inside = np.zeros((30, 20), bool)
        for box in scaled(mine, (40, 40), (20, 30)):
            inside[box.top : box.bottom, box.left : box.right] = True
        assert (each[..., place] == np.where(inside, OPEN, SHUT)).all()
    assert len(np.unique(found.states, axis=0)) == len(found.states)
