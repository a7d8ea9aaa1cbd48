"""How many points it takes: what `plan`, the verdict and the next line say before any answer and after, and
`run --points` from nothing to the verdict.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import ModelError, SelectionError
from faultscape.ranking.planning.point_needs import points_to_tell
from faultscape.reading.study import Study
from faultscape.standings import Gap
from faultscape.study.answers.points import PointAnswer
from faultscape.verbs.plan.result import LabelPlan
from faultscape.verbs.rank.artefact import STANDINGS
from golden import STUDY, copied
from made_point_study import compared, put_boxes
from refusals import refused, refused_line, told

POINTS = 60


def _make(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=8, models=3)
    compared(folder / STUDY, corpus)
    return corpus


@pytest.fixture
def made_once(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study of three models for which nothing is drawn, and what it was made of."""
    return copied("points plan", _make, tmp_path / "study")


@pytest.fixture
def study(made_once: tuple[str, made.Corpus]) -> str:
    return made_once[0]


@pytest.fixture
def corpus(made_once: tuple[str, made.Corpus]) -> made.Corpus:
    return made_once[1]


def drawn(study: str, number: int = POINTS) -> None:
    fs.select(study, sampling=fs.options.Sampling(points=number), engine="local")


def answer(study: str, corpus: made.Corpus, number: int | None = None) -> None:
    """Answer the first points by the truth, as the browser stores it."""
    held = Study(study)
    truths = dict(zip(corpus.ids, corpus.truths, strict=True))
    for point in held.selection("points").slots.points[:number]:
        seen = made.NAMES[truths[point.image][point.row, point.column]]
        held.point_answers.add(PointAnswer(point.image, point.row, point.column, seen, "ann"), "test")


def typed(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(shlex.split(line)[1:]) == 0, line
    return capsys.readouterr().out


def leave_open(study: str, gaps: Sequence[Gap]) -> None:
    """Write standings of the answers in which the first two models are open."""
    found = fs.rank(study, selection="points", engine="local")
    table = found.rankings["points"]
    first, second = table.order[:2]
    open_ = replace(table, gaps=list(gaps), tied_for_best=[first, second], best_set=[first, second])
    path = STANDINGS.path(Study(study), "points")
    document = json.loads(path.read_text())
    document["rankings"]["points"] |= {
        "gaps": [vars(gap) for gap in open_.gaps],
        "tied_for_best": open_.tied_for_best,
        "best_set": open_.best_set,
    }
    path.write_text(json.dumps(document))


def gap(study: str, difference: float, half: float) -> Gap:
    first, second, *_ = Study(study).models
    return Gap(first, second, difference, [difference - half, difference + half], False)


def test_before_anybody_clicks_a_plan_says_how_many_points_close_models_need(study: str) -> None:
    found = fs.plan(study, cost={"mask": 36_000}, engine="local")
    points = found.points
    assert points is not None
    assert (points["answered"], points["selection"]) == (0, None)
    rows = {row["apart"]: row for row in points["apart"]}
    assert list(rows) == [1.0, 1.5, 2.0, 3.0, 5.0]
    # half the difference takes four times the points
    assert rows[1.0]["points"] == pytest.approx(4 * rows[2.0]["points"], rel=1e-3)
    assert rows[1.5]["point_hours"] == pytest.approx(rows[1.5]["points"] * 4 / 3600)
    assert rows[1.5]["map_hours"] == rows[1.5]["maps"] * 10
    told = repr(found)
    assert "Points or maps: to tell models apart, all pairs at once, with 95 % confidence" in told
    assert "  models 1.5 apart" in told
    assert "Points tell the pooled mIoU, masks and choices the mean over images" in " ".join(told.split())
    assert "Models that close stay open until then" in " ".join(told.split())
    assert f"\n  faultscape select {study} --points 300\n" in told
    assert all(len(line) <= 80 for line in told.splitlines() if not line.startswith("  faultscape"))
    written = json.loads((Path(study) / "plan.json").read_text())["points"]
    assert [row["points"] for row in written["apart"]] == [row["points"] for row in points["apart"]]
    assert written["questions"].keys() == points["questions"].keys() == found.questions.keys()


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 3])
def test_a_model_alone_has_a_plan_from_nothing_to_its_own_score(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], together: int
) -> None:
    study = str(made.collected(corpus, tmp_path / "alone", 4))
    with refused(ModelError, "a plan needs two models; the study has none"):
        fs.plan(study)
    fs.predict(study, {"only": corpus.models["model-1"]}, engine="local")
    found = fs.plan(study, cost={"point": 10}, within=4, engine="local")
    rows = {row["within"]: row for row in found.points["half_widths"]}
    assert list(rows) == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert rows[1.0]["points"] == pytest.approx(4 * rows[2.0]["points"], rel=1e-3)  # as 1 / n
    assert rows[2.0]["point_hours"] == pytest.approx(rows[2.0]["points"] * 10 / 3600)
    line = recommended(found)
    assert re.fullmatch(rf"faultscape select {study} --goal values --points \d+", line)
    assert int(line.split()[-1]) >= rows[3.0]["points"]
    typed(f"faultscape select {study} --goal values --points {POINTS} --per-image {together}", capsys)
    waiting = fs.plan(study, engine="local")
    assert recommended(waiting) == f"faultscape label serve {study} --selection points"
    answer(study, corpus)
    known = fs.plan(study, engine="local")
    assert known.points["answered"] == POINTS
    line = recommended(known)
    assert line == f"faultscape measure {study} --selection points"
    typed(line, capsys)
    entry = json.loads((Path(study) / "measures-points" / "points" / "measure.json").read_text())
    miou = entry["models"]["only"]["miou"]
    half = 100 * (miou["high"] - miou["low"]) / 2
    rows = {row["within"]: row["points"] for row in known.points["half_widths"]}
    assert 1 < POINTS * (half / 3) ** 2 / rows[3.0] < 1.8  # an interval of few draws is Student's
    more = fs.plan(study, within=0.1, engine="local")
    assert re.fullmatch(rf"faultscape select {study} --as points --more \d+", recommended(more))
    assert fs.plan(study, within=50, engine="local").recommended is None
    assert all(len(text) <= 80 for text in repr(known).splitlines() if not text.startswith("  faultscape"))


