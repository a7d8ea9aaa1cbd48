"""Plan through a study: before any label, with labels, of label maps and of classifiers; what is written,
said and refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import FaultscapeError
from faultscape.ranking.planning import label_needs, label_variances
from faultscape.reading.evidence import scores
from faultscape.reading.study import Study
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.plan import facts
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.verb import group_options
from refusals import refused

CLASSES = ["ant", "bee", "cat", "dog"]


def classifiers(root: Path, labels: np.ndarray) -> str:
    """A study of classifiers of images without pixels."""
    root.mkdir(parents=True, exist_ok=True)
    ids = [f"i{k:04d}" for k in range(labels.shape[1])]
    (root / "ids.csv").write_text("\n".join(["image", *ids]) + "\n")
    (root / "classes.json").write_text(json.dumps({"classes": [{"name": name} for name in CLASSES]}))
    study = str(root / "study")
    fs.collect(study, str(root / "ids.csv"), task="classification", classes=str(root / "classes.json"))
    for j, row in enumerate(labels):
        table(root / f"m{j}.csv", ids, row)
    fs.predict(study, {f"m{j}": str(root / f"m{j}.csv") for j in range(len(labels))}, engine="local")
    return study


def table(path: Path, ids: list[str], places: np.ndarray) -> None:
    path.write_text(
        "\n".join(
            ["image,label", *(f"{id_},{CLASSES[k]}" for id_, k in zip(ids, places.tolist(), strict=True))]
        )
        + "\n"
    )


def answers(skill: tuple[float, ...], images: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """True classes, and those of models that are right as often as they are skilful."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, images)
    right = rng.random((len(skill), images)) < np.array(skill)[:, None]
    return truth, np.where(right, truth, (truth + rng.integers(1, 4, (len(skill), images))) % 4)


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, made.Corpus]:
    """A study of label maps up to its pairs."""
    corpus = made.corpus(tmp_path_factory.mktemp("plan"), images=16, models=3)
    study = str(corpus.root / "study")
    fs.collect(
        study, str(corpus.photos), classes=str(corpus.classes), storage=fs.options.Storage(shard_size=7)
    )
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    return study, corpus


@pytest.mark.slow
def test_the_command_line_writes_what_python_returns(
    maps: tuple[str, made.Corpus], capsys: pytest.CaptureFixture[str]
) -> None:
    study, _ = maps
    before = made.bytes_under(Path(study), "*")
    found = fs.plan(study, cost={"mask": 3600, "choice": 20}, wage=30, within=5, engine="local")
    written = (Path(study) / "plan.json").read_bytes()
    capsys.readouterr()
    assert (
        main(
            [
                "plan",
                study,
                "--cost",
                "mask=3600,choice=20",
                "--wage",
                "30",
                "--within",
                "5",
                "--engine",
                "local",
            ]
        )
        == 0
    )
    assert (Path(study) / "plan.json").read_bytes() == written
    assert capsys.readouterr().out.rstrip().endswith(repr(found))
    raw = json.loads(written)
    assert list(raw) == [
        "models",
        "task",
        "images",
        "labels",
        "questions",
        "duels",
        "costs",
        "recommended",
        "pairs",
        "points",
        "notes",
        "provenance",
        "mix",
        "pool",
    ]
    assert raw["labels"] == {"used": 0, "selection": None, "selector": None, "temperature": None}
    assert list(raw["questions"]) == [
        "best",
        "best_proved",
        "best_anytime",
        "order",
        "order_proved",
        "order_anytime",
        "scores",
    ]
    row = raw["questions"]["best"]["random"]
    assert row["labels"] == found.questions["best"]["random"]["labels"]
    assert row["hours"] == row["labels"]  # an hour a map
    assert row["money"] == 30 * row["labels"]
    after = made.bytes_under(Path(study), "*")
    assert {name for name in after if after[name] != before.get(name)} == {"plan.json", "log.jsonl"}


def test_the_numbers_stand_in_the_order_of_the_questions(maps: tuple[str, made.Corpus]) -> None:
    found = fs.plan(maps[0], engine="local").questions
    for selector in ("random", "disputed", "expected-loss", "vma", "mad"):
        best, proved, order, all_proved = (
            found[q][selector]["labels"] for q in ("best", "best_proved", "order", "order_proved")
        )
        assert 2 <= best <= order <= all_proved <= 16
        assert best <= proved <= all_proved
        assert found["best"][selector]["low"] <= best <= found["best"][selector]["high"]


