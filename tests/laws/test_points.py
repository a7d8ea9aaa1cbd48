"""The laws of points: the same bytes by any engine and after any kill; the same draws whatever images are called
and in whichever order models come; one image of each group of near-duplicates.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.engine import processes
from faultscape.reading.study import Study
from faultscape.study.answers.points import PointAnswer
from made_point_study import compared, draw_points, group_images, put_boxes

COVERED = ("selection-points.csv", "selection-points.json", "standings-points.json", "tuples")
FIRST = 60
MORE = 20


def answer(study: str, corpus: made.Corpus, names: dict[str, str] | None = None) -> None:
    """Answer all points by the truth; ``names`` are {id of an image: its id in the corpus}."""
    maps = dict(zip(corpus.ids, corpus.truths, strict=True))
    held = Study(study)
    held.point_answers.add_all(
        [
            PointAnswer(
                p.image,
                p.row,
                p.column,
                made.NAMES[maps[(names or {}).get(p.image, p.image)][p.row, p.column]],
                "ann",
            )
            for p in held.selection("points").slots.points
        ],
        "made",
    )


def campaign(study: str, corpus: made.Corpus, engine: str = "local", models: tuple[str, ...] = ()) -> None:
    """Two rounds of points beside masks and boxes, ranked, of images that are groups of their own."""
    given = {name: corpus.models[name] for name in models or corpus.models}
    made.collected(corpus, Path(study), shard_size=3)
    group_images(study)
    for name, source in given.items():
        fs.predict(study, {name: source}, engine="local")
    fs.compare(study, engine="local")
    some = Path(study).parent / "some"
    for image in corpus.ids[:2]:  # known in full, in one shard of several
        (some / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", some / f"{image}.png")
    run = {"engine": engine, "workers": 2}
    fs.select(study, sampling=fs.options.Sampling(points=FIRST), **run)
    answer(study, corpus)
    fs.label.import_(study, str(some))
    put_boxes(study, corpus, 4)  # of images with a mask and without one
    fs.select(study, as_="points", more=MORE, **run)
    answer(study, corpus)
    fs.rank(study, selection="points", engine=engine)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=10, models=3)


@pytest.fixture(scope="module")
def whole(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("whole") / "study"
    campaign(str(study), corpus)
    return study


@pytest.mark.slow
def test_processes_write_the_same_bytes_as_one_process(
    corpus: made.Corpus, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PAYS", -1)
    campaign(str(tmp_path / "study"), corpus, "processes")
    expected = made.bytes_under(whole, *COVERED)
    assert {Path(name).suffix for name in expected} == {".csv", ".json", ".tuples", ".points"}
    assert made.bytes_under(tmp_path / "study", *COVERED) == expected


@pytest.mark.slow
def test_models_in_another_order_draw_the_same_pixels_and_rank_the_same(
    corpus: made.Corpus, whole: Path, tmp_path: Path
) -> None:
    other = tmp_path / "study"
    campaign(str(other), corpus, models=("model-2", "model-0", "model-1"))
    first, second = (Study(str(study)).selection("points").slots.points for study in (whole, other))
    assert [(p.image, p.pixel, p.round) for p in first] == [(p.image, p.pixel, p.round) for p in second]
    assert [p.probability for p in second] == pytest.approx([p.probability for p in first], rel=1e-9)
    rankings = [
        json.loads((study / "standings-points.json").read_text())["rankings"] for study in (whole, other)
    ]
    one, two = (found["points"] for found in rankings)
    assert one["order"] == two["order"]
    assert two["simultaneous_rank_interval"] == one["simultaneous_rank_interval"]
    assert two["scores"] == pytest.approx(one["scores"], rel=1e-9)
    for model, ends in one["score_interval"].items():
        assert two["score_interval"][model] == pytest.approx(ends, rel=1e-7)


def test_names_and_order_of_files_decide_nothing(corpus: made.Corpus, whole: Path, tmp_path: Path) -> None:
    turned = {id_: f"{9 - k}/other {k}" for k, id_ in enumerate(corpus.ids)}
    for folder in (corpus.photos, *corpus.models.values()):
        for was, now in turned.items():
            path = tmp_path / folder.name / f"{now}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / f"{was}.png", path)
    turned_models = {name: tmp_path / name for name in corpus.models}
    study = compared(tmp_path / "study", corpus, turned_models, photos=tmp_path / "photos", shard_size=3)
    draw_points(study, FIRST)
    expected = Study(str(whole)).selection("points").slots.points[:FIRST]
    found = Study(study).selection("points").slots.points
    assert [(p.image, p.pixel) for p in found] == [(turned[p.image], p.pixel) for p in expected]
    assert [p.probability for p in found] == pytest.approx([p.probability for p in expected], rel=1e-9)


@pytest.mark.slow
def test_one_image_of_each_group_of_near_duplicates_and_of_the_pool_alone_is_drawn_from(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(corpus.photos, photos)
    twin, single = corpus.ids[0], corpus.ids[1]
    shutil.copy(photos / f"{twin}.png", photos / f"{single}.png")
    study = compared(tmp_path / "study", corpus, photos=photos, shard_size=3)
    found = fs.select(study, sampling=fs.options.Sampling(points=300), engine="local").points
    assert found[0].pool == 9 * 36 * 48
    assert len({twin, single} & {point.image for point in found}) == 1
    each = fs.select(
        study, sampling=fs.options.Sampling(points=300, keep_duplicates=True), as_="each", engine="local"
    )
    assert each.points[0].pool == 10 * 36 * 48
    fs.collect(study, str(corpus.photos), set_="more", role="train")
    again = fs.select(study, sampling=fs.options.Sampling(points=300), as_="again", engine="local")
    assert again.points == found


@pytest.mark.slow
@pytest.mark.parametrize("change", ["select --points", "rank --selection points"])
def test_killed_at_any_file_and_run_again_the_same_is_there(change: str, whole: Path, tmp_path: Path) -> None:
    if change == "rank --selection points":
        whole = Path(shutil.copytree(whole, tmp_path / "before"))
        shutil.rmtree(whole / "tuples")
        (whole / "standings-points.json").unlink()
    driver = Path(__file__).with_name("dying.py")
    words = [sys.executable, str(driver), str(whole), str(tmp_path), change, ""]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert len(found["deaths"]) > 10
    for place, death in enumerate(found["deaths"]):
        assert death["refused"] == "", place
        assert death["again"] == found["whole"], place
    assert found["deaths"][0]["held"] == found["before"]
