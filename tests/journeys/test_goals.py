"""Two questions, two ways to draw: the order of all models, and which one is best; through a study, and as
the committed table says.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import Draw
from faultscape.ranking import catalogue as rankings_catalogue
from faultscape.ranking.drawn.leader import Consensus, leading_margins
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.selection import catalogue, information, proposals
from faultscape.study.tables.corpus import pool, read_corpus
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.verb import group_options
from refusals import refused

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "choice.md"
ERRORS = (0.1, 0.3, 0.5, 0.2)
IS = {
    "LURE + control": "prediction_powered",
    "mean": "reuse_mean",
    "margins re-used + control": "reuse_margins",
}


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "answers", errors=ERRORS)


def facts(rows: tuple[Draw, ...]) -> list[tuple[str, float]]:
    return [(row.image, row.probability) for row in rows]


def probabilities(weight: np.ndarray, places: list[int], taken: list[int]) -> list[float]:
    """Return the probability of each step when images of such weights are drawn one after the other."""
    left, out = weight.copy(), []
    left[taken] = 0
    for place in places:
        out.append(left[place] / left.sum())
        left[place] = 0
    return out


@pytest.mark.parametrize("goal", ["order", "best"])
def test_the_default_of_each_goal_is_what_the_table_chose(goal: str) -> None:
    said = re.search(rf"^\| {goal} \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert said is not None
    selector, ranking = said.groups()
    assert catalogue.GOALS[goal] == selector.removesuffix(", at once")
    assert selector.endswith(", at once") == (goal == "order")  # the draws for the order do not learn
    how = rankings_catalogue.BEST if goal == "best" else rankings_catalogue.CHANCE
    assert rankings_catalogue.FIRST[how][0] == IS[ranking]


def test_for_the_order_draws_are_the_same_whatever_labels_say(answers: made_answers.Answers) -> None:
    assert main(["select", answers.study, "--goal", "order", "--budget", "12"]) == 0
    slots = read_selection(Path(answers.study), "order")[0]
    assert slots.definition["selector"] == catalogue.GOALS["order"]
    assert slots.definition["goal"] == "order"
    labels = np.stack(list(answers.labels.values()))
    differ = np.flatnonzero((labels != labels[0]).any(0))
    value = information.information_of_labels(
        labels[:, differ], np.full(4, 0.25), slots.definition["sharpness"]
    )
    weight = np.zeros(60)
    weight[differ] = proposals.floored(value)
    places = [answers.images.index(row.image) for row in slots.rows]
    assert [row.probability for row in slots.rows] == pytest.approx(probabilities(weight, places, []))
    made_answers.import_labels(answers, list(slots.images))
    more = fs.select(answers.study, goal="order", more=5).rows
    assert facts(more) == facts(fs.select(answers.study, goal="order", budget=17, as_="whole").rows)
    made_answers.import_labels(answers)
    found = fs.rank(answers.study, selection="order", resamples=20)
    assert next(iter(found.rankings)) == rankings_catalogue.FIRST[rankings_catalogue.CHANCE][0]


@pytest.mark.slow
def test_for_the_order_two_lines_rank_as_one_does_when_an_image_is_lost(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, errors=ERRORS)
    one = fs.select(answers.study, goal="order", budget=24, as_="one")
    fs.select(answers.study, goal="order", budget=12, as_="two")
    two = fs.select(answers.study, goal="order", more=12, as_="two")
    assert facts(one.rows) == facts(two.rows)
    assert {row.round for row in two.rows} == {1, 2}
    lost = one.rows[20].image
    made_answers.import_labels(answers, [row.image for row in one.rows if row.image != lost])
    (tmp_path / "discard.csv").write_text(f"image,reason\n{lost},blurred\n")
    assert fs.label.import_(answers.study, str(tmp_path / "discard.csv")).discarded == 1
    first, second = (fs.rank(answers.study, selection=name, resamples=20).rankings for name in ("one", "two"))
    assert not first["lure"].unusable
    assert first == second
    told = [fs.plan(answers.study, selection=name).questions for name in ("one", "two")]
    assert told[0] == told[1]


def test_for_the_best_draws_learn_who_it_may_be(answers: made_answers.Answers) -> None:
    slots = fs.select(answers.study, goal="best")
    assert len(slots.rows) == 10
    assert "once they are labelled, --more 10 draws the next" in repr(slots)
    made_answers.import_labels(answers)
    more = fs.select(answers.study, as_="best", more=6).rows
    labels = np.stack(list(answers.labels.values()))
    differ = np.flatnonzero((labels != labels[0]).any(0))
    sharpness = slots.definition["sharpness"]
    # every label of the study tells
    belief = information.belief_of_labels(labels == answers.truth, sharpness)
    assert belief.max() > 0.9
    weight = np.zeros(60)
    weight[differ] = proposals.floored(
        information.information_of_labels(labels[:, differ], belief, sharpness)
    )
    places = [answers.images.index(row.image) for row in more]
    assert [row.probability for row in more[10:]] == pytest.approx(
        probabilities(weight, places[10:], places[:10])
    )
    found = fs.rank(answers.study, selection="best", resamples=20)
    assert next(iter(found.rankings)) == "reuse_margins"
    assert found.rankings["reuse_margins"].speaks_of == "chosen"  # an order: its intervals do not hold
    assert "reuse_margins, intervals descriptive" in repr(found)
    right = (labels == answers.truth).astype(float)
    everyone = Consensus(labels[:, differ], classes=5)
    drawn = [answers.images.index(row.image) for row in more]
    leading = leading_margins(
        right[:, drawn], everyone(right[:, drawn]), np.searchsorted(differ, drawn), everyone.noise
    )
    assert list(found.rankings["reuse_margins"].scores.values()) == pytest.approx(leading)
    # few labels chose one another
    assert {row.speaks_of for row in found.rankings.values() if not row.unusable} == {"chosen"}


def test_the_first_ten_images_for_the_best_carry_an_order_and_no_score_of_the_pool(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=200, errors=(0.1, 0.3, 0.5, 0.2, 0.4))
    made_answers.import_labels(answers, list(fs.select(answers.study, goal="best").images))
    found = fs.rank(answers.study, selection="best", resamples=20)
    weighted = json.loads((Path(answers.study) / "standings-best.json").read_text())["rankings"]
    for name in ("margins", "prediction_powered", "lure"):
        assert re.fullmatch(r"effective sample size 9\.\d, below 10", weighted[name]["unusable"])
        assert set(weighted[name]["scores"].values()) == {None}
        assert all(interval == [None, None] for interval in weighted[name]["score_interval"].values())
        assert f"{name}: cannot be used: effective sample size" in found.full_text()
    assert next(iter(weighted)) == "reuse_margins"
    assert weighted["reuse_margins"]["speaks_of"] == "chosen"
    assert repr(found).startswith("On the 10 labelled images chosen for what the models predict, model-0 or")


def test_label_maps_are_drawn_by_what_their_concordances_tell(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=14, models=3)
    study = made.compared_study(corpus, tmp_path / "study", shard_size=5)
    slots = fs.select(study, selector="mad+information", budget=6, engine="local")
    every = fs.select(study, selector="information", budget=6, engine="local")
    sharpness = every.definition["sharpness"]
    assert slots.definition["sharpness"] == sharpness > 1
    root, names, similar = Path(study), [], []
    images = pool(read_corpus(root))
    for shard in sorted({image.shard for image in images}):
        mine = [image for image in images if image.shard == shard]
        names += [image.id for image in mine]
        similar.append(fs.comparison.concordances(read_block(Study(root), mine, slots.models), "miou"))
    both = np.concatenate(similar, axis=-1)
    value = proposals.floored(information.information_of_similarities(both, np.full(3, 1 / 3), sharpness))
    first, second = np.triu_indices(3, 1)
    mixed = information.mix(proposals.mad(1 - both[first, second]), value)
    for rows, weight in ((slots.rows, mixed), (every.rows, value)):
        expected = probabilities(weight, [names.index(row.image) for row in rows], [])
        assert [row.probability for row in rows] == pytest.approx(expected, rel=1e-5)
    assert {row.pool for row in every.rows} == {14}
    with refused(SelectionError, "information learns from the labels so far, and there are none"):
        fs.select(study, as_="information", more=2, engine="local")


def test_two_models_leave_nothing_to_fit_and_are_drawn_all_the_same(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=30, errors=(0.2, 0.5))
    slots = fs.select(answers.study, goal="order", budget=5)
    labels = np.stack(list(answers.labels.values()))
    left = int((labels[0] != labels[1]).sum())
    assert [row.probability for row in slots.rows] == pytest.approx([1 / (left - k) for k in range(5)])


def test_labels_to_learn_from_are_of_a_truth_that_is_there(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path)
    made_answers.import_labels(answers, answers.images[:3])
    with refused(SelectionError, r"there is no truth 'labells'; available: labels\. Did you mean 'labels'\?"):
        fs.select(answers.study, selector="vma", as_="learnt", budget=4, truth="labells")
    assert not (Path(answers.study) / "selection-learnt.csv").exists()
    fs.select(answers.study, selector="vma", as_="learnt", budget=4, truth="labels")


def test_options_that_change_nothing_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = made_answers.study(tmp_path, images=20)
    fs.select(answers.study, as_="duels", top=2)
    with refused(OptionError, "--bands need values of label maps"):
        fs.report(answers.study, selection="duels", bands=[0.5])
    with refused(
        OptionError, "--better needs duels of label maps; answers of classifiers are right or wrong"
    ):
        fs.report(answers.study, selection="duels", better=0.1)
    capsys.readouterr()
    assert main(["show", f"{answers.study}/selection-duels.json", "--rows", "2"]) == 0
    assert capsys.readouterr().out.startswith(
        "note: --rows has no effect: selection-duels.json is not a table"
    )
    assert main(["show", f"{answers.study}/selection-duels.json"]) == 0
    assert "note" not in capsys.readouterr().out


@pytest.mark.slow
def test_plan_and_run_recommend_by_goal(answers: made_answers.Answers) -> None:
    found = fs.plan(answers.study, goal="best").recommended  # whatever other selections have labels too
    assert (found["goal"], found["selection"], found["question"]) == ("best", "best", "best")
    with refused(
        OptionError, "--top is for --goal failures; --goal best draws images for all models at once"
    ):
        fs.run(answers.study, top=3, goal="best")
    duels = fs.run(answers.study, top=3, goal="failures").done
    assert any(
        line.endswith(f"which is better: faultscape run {answers.study} --goal order") for line in duels
    )
    fs.run(answers.study, goal="best")
    assert read_selection(Path(answers.study), "best")[0].definition["goal"] == "best"
    with refused(OptionError, r"--goal is order or best; got 'bets'\. Did you mean 'best'"):
        fs.plan(answers.study, goal="bets")
    with refused(OptionError, r"--goal 'bets' is not known; use order, best, failures\. Did you mean 'best'"):
        fs.run(answers.study, goal="bets")


def reports(study: str) -> list[tuple[str, str]]:
    return [(state, words) for stage, state, words in fs.status(study).stages if stage == "report"]


@pytest.mark.slow
def test_the_report_of_a_study_drawn_for_a_goal_is_due_and_run_writes_it(
    answers: made_answers.Answers,
) -> None:
    fs.select(answers.study, goal="order", budget=20)
    assert reports(answers.study) == [("missing", "report-order.html")]
    made_answers.import_labels(answers)
    assert reports(answers.study) == [("missing", "report-order.html")]
    fs.run(answers.study, engine="local")
    assert reports(answers.study) == [("done", "report-order.html")]
    assert not Path(answers.study, "report.html").exists()


def test_run_reports_on_what_it_could_rank_where_nobody_labelled_the_duels(
    answers: made_answers.Answers,
) -> None:
    drawn = fs.select(answers.study, goal="order", budget=60)
    duels = fs.select(answers.study, top=1)  # main
    unlabelled = {row.image for row in duels.chosen}
    made_answers.import_labels(answers, [row.image for row in drawn.rows if row.image not in unlabelled])
    fs.run(answers.study, engine="local")
    assert reports(answers.study) == [("done", "report-order.html")]


@pytest.mark.slow
def test_plan_goes_for_the_best_model_in_rounds_with_labels_in_between(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, errors=ERRORS)

    def advised() -> str:
        return " ".join(repr(fs.plan(answers.study, goal="best")).split())

    assert f"faultscape select {answers.study} --goal best" in advised()
    assert "--budget" not in advised()
    drawn = fs.select(answers.study, goal="best")
    assert len(drawn.images) == 10
    assert (
        f"faultscape label export {answers.study} questions-best.csv --format csv --selection best"
        in advised()
    )
    made_answers.import_labels(answers, list(drawn.images))
    assert f"faultscape select {answers.study} --as best --more 10" in advised()


def test_the_mixture_draws_by_the_distances_of_mad_and_says_so(answers: made_answers.Answers) -> None:
    define = {
        name: (
            fs.select(
                answers.study,
                selector=name,
                budget=5,
                as_=f"d-{name[:5].strip('+')}",
                **group_options(fs.select, more),
            ).definition
        )
        for name, more in (("mad", {"temperature": 1.0}), ("mad+information", {}))
    }
    assert define["mad+information"]["distance"] == define["mad"]["distance"] == "01"