@pytest.mark.parametrize(
    ("goal", "told"), [("order", "found the order equally well"), ("best", "found the best almost as early")]
)
def test_of_label_maps_the_recommendation_says_on_how_little_it_rests(
    maps: tuple[str, made.Corpus], goal: str, told: str
) -> None:
    said = (
        f"the advice for label maps rests on a single data set (ten networks on CamVid), where random draws {told}"
        " (docs/benchmarks/choice.md)"
    )
    assert said in fs.plan(maps[0], goal=goal, cost={"mask": 1}).notes  # else points are quicker


@pytest.mark.slow
def test_duels_are_those_that_select_makes(maps: tuple[str, made.Corpus], tmp_path: Path) -> None:
    study, corpus = maps
    planned = {row["per_cell"]: row for row in fs.plan(study, engine="local").duels}
    copy = str(tmp_path / "study")
    fs.collect(
        copy, str(corpus.photos), classes=str(corpus.classes), storage=fs.options.Storage(shard_size=7)
    )
    fs.predict(copy, corpus.models, engine="local")
    fs.compare(copy, engine="local")
    for k in (1, 2, 3):
        slots = fs.select(copy, as_=f"k{k}", per_class=k, sampling=fs.options.Sampling(spares=0))
        assert planned[k]["images"] == len(slots.images)
        assert planned[k]["slots"] == len(slots.chosen)
        assert planned[k]["bound"] == 3 * 2 * 5 * k  # J (J - 1) |Y| K
        assert planned[k]["hours"] == len(slots.images) * 1.5
        assert planned[k]["choice_hours"] == pytest.approx(len(slots.chosen) * 10 / 3600)


@pytest.mark.slow
def test_labels_of_draws_are_used_and_those_of_duels_are_not(maps: tuple[str, made.Corpus]) -> None:
    study, corpus = maps
    fs.select(study, engine="local")
    fs.label.import_(study, str(corpus.truth))
    duels = fs.plan(study, engine="local")
    assert duels.labels["used"] == 0
    assert any("main" in note and "not drawn at random" in note for note in duels.notes)
    fs.select(study, selector="random", budget=16, engine="local")
    found = fs.plan(study, engine="local")
    assert found.labels == {"used": 16, "selection": "random", "selector": "random", "temperature": None}
    assert "16 labels of selection random" in " ".join(repr(found).split())
    # all is labelled: how far the models are apart is known, and the variances are those of the predictions
    row, real = found.questions["best"]["random"], 1 - labelled(study).mean(1)
    looked = facts.look(Study(study), found.models, None, engine="local", workers=None)
    curve = label_variances.curve(np.ones(16), label_variances.moments(looked.agreement))
    assert row["low"] == row["high"] == row["labels"] == label_needs.needed("best", real[None], curve)[0]
    fs.select(study, selector="disputed", budget=3, engine="local")
    assert fs.plan(study, engine="local").labels["selection"] == "random"  # has more labels
    assert fs.plan(study, selection="disputed", engine="local").labels["used"] == 3


def labelled(study: str) -> np.ndarray:
    """The score of each model on each labelled image."""
    slots = read_selection(Path(study), "random")[0]
    return scores(Study(Path(study)), slots.models, "labels", slots.definition)[1]


@pytest.mark.slow
def test_less_exact_scores_need_fewer_labels(maps: tuple[str, made.Corpus]) -> None:
    numbers = [
        fs.plan(maps[0], within=w, engine="local").questions["scores"]["random"]["labels"]
        for w in (0.5, 3, 9)
    ]
    assert numbers[0] > numbers[1] > numbers[2]


@pytest.mark.slow
def test_of_classifiers_labels_narrow_the_range_and_the_number_is_the_real_one_within_a_hundredth(
    tmp_path: Path,
) -> None:
    truth, said = answers((0.9, 0.86, 0.5))
    study = classifiers(tmp_path, said)
    start = fs.plan(study)
    assert start.images == 400
    slots = fs.select(study, selector="random", budget=200)
    table(tmp_path / "truth.csv", list(slots.images), truth[[int(i[1:]) for i in slots.images]])
    fs.label.import_(study, str(tmp_path / "truth.csv"))
    later = fs.plan(study)
    assert later.labels["used"] == 200
    assert later.questions["best"]["random"]["labels"] > 50  # the two best are close; the two worst are not
    width = [
        one.questions["order"]["random"]["high"] - one.questions["order"]["random"]["low"]
        for one in (start, later)
    ]
    assert width[1] < 0.8 * width[0]  # half of all labels say more than none
    losses = (said != truth).astype(float)
    var = losses.var(1).max()
    really = 1 / (1 / 400 + (0.01 / 1.959964) ** 2 / var)
    off = [abs(one.questions["scores"]["random"]["labels"] - really) for one in (start, later)]
    assert max(off) < 0.01 * really
    assert off[1] < 0.05 * really