def recommended(found: LabelPlan) -> str:
    """The line that a plan recommends."""
    return next(line.strip() for line in repr(found).splitlines() if line.startswith("  faultscape"))


@pytest.mark.slow
def test_a_sample_of_a_large_pool_is_enough(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, some = (plan_of(study, monkeypatch, looked) for looked in (2000, 4))
    assert all(1 / 2 < one / other < 2 for one, other in zip(some, whole, strict=True))
    assert some != whole


def plan_of(study: str, monkeypatch: pytest.MonkeyPatch, looked: int) -> list[int]:
    """The points for models that are so far apart, by a plan that looks at so many images."""
    monkeypatch.setattr("faultscape.reading.points.needs.LOOKED_AT", looked)
    found = fs.plan(study, engine="local").points
    return [row["points"] for row in found["apart"]]


@pytest.mark.slow
def test_costs_of_points_and_maps_decide_what_a_plan_recommends(study: str) -> None:
    slow = fs.plan(study, cost={"point": 600, "mask": 60}, engine="local")
    assert slow.recommended["selector"] == "information"
    assert "--points" not in repr(slow)
    rows = slow.points["apart"]
    assert rows[0]["point_hours"] == pytest.approx(rows[0]["points"] / 6)
    fs.select(study, goal="order", budget=4, engine="local")  # masks are begun, and go on
    begun = fs.plan(study, cost={"mask": 36_000}, engine="local")
    assert begun.recommended["verb"] == "label"
    assert f"faultscape select {study} --points 300" in begun.recommended["instead"]


@pytest.mark.slow
def test_boxes_make_fewer_points_enough_and_pay_with_few_objects_an_image(
    study: str, corpus: made.Corpus
) -> None:
    before = fs.plan(study, cost={"box": 5}, engine="local")
    points = {row["apart"]: row["points"] for row in before.points["apart"]}
    boxes = before.points["boxes"]
    # half of the points at 4 seconds, over 8 images and boxes of 5 seconds
    assert boxes["objects"] == pytest.approx(points[1.5] / 2 * 4 / 8 / 5, abs=0.1)
    assert f"pay with fewer than {boxes['objects']:g} objects an image" in " ".join(repr(before).split())
    put_boxes(study, corpus, 8)
    after = fs.plan(study, engine="local")
    assert after.points["boxes"] == {"images": 8, "boxed": 8, "objects": None}
    assert "Boxes in 8 of 8 images count already." in " ".join(repr(after).split())
    assert all(row["points"] < 0.8 * points[row["apart"]] for row in after.points["apart"])


def test_select_says_it_too_before_anybody_clicks(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = typed(f"faultscape select {study} --points {POINTS}", capsys)
    assert "note: two models 1.5 points of mIoU apart stay open until some " in told
    assert "stay open" not in typed(f"faultscape select {study} --as points --points {POINTS}", capsys)
    told = typed(f"faultscape select {study} --as scores --goal values --points {POINTS}", capsys)
    assert re.search(r"note: each mIoU is known to about ±3 points of 100 from [\d,]+ answers on", told)
    assert "stay open" not in told


@pytest.mark.slow
def test_answers_narrow_the_plan_and_it_goes_on_with_the_points(study: str, corpus: made.Corpus) -> None:
    drawn(study)
    waiting = fs.plan(study, engine="local")
    assert waiting.points["selection"] == "points"
    assert waiting.recommended["verb"] == "label"
    assert f"\n  faultscape label serve {study} --selection points\n" in repr(waiting)
    answer(study, corpus)
    known = fs.plan(study, engine="local")
    assert known.points["answered"] == POINTS
    assert "from the predictions and 60\n  answered points" in repr(known)
    assert f"\n  faultscape rank {study} --selection points\n" in repr(known)
    before, after = (found.points["questions"]["best_proved"] for found in (waiting, known))
    assert after["high"] < before["high"]
    fs.rank(study, selection="points", engine="local")
    line = fs.status(study).next  # whether they decide or not, there is one line
    assert line == f"faultscape select {study} --as points --more {POINTS}"
    assert f"\n  {line}\n" in repr(fs.plan(study, engine="local"))


@pytest.mark.slow
def test_the_next_line_draws_as_many_more_points_as_the_open_question_needs_at_most_doubling(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn(study)
    answer(study, corpus)
    near = gap(study, 0.0225, 0.021)
    leave_open(study, [near])
    need = points_to_tell(near, POINTS, 3)
    assert POINTS < need.points < POINTS + 50
    found = fs.status(study)
    line = f"faultscape select {study} --as points --more 50"
    assert found.next == found.verdict.next == line
    assert found.verdict.hours == pytest.approx(50 * 4 / 3600)
    assert f"next: {line}  # at most 3 minutes of labelling" in repr(found)
    assert "model-0 or model-1 (about 50 more points would decide this pool, 50 to " in repr(found)
    assert fs.verdict(study).next == line
    leave_open(study, [gap(study, 0.001, 0.03)])
    assert fs.status(study).next == f"faultscape select {study} --as points --more {POINTS}"
    assert "at least " in repr(fs.verdict(study))
    assert fs.plan(study, engine="local").recommended["round"] == POINTS
    typed(fs.status(study).next, capsys)
    with refused(SelectionError, "of the 60 points that --more drew last"):
        fs.select(study, as_="points", more=POINTS)


@pytest.mark.slow
def test_points_to_answer_come_before_a_report_or_a_measure_that_is_out_of_date(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn(study)
    answer(study, corpus, POINTS - 20)
    fs.rank(study, selection="points", engine="local")
    asks = f"faultscape label serve {study} --selection points"
    assert fs.status(study).next == asks  # the page is not made yet
    fs.report(study, selection="points")
    measure = f"faultscape measure {study} --selection points"
    typed(measure, capsys)
    answer(study, corpus, POINTS - 10)
    assert fs.status(study).next == f"faultscape rank {study} --selection points"
    fs.rank(study, selection="points", engine="local")
    assert made.states(study)["report"] == made.states(study)["measure"] == "stale"
    assert fs.status(study).next == asks
    answer(study, corpus)
    fs.rank(study, selection="points", engine="local")
    leave_open(study, [])
    assert fs.status(study).next == measure


@pytest.mark.slow
def test_where_no_number_of_points_would_tell_it_says_so(
    study: str, corpus: made.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(study)
    answer(study, corpus)
    leave_open(study, [gap(study, 0.0, 0.03)])
    fs.report(study, selection="points")
    monkeypatch.setattr("faultscape.ranking.planning.point_needs.MOST_POINTS", 200)
    told = repr(fs.status(study))
    assert "model-0 or model-1 (more than 20,000 points would be needed)" in told
    assert told.endswith(
        "next: nothing\n      more than 20,000 points would be needed: the best models are nearly equal"
    )


@pytest.mark.slow
def test_points_too_few_to_rank_ask_for_as_many_as_it_takes(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn(study, 10)
    assert fs.status(study).next == f"faultscape label serve {study} --selection points"
    answer(study, corpus, 4)
    assert "4 points are answered, and nothing is ranked yet." in repr(fs.status(study))
    answer(study, corpus)
    assert fs.status(study).next == f"faultscape select {study} --as points --more 20"
    typed(fs.status(study).next, capsys)
    answer(study, corpus)
    assert fs.run(study, engine="local").status.verdict.models


@pytest.mark.slow
def test_from_nothing_to_the_verdict_in_two_lines(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(tmp_path / "new")
    models = [f"{name}={source}" for name, source in corpus.models.items()]
    words = ["run", study, str(corpus.photos), *models, "--classes", str(corpus.classes), "--points", "90"]
    line = shlex.join(["faultscape", *words])
    told = typed(line, capsys)
    done, note, *_ = [text for text in told.splitlines() if "points" in text]
    assert done.startswith("points: 90 points to answer in ")
    assert note.startswith("note: two models 1.5 points of mIoU apart stay open until some ")
    assert "No point is answered." in told
    assert told.rstrip().splitlines()[-2:] == [
        f"next: faultscape label serve {study} --selection points  # about 6 minutes of labelling",
        f"or:   faultscape label export {study} points/ --format points --selection points",
    ]
    assert typed(line, capsys).count("points to answer") == 0  # the same points
    answer(study, corpus, 50)  # stopped early: the first points are a fair sample
    told = typed(f"faultscape run {study}", capsys)
    assert "Standings of 3 models from 50 answered points" in told
    assert f"next: faultscape label serve {study} --selection points" in told
    answer(study, corpus)
    told = typed(f"faultscape run {study}", capsys)
    assert "Standings of 3 models from 90 answered points" in told
    assert "\nmodel-0 is ahead of model-1 by " in told
    assert " points of pooled mIoU [" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--points", "0"], "--points must be 1 to 100,000 points; got 0"),
        (["--points", "-3"], "--points must be 1 to 100,000 points; got -3"),
        (["--points", "many"], "--points must be a whole number; got 'many'"),
        (["--points", "100001"], "--points must be 1 to 100,000 points; got 100001"),
        (["--points", "9", "--goal", "failures"], "leave out one"),
        (["--points", "9", "--images", "5"], "run has no option --images"),
        (["--points", "9", "--top", "5"], "--top chooses images, and --points draws pixels; leave out one"),
        (["--points", "9", "--task", "classification"], "points are pixels of label maps"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_made(
    corpus: made.Corpus, tmp_path: Path, words: list[str], message: str
) -> None:
    study = tmp_path / "new"
    arguments = [str(corpus.photos), *(f"{name}={source}" for name, source in corpus.models.items())]
    told = refused_line("run", str(study), *arguments, "--classes", str(corpus.classes), *words)
    assert message in told
    assert not study.exists()


def test_more_points_than_pixels_are_refused(study: str) -> None:
    with refused(SelectionError, "14,000 points are more than the 13,824 pixels that can be drawn"):
        drawn(study, 14_000)


@pytest.mark.slow
def test_a_part_of_the_images_is_ranked_by_its_points(study: str, corpus: made.Corpus) -> None:
    drawn(study, 120)
    answer(study, corpus)
    whole = fs.rank(study, selection="points", engine="local")
    fs.collect(study, grouping=fs.options.Grouping(group="{group}/photo *"))
    half = fs.rank(study, selection="points", where="group=part0", engine="local")
    assert half.labels["used"] < whole.labels["used"]
    assert half.definitions["where_images"] == 4
    fs.label.import_(study, str(corpus.truth))  # then the part is known in full
    exact = fs.rank(study, selection="points", where="group=part0", engine="local").rankings["points"]
    part = [k for k in range(len(corpus.ids)) if k % 2 == 0]
    for name, score in exact.scores.items():
        said, true = corpus.maps[name][part], corpus.truths[part]
        both = [((said == c) & (true == c)).sum() for c in range(len(made.NAMES))]
        either = [((said == c) | (true == c)).sum() for c in range(len(made.NAMES))]
        assert score == pytest.approx(
            sum(b / e for b, e in zip(both, either, strict=True) if e) / sum(e > 0 for e in either)
        )


@pytest.mark.slow
def test_a_selection_of_points_can_be_named_before_and_after_answers(study: str, corpus: made.Corpus):
    drawn(study)
    fs.select(study, as_="others", sampling=fs.options.Sampling(points=40), engine="local")

    def of(selection: str | None = None) -> str | None:
        points = fs.plan(study, selection=selection, engine="local").points
        assert points is not None
        return points["selection"]

    assert of("others") == "others"
    answer(study, corpus)
    assert of() == "points"
    assert of("others") == "others"


def test_a_named_selection_of_points_for_other_models_is_refused(study: str):
    drawn(study)
    told("predict", study, "--remove", "model-0")
    with refused(SelectionError, "selection 'points' was drawn from other images or for other models"):
        fs.plan(study, selection="points", engine="local")
