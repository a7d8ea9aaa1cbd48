"""What the answers to points say beside the verdict: `measure --selection points`, and the page of `report`."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import CorpusError, OptionError, RankingError
from faultscape.reading.study import Study
from faultscape.verbs.graph import nodes
from golden import STUDY, copied
from made_page import Page
from made_point_study import POINTS, compared, draw_points, with_models
from refusals import refused

CLASSES = len(made.NAMES)
CANNOT_TELL = range(3, POINTS, 17)  # lines of the table
BORDERS = range(4, POINTS, 19)


def _make(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=10, models=3)
    draw_points(compared(folder / STUDY, corpus), POINTS)
    return corpus


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study of three models with points, of which none is answered, and what it was made of."""
    return copied("points-to-measure", _make, tmp_path / "study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


@pytest.fixture
def corpus(made_once: tuple[str, made.Corpus]) -> made.Corpus:
    return made_once[1]


def answer(study: str, corpus: made.Corpus, name: str = "points", *, most: int = POINTS) -> None:
    """Answer the first points of a selection by the truth; some people cannot tell, some see a border."""
    maps = dict(zip(corpus.ids, corpus.truths, strict=True))
    table = Path(study).parent / "answers.csv"
    with table.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["image", "row", "column", "answer"])
        points = Study(study).selection(name).slots.points
        for line, point in enumerate(points[:most]):
            true = int(maps[point.image][point.row, point.column])
            word = made.NAMES[true]
            if line in BORDERS:
                word = f"{word}|{made.NAMES[(true + 1) % CLASSES]}"
            elif line in CANNOT_TELL:
                word = "cannot tell"
            out.writerow([point.image, point.row, point.column, word])
    fs.label.import_(study, str(table), format="points")


def measured(study: str, name: str = "points", **options: object) -> fs.measure.Measured:  # type: ignore[name-defined]
    return fs.measure(study, part=fs.options.StudyPart(selection=name), **options)