def test_questions_cost_one_for_each_class_that_is_named(tmp_path: Path) -> None:
    study = classifiers(tmp_path, np.array([[0, 1, 2, 3] * 10, [0, 1, 2, 0] * 10, [0, 1, 0, 1] * 10]))
    found = fs.plan(study, cost="question=7200")
    row = found.questions["best"]["random"]
    # of four images two are of one mind, one of two and one of three: 7 / 4 questions of two hours each
    assert row["hours"] == pytest.approx(row["labels"] * 2 * 7 / 4)
    assert found.questions["best"]["disputed"]["labels"] <= 20
    why = "it never draws images on which all models agree, and scores depend on those too"
    nothing = {
        "labels": None,
        "low": None,
        "high": None,
        "predictable": None,
        "hours": None,
        "money": None,
        "why": why,
    }
    assert found.questions["scores"]["disputed"] == nothing
    assert " ".join(repr(found).split()).count(f"none: {why}") == 1
    for row in found.duels:
        assert row["bound"] == 3 * row["per_cell"]  # J (J - 1) / 2 k
        assert row["questions"] <= 2 * row["slots"]


@pytest.mark.slow
def test_copies_are_named_and_count_as_one_and_near_copies_are_named(tmp_path: Path) -> None:
    _, said = answers((0.9, 0.7))
    near = said[0].copy()
    near[[5, 9]] = (near[[5, 9]] + 1) % 4
    study = classifiers(tmp_path, np.stack([said[0], said[1], said[1], near]))
    notes = fs.plan(study).notes
    assert (
        "m1 and m2 give the same answer on all images: no number of labels can separate them, so they "
        "count as one" in notes
    )
    assert "m0 and m3 give the same answer on all but 2 images: only labels of these separate them" in notes
    assert len(notes) == 2
    row = fs.plan(study).questions["best"]["random"]
    assert row["labels"] is not None


def test_two_copies_alone_need_no_labels_at_all(tmp_path: Path) -> None:
    _, said = answers((0.9,), images=20)
    study = classifiers(tmp_path, np.stack([said[0], said[0]]))
    found = fs.plan(study)
    assert all(row["labels"] is None for rows in found.questions.values() for row in rows.values())
    assert found.duels == ()
    assert found.recommended is None
    assert len(found.notes) == 1
    assert "m0 and m1 give the same answer" in found.notes[0]
    why = "No number of labels answers these questions: models that never differ cannot be compared"
    assert why in " ".join(repr(found).split())
    assert "faultscape" not in repr(found)


def test_labels_of_a_selection_that_was_not_drawn_by_chance_are_refused(
    maps: tuple[str, made.Corpus],
) -> None:
    study, corpus = maps
    with refused(
        FaultscapeError, r"there is no truth 'nobodys'; (available: labels|there are no labels yet)"
    ):
        fs.plan(study, selection="random", truth="nobodys", engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.select(study, as_="unsure", selector="entropy", budget=4, engine="local")
    with refused(
        FaultscapeError,
        "'unsure' does not show how models differ on the corpus: the images were not drawn at random",
    ):
        fs.plan(study, selection="unsure", engine="local")


def test_a_plan_from_no_labels_is_stale_once_several_people_have_labelled(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=24, errors=(0.1, 0.4))
    fs.plan(it.study)
    for who in ("ann", "bob"):
        table = tmp_path / f"{who}.csv"
        truth = made_answers.NAMES[it.truth[0]]
        table.write_text(f"image,label\n{it.images[0]},{truth}\n")
        fs.label.import_(it.study, str(table), truth=f"labels-{who}")
    study = Study(Path(it.study))
    assert not PLAN.is_done(study, "")
    assert PLAN.again(study).options["truth"] == "labels-ann"
    fs.plan(it.study, **group_options(fs.plan, PLAN.again(study).options))
    assert PLAN.is_done(study.reread(), "")