def test_the_line_its_table_and_its_files(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(study, corpus)
    monkeypatch.chdir(Path(study).parent)
    capsys.readouterr()
    assert main(["measure", "study", "--selection", "points"]) == 0
    told = capsys.readouterr().out
    assert re.search(
        r"^model-0  mIoU \.\d{3} \[\.\d\d, 1?\.\d\d\]\*  FWIoU .* MPA .* Dice .* pixel accuracy ",
        told,
        re.MULTILINE,
    )
    assert "note: scores are pooled mIoU" in told
    assert (
        "study/measures-points/points/report.html; beside it measure.json; -v prints the IoU of every class"
        in told
    )
    assert main(["measure", "study", "--selection", "points", "-v"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"^class +points +model-0 +model-1 +model-2$", table, re.MULTILINE)
    assert re.search(rf"^{made.NAMES[0]} +[\d.]+ +\.\d{{3}} \[", table, re.MULTILINE)
    held = json.loads((Path(study) / "measures-points" / "points" / "measure.json").read_text())
    assert held["units"] == {"drawn": "points", "count": POINTS - len(CANNOT_TELL)}
    part = held["points"]
    assert (part["drawn"], part["answered"], part["waiting"]) == (POINTS, POINTS, 0)
    assert part["cannot_tell"] == len(CANNOT_TELL)
    assert part["on_border"] == len(BORDERS)
    assert sum(part["by_class"].values()) == POINTS - len(CANNOT_TELL)
    assert sum(part["by_image"].values()) == POINTS - len(CANNOT_TELL)
    for entry in held["models"].values():
        assert set(entry) == {"miou", "fwiou", "mpa", "dice", "pixel_accuracy"}
        for number in entry.values():
            assert number["low"] < number["value"] < number["high"]
    low, high = part["cannot_tell_leaves_open"]["model-0"]
    assert low < 0 < high
    low, high = part["borders_leave_open"]["model-0"]
    assert low < 0 < high
    Page((Path(study) / "measures-points" / "points" / "report.html").read_text())


@pytest.mark.slow
def test_it_is_what_rank_says_and_near_the_truth(study: str, corpus: made.Corpus) -> None:
    answer(study, corpus)
    found = measured(study).models
    scores = fs.rank(study, selection="points").rankings["points"]
    for model, entry in found.items():
        assert entry["miou"]["value"] == pytest.approx(scores.scores[model], abs=1e-9)
        assert [entry["miou"]["low"], entry["miou"]["high"]] == pytest.approx(scores.score_interval[model])
    fs.label.import_(study, str(corpus.truth), truth="masks")
    real = fs.measure(study, truth="masks", resamples=0, worst=0, engine="local").models
    for model, entry in found.items():
        for metric, number in entry.items():
            assert number["value"] == pytest.approx(real[model][metric]["value"], abs=0.08), (model, metric)


@pytest.mark.slow
def test_where_every_image_has_a_mask_it_is_what_measure_says_of_the_masks(
    study: str, corpus: made.Corpus
) -> None:
    answer(study, corpus, most=60)
    fs.label.import_(study, str(corpus.truth))
    whole = fs.measure(study, resamples=0, worst=0, engine="local").document
    found = measured(study).document
    for model, entry in whole["models"].items():
        for metric, number in found["models"][model].items():
            assert number["value"] == pytest.approx(entry[metric]["value"], abs=1e-9), (model, metric)
            assert [number["low"], number["high"]] == pytest.approx([number["value"]] * 2)
        assert found["models"][model]["miou"]["per_class"] == pytest.approx(entry["miou"]["per_class"])
    assert {m: np.array(rows)[:CLASSES].tolist() for m, rows in whole["confusion"].items()} == found[
        "confusion"
    ]
    over = measured(study, definitions=fs.options.Definitions(over="truth"))
    again = fs.measure(
        study, resamples=0, worst=0, engine="local", definitions=fs.options.Definitions(over="truth")
    )
    assert over.models["model-1"]["dice"]["value"] == pytest.approx(again.models["model-1"]["dice"]["value"])


@pytest.mark.slow
def test_one_model_alone_from_the_draw_to_its_own_miou(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(made.collected(corpus, tmp_path / "alone", 4))
    fs.predict(study, {"only": corpus.models["model-1"]}, engine="local")
    assert main(["select", study, "--points", "200", "--goal", "values"]) == 0
    answer(study, corpus, most=200)
    fs.label.import_(study, str(corpus.truth), truth="masks")
    real = fs.measure(study, truth="masks", resamples=0, worst=0, engine="local").models["only"]
    found = measured(study, truth="labels")
    entry = found.models["only"]["miou"]
    assert entry["value"] == pytest.approx(real["miou"]["value"], abs=0.1)
    assert entry["low"] < real["miou"]["value"] < entry["high"]
    assert "intervals of a model alone from fewer than 1,000 answered points are rough" in str(found.notes)
    capsys.readouterr()
    assert main(["rank", study, "--selection", "points", "--truth", "labels"]) == 0
    assert main(["report", study, "--selection", "points"]) == 0
    text = (Path(study) / "report-points.html").read_text()
    assert "How far is" not in text
    assert "of 1 model is wrong" in text


def test_a_class_that_few_points_decide_says_so(study: str, corpus: made.Corpus) -> None:
    answer(study, corpus, most=36)
    found = measured(study).document
    deciding = found["points"]["deciding"]["model-0"]
    few = {name for name, number in deciding.items() if number < 5}
    assert 0 < len(few) < CLASSES
    entry = found["models"]["model-0"]["miou"]
    assert {name for name, low in entry["per_class_low"].items() if low is None} == few
    without = {name for name, number in deciding.items() if not number}
    assert {name for name, value in entry["per_class"].items() if value is None} == without
    page = (Path(study) / "measures-points" / "points" / "report.html").read_text()
    assert "few points" in page
    shown = {name for name, number in found["points"]["by_class"].items() if number}
    rows = dict(zip(made.NAMES, found["confusion"]["model-0"], strict=True))
    assert {name for name, row in rows.items() if any(row)} < shown


@pytest.mark.slow
def test_it_is_stale_once_more_is_answered_and_status_prints_its_line(
    study: str, corpus: made.Corpus
) -> None:
    answer(study, corpus, most=100)
    measured(study, definitions=fs.options.Definitions(over="truth"))
    assert made.states(study)["measure"] == "done"
    answer(study, corpus)
    assert made.states(study)["measure"] == "stale"
    line = f"faultscape measure {study} --selection points --over truth"
    assert [one.line for one in nodes(Study(study)) if one.verb == "measure"] == [line]
    assert main(shlex.split(line)[1:]) == 0
    assert made.states(study)["measure"] == "done"


def test_what_cannot_be_measured_from_points(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    with refused(OptionError, "--worst is about maps and scores of images"):
        measured(study, worst=5)
    with refused(OptionError, "--selection names one of a study, but .* is not a study"):
        measured(str(tmp_path))
    fs.select(study, goal="order", budget=5, engine="local")
    with refused(OptionError, "selection 'order' chooses images, and measure counts every image with a mask"):
        measured(study, "order")
    answer(study, corpus, most=20)
    with refused(
        CorpusError, "has a map in truth 'labels'; to measure from answers to points: .* --selection points"
    ):
        fs.measure(study)
    with refused(RankingError, r"has 19 answered points in truth 'labels', and at least 30 are needed"):
        measured(study)


@pytest.mark.slow
def test_the_page_of_points_before_and_after_answers(study: str, corpus: made.Corpus) -> None:
    page = Path(study) / "report-points.html"
    fs.report(study, selection="points")
    text = page.read_text()
    assert f"<h1>{POINTS} points to answer</h1>" in text
    assert "<code>faultscape label serve study <span" in text
    assert "No point is answered yet." in text
    answer(study, corpus)
    fs.rank(study, selection="points")
    made_ = fs.report(study, selection="points")
    assert repr(made_).startswith(f"{page}: {POINTS} points, ")
    text = page.read_text()
    Page(text)
    assert "<h1>Use model-0" in text
    assert "How far is model-0 ahead?" in text
    assert "settled" in text
    assert 'id="classes"' in text
    assert 'id="confusion"' in text
    assert "on a border <b>8</b>" in text
    assert f"{len(CANNOT_TELL)} points (6 % of those answered) where nobody can tell" in text
    assert "Hardest points" in text
    assert text.count('<article class="card said point">') > 5
    assert text.count("data:image/") == text.count('<article class="card said point">')
    assert made.states(study)["report"] == "done"


@pytest.mark.slow
def test_the_page_follows_the_answers_and_the_discards(study: str, corpus: made.Corpus) -> None:
    answer(study, corpus, most=100)
    fs.rank(study, selection="points")
    fs.report(study, selection="points")
    assert made.states(study)["report"] == "done"
    (Path(study).parent / "discard.csv").write_text(f"image,reason\n{corpus.ids[0]},blurred\n")
    fs.label.import_(study, str(Path(study).parent / "discard.csv"))
    assert made.states(study)["report"] == "stale"
    fs.rank(study, selection="points")
    fs.report(study, selection="points")
    text = (Path(study) / "report-points.html").read_text()
    points = Study(study).selection("points").now.points
    assert f"{len(points)} points of selection" in text
    assert "of 9 images" in text


@pytest.mark.slow
def test_a_model_that_came_later_is_measured_by_the_same_answers(study: str, corpus: made.Corpus) -> None:
    answer(study, corpus)
    with_models(study, {"later": corpus.models["model-2"]})
    fs.rank(study, selection="points")
    found = measured(study).models
    assert list(found) == ["model-0", "model-1", "model-2", "later"]
    assert found["later"]["miou"]["value"] == pytest.approx(found["model-2"]["miou"]["value"], abs=1e-6)
    fs.report(study, selection="points")
    assert "<b>model-2, later</b>" in (Path(study) / "report-points.html").read_text()


@pytest.mark.slow
def test_the_page_without_the_image_files(corpus: made.Corpus, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(corpus.photos, photos)
    study = compared(tmp_path / "moving", corpus, photos=photos)
    draw_points(study, 60)
    answer(study, corpus, most=60)
    fs.rank(study, selection="points")
    shutil.rmtree(photos)
    fs.report(study, selection="points")
    text = (Path(study) / "report-points.html").read_text()
    assert "the image cannot be read" in text
    assert "data:image/" not in text
