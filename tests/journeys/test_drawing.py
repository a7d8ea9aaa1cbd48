"""Images drawn for all models at once: through a study, from the first draw to unbiased scores."""

from __future__ import annotations

import csv
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import OptionError, SelectionError
from faultscape.maps.counts import vote_entropy
from faultscape.nouns import Draw
from faultscape.reading.study import Study
from faultscape.selection.draws import draw
from faultscape.selection.weights import drawing_weights
from faultscape.study.tables.selections import read_selection
from faultscape.ties import tie_order
from faultscape.verbs.select import draws
from faultscape.verbs.verb import group_options
from refusals import refused


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> tuple[made.Corpus, str]:
    """A study of label maps up to the counts of its pairs."""
    root = tmp_path_factory.mktemp("maps")
    corpus = made.corpus(root / "corpus", images=18, models=3)
    study = made.compared_study(corpus, root / "study", shard_size=5)
    return corpus, study


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> made_answers.Answers:
    return made_answers.study(tmp_path_factory.mktemp("answers"))


def drawn(study: str, name: str) -> list[Draw]:
    return list(read_selection(Path(study), name)[0].rows)


def facts(rows: list[Draw]) -> list[tuple]:
    return [(row.step, row.image, row.probability, row.pool) for row in rows]


@pytest.mark.parametrize("selector", ["random", "disputed", "expected-loss", "vma"])
def test_the_command_line_is_the_python_verb_and_draws_by_chance_have_probabilities(
    maps: tuple[made.Corpus, str], selector: str
) -> None:
    _, study = maps
    assert main(["select", study, "--selector", selector, "--budget", "5", "--as", f"typed-{selector}"]) == 0
    fs.select(study, selector=selector, budget=5, as_=f"called-{selector}")
    typed, called = drawn(study, f"typed-{selector}"), drawn(study, f"called-{selector}")
    assert typed == called
    assert len({row.image for row in typed}) == 5
    assert all(0 < row.probability <= 1 for row in typed)


def test_some_and_more_are_all_of_them_at_once(maps: tuple[made.Corpus, str]) -> None:
    _, study = maps
    for selector, temperature in (("random", None), ("disputed", None), ("mad", 0.5)):
        options = {"selector": selector, **({"temperature": temperature} if temperature else {})}
        fs.select(study, budget=7, as_=f"whole-{selector}", **group_options(fs.select, options))
        fs.select(study, budget=3, as_=f"cut-{selector}", **group_options(fs.select, options))
        fs.select(study, as_=f"cut-{selector}", more=4)
        cut = drawn(study, f"cut-{selector}")
        assert facts(cut) == facts(drawn(study, f"whole-{selector}"))
        assert [row.round for row in cut] == [1, 1, 1, 2, 2, 2, 2]


def test_the_same_line_again_draws_nothing(
    maps: tuple[made.Corpus, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, study = maps
    first = fs.select(study, selector="random", budget=4, as_="again")
    assert fs.select(study, selector="random", budget=4, as_="again").rows == first.rows
    assert "has 4 images; --more N adds to them" in capsys.readouterr().out
    assert len(fs.select(study, selector="random", budget=6, as_="again").rows) == 6


def test_a_line_that_asks_for_no_number_leaves_a_selection_as_it_is(maps: tuple[made.Corpus, str]) -> None:
    _, study = maps
    held = fs.select(study, as_="few", selector="random", budget=3)
    assert fs.select(study, as_="few").rows == held.rows
    assert fs.select(study, as_="few", selector="random").rows == held.rows


def test_every_engine_draws_the_same(maps: tuple[made.Corpus, str]) -> None:
    _, study = maps
    for selector in ("disputed", "expected-loss", "entropy"):
        fs.select(study, selector=selector, budget=6, as_="one", engine="local")
        fs.select(study, selector=selector, budget=6, as_="many", engine="processes", workers=2)
        texts = [(Path(study) / f"selection-{name}.csv").read_bytes() for name in ("one", "many")]
        assert texts[0] == texts[1]
        for name in ("one", "many"):
            for ending in ("csv", "json"):
                (Path(study) / f"selection-{name}.{ending}").unlink()
    assert not list(Path(study).glob(".writing-*"))


def test_the_most_divided_maps_are_taken_by_entropy(maps: tuple[made.Corpus, str]) -> None:
    corpus, study = maps
    rows = fs.select(study, selector="entropy", budget=18).rows
    assert all(np.isnan(row.probability) for row in rows)
    stacks = np.stack(list(corpus.maps.values()), 1)
    wanted = {image: vote_entropy(stack, 6) for image, stack in zip(corpus.ids, stacks, strict=True)}
    assert [row.image for row in rows] == sorted(wanted, key=lambda image: (-round(wanted[image], 12), image))
    assert all(row.score == pytest.approx(wanted[row.image], abs=1e-11) for row in rows)


def test_disputed_maps_are_drawn_in_proportion_to_what_models_differ(maps: tuple[made.Corpus, str]) -> None:
    _, study = maps
    row = fs.select(study, selector="disputed", budget=1, as_="first").rows[0]
    from faultscape.comparison.concordance import concordances
    from faultscape.reading.pairs import read_block
    from faultscape.study.tables.corpus import read_corpus, shards

    root = Path(study)
    dispute = {}
    for images in shards(read_corpus(root)).values():
        pairs = read_block(Study(root), images, ["model-0", "model-1", "model-2"])
        both = concordances(pairs)
        apart = [1 - both[a, b] for a, b in ((0, 1), (0, 2), (1, 2))]
        dispute |= dict(zip((image.id for image in images), np.mean(apart, 0), strict=True))
    assert row.score == pytest.approx(dispute[row.image])
    assert row.probability == pytest.approx(dispute[row.image] / sum(dispute.values()))
    assert row.pool == len(dispute)


def test_classifiers_that_agree_are_never_drawn_where_they_are_disputed(
    answers: made_answers.Answers,
) -> None:
    labels = np.stack(list(answers.labels.values()))
    differ = {image for image, k in zip(answers.images, (labels != labels[0]).any(0), strict=True) if k}
    rows = fs.select(answers.study, selector="disputed", budget=1000).rows
    assert {row.image for row in rows} == differ
    assert {row.pool for row in rows} == {len(differ)}


def test_unbiased_scores_come_with_the_labels_of_draws(answers: made_answers.Answers) -> None:
    fs.select(answers.study, selector="random", budget=60, as_="whole")
    made_answers.import_labels(answers)
    found = fs.rank(answers.study, selection="whole", resamples=50)
    exact = {name: float((said == answers.truth).mean()) for name, said in answers.labels.items()}
    for ranking in ("lure", "prediction_powered", "reuse_mean"):
        assert found.rankings[ranking].scores == pytest.approx(exact)
    assert "scores describe the whole pool: all 60 images that could be drawn" in found.notes


def test_labels_are_shared_by_all_selections(answers: made_answers.Answers) -> None:
    made_answers.import_labels(answers)
    for name in ("shared-1", "shared-2"):
        fs.select(answers.study, selector="random", budget=10, as_=name, seed=int(name[-1]))
        assert fs.rank(answers.study, selection=name, resamples=0).labels["used"] == 10


def test_selectors_that_learn_draw_more_only_from_labels(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=40)
    rows = fs.select(answers.study, selector="expected-loss", budget=5).rows
    with refused(SelectionError, "learns from the labels so far, and there are none in truth 'labels'"):
        fs.select(answers.study, selector="expected-loss", more=5)
    made_answers.import_labels(answers, [row.image for row in rows])
    more = fs.select(answers.study, selector="expected-loss", more=5).rows
    assert more[:5] == rows
    assert [row.round for row in more] == [1] * 5 + [2] * 5
    labels = np.stack(list(answers.labels.values()))
    at = [answers.images.index(row.image) for row in rows]
    right = ((labels[:, at] == answers.truth[at]).sum(1) + 6) / 13  # eight labels of .75 come before the five
    trust = np.maximum(np.log(right / (1 - right)), 1e-3)
    expected = np.stack([(trust / trust.sum()) @ (own != labels) for own in labels])
    differ, mean = (labels != labels[0]).any(0), expected.mean(0)
    # where all agree no label tells one from another
    weight = np.where(differ, np.maximum(mean, 0.1 * mean[differ].mean()), 0)
    left = weight.sum() - weight[at].sum()
    assert more[5].probability == pytest.approx(weight[answers.images.index(more[5].image)] / left)


def test_more_than_once_without_labels_in_between_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = made_answers.study(tmp_path, images=40)

    def told(**more: object) -> list[str]:
        capsys.readouterr()
        fs.select(answers.study, **group_options(fs.select, more))
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("note")]

    assert told(selector="expected-loss", budget=5) == []
    made_answers.import_labels(answers, [row.image for row in drawn(answers.study, "expected-loss")])
    assert told(selector="expected-loss", more=4) == []
    waits = "note: 4 earlier draws still need a label; the new draws cannot learn from them"
    again = (
        "4 of the 4 images that --more drew last for selection 'expected-loss' have no label yet: --more draws again"
        " once they are labelled; to draw now, give the total, --budget 12"
    )
    with refused(SelectionError, again):  # a line that was pasted twice
        fs.select(answers.study, selector="expected-loss", more=3)
    assert told(selector="expected-loss", budget=12) == [waits]
    rows = drawn(answers.study, "expected-loss")
    made_answers.import_labels(answers, [row.image for row in rows[:-1]])
    (tmp_path / "discard.csv").write_text(f"image,reason\n{rows[-1].image},blurred\n")
    fs.label.import_(answers.study, str(tmp_path / "discard.csv"))  # what is discarded waits no more
    assert told(selector="expected-loss", more=1) == []
    assert told(selector="random", budget=5) == []
    labelled = {row.image for row in rows}  # or discarded
    waiting = sum(row.image not in labelled for row in drawn(answers.study, "random"))
    assert waiting > 1
    assert told(selector="random", budget=6) == [f"note: {waiting} earlier draws still need a label"]


def test_more_is_drawn_where_every_draw_was_discarded(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=40)
    fs.select(answers.study, selector="random", budget=5)
    lines = [f"{row.image},blurred\n" for row in drawn(answers.study, "random")]
    (tmp_path / "discard.csv").write_text("".join(["image,reason\n", *lines]))
    took = fs.label.import_(answers.study, str(tmp_path / "discard.csv"))
    assert repr(took).endswith(f"\nnext: faultscape run {answers.study}")
    assert len(fs.select(answers.study, selector="random", more=3).rows) == 8


def test_more_is_drawn_where_people_were_asked_and_could_not_agree(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=40)
    fs.select(answers.study, selector="random", budget=4)
    made_answers.import_labels(answers, [row.image for row in drawn(answers.study, "random")])
    fs.select(answers.study, selector="random", more=3)
    fs.label.export(answers.study, str(tmp_path / "ask.csv"), selection="random")
    head, *rows = (tmp_path / "ask.csv").read_text().splitlines()
    asked = list(csv.DictReader([head, *rows]))
    lines = [
        f"{row['image']},{row['class']},{who},{said}\n"
        for row in asked
        for who, said in (("ann", "yes"), ("ben", "no"))
    ]
    (tmp_path / "answers.csv").write_text("".join(["image,class,annotator,answer\n", *lines]))
    fs.label.import_(answers.study, str(tmp_path / "answers.csv"))
    assert len(fs.select(answers.study, selector="random", more=2).rows) == 9


@pytest.fixture
def inverted(tmp_path: Path) -> made_answers.Answers:
    """Three classifiers that know something, and one that is always wrong: no image on which all agree."""
    return made_answers.study(tmp_path, images=120, errors=(0.1, 0.2, 0.3, 1.0), seed=8)


def test_one_model_below_chance_does_not_make_every_image_disputed(inverted: made_answers.Answers) -> None:
    labels, truth = np.stack(list(inverted.labels.values())), inverted.truth
    rows = fs.select(inverted.study, selector="disputed", budget=20).rows
    first = (labels != labels[0]).any(0)
    assert rows[0].probability == pytest.approx(1 / first.sum())  # without labels all models count alike
    made_answers.import_labels(inverted, [row.image for row in rows])
    found = fs.select(inverted.study, selector="disputed", more=20)
    assert found.definition["votes"] == "weighed"
    assert found.rows[:20] == rows
    assert {row.pool for row in found.rows} == {first.sum()}
    at = [inverted.images.index(row.image) for row in found.rows]
    right = ((labels[:, at[:20]] == truth[at[:20]]).sum(1) + 6) / 28
    trust = np.maximum(np.log(right / (1 - right)), 1e-3)
    assert (trust >= 0.1 * trust.max()).tolist() == [True, True, True, False]
    among = (labels[:3] != labels[0]).any(0)
    weight = np.where(among, 1.0, np.where(first, 0.1 * among[first].mean(), 0))
    left = weight.sum() - weight[at[:20]].sum()
    for row, k in zip(found.rows[20:], at[20:], strict=True):
        assert (row.score, row.probability) == pytest.approx((weight[k], weight[k] / left))
        left -= weight[k]
    assert among[at[20:]].mean() > 1.4 * among[at[:20]].mean()
    # rounds stay apart where an image is lost: what it weighed before is not known
    assert draws.learns(found.definition)
    assert not draws.learns({"selector": "disputed"})


def test_disputed_draws_without_labels_or_of_earlier_versions_go_on_as_they_did(
    inverted: made_answers.Answers,
) -> None:
    study = inverted.study
    whole = fs.select(study, selector="disputed", budget=40, as_="whole").rows
    for name in ("cut", "old"):
        fs.select(study, selector="disputed", budget=20, as_=name)
    file = Path(study) / "selection-old.json"
    old = json.loads(file.read_text())
    del old["definition"]["votes"]
    file.write_text(json.dumps(old))
    with refused(SelectionError, "there is no truth 'mine'; the study has no labels yet"):
        fs.select(study, as_="cut", more=20, truth="mine")
    assert facts(list(fs.select(study, as_="cut", more=20).rows)) == facts(list(whole))
    made_answers.import_labels(inverted)
    assert facts(list(fs.select(study, as_="old", more=20).rows)) == facts(list(whole))


def test_the_model_picker_asks_where_the_answer_tells_most(
    tmp_path: Path, maps: tuple[made.Corpus, str]
) -> None:
    answers = made_answers.study(tmp_path, images=40)
    rows = fs.select(answers.study, selector="model-picker", budget=3).rows
    made_answers.import_labels(answers, [row.image for row in rows])
    more = fs.select(answers.study, selector="model-picker", more=2).rows
    assert len({row.image for row in more}) == 5
    assert all(np.isnan(row.probability) for row in more)
    labels = np.stack(list(answers.labels.values()))
    differ = {image for image, k in zip(answers.images, (labels != labels[0]).any(0), strict=True) if k}
    assert {row.image for row in more} <= differ  # where all agree no answer can tell
    with refused(OptionError, "defined for losses of 0 and 1"):
        fs.select(maps[1], selector="model-picker")


def test_of_near_duplicates_one_is_drawn(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    from PIL import Image

    for first, second in zip(corpus.ids[::2], corpus.ids[1::2], strict=True):
        photo = np.array(Image.open(corpus.photos / f"{first}.png"))
        photo[0, 0, 0] ^= 1
        made.write(corpus.photos / f"{second}.png", photo)
    study = made.compared_study(corpus, tmp_path / "study", shard_size=2)
    assert len(fs.select(study, selector="random", budget=6).rows) == 3
    assert (
        len(
            fs.select(
                study,
                selector="random",
                budget=6,
                as_="all",
                sampling=fs.options.Sampling(keep_duplicates=True),
            ).rows
        )
        == 6
    )


def test_a_discarded_draw_leaves_the_pool(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=30)
    rows = fs.select(answers.study, selector="random", budget=20).rows
    made_answers.import_labels(answers)
    (tmp_path / "discard.csv").write_text(f"image,reason\n{rows[3].image},no such thing\n")
    fs.label.import_(answers.study, str(tmp_path / "discard.csv"))
    found = fs.rank(answers.study, selection="random", resamples=0)
    assert found.labels["used"] == 19
    assert found.labels["discarded"] == 1
    at = [answers.images.index(row.image) for row in rows if row.image != rows[3].image]
    exact = {name: float((said == answers.truth)[at].mean()) for name, said in answers.labels.items()}
    assert found.rankings["lure"].scores == pytest.approx(exact)


def test_two_selectors_draw_independently_from_one_seed(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=40, errors=(1.0, 1.0))
    for place, name in enumerate(("all-cat", "all-dog")):
        table = tmp_path / f"{name}.csv"
        table.write_text(
            "image,label\n" + "".join(f"{image},{made_answers.NAMES[place]}\n" for image in answers.images)
        )
        fs.predict(answers.study, {name: str(table)})
    random, disputed = (fs.select(answers.study, selector=one, budget=10) for one in ("random", "disputed"))
    # models differ everywhere: the weights are the same
    assert {row.probability for row in random.rows} == {row.probability for row in disputed.rows}
    assert random.images != disputed.images
    order, best = (fs.select(answers.study, goal=goal, budget=10) for goal in ("order", "best"))
    warm, cold = (
        fs.select(answers.study, sampling=fs.options.Sampling(temperature=t), budget=10, as_=f"mad-{t}")
        for t in (1.0, 0.5)
    )
    far = fs.select(
        answers.study,
        sampling=fs.options.Sampling(temperature=1.0),
        classifiers=fs.options.ClassifierRules(distance=distances(tmp_path)),
        budget=10,
        as_="far",
    )
    for alike in ((order, best), (warm, cold, far)):
        # of the same weights, for another goal, temperature or distance
        assert len({max(row.score for row in found.rows) for found in alike}) == 1
        assert len({found.images for found in alike}) == len(alike)


def distances(folder: Path) -> str:
    """A file in which classes lie two apart."""
    rows = [",".join(["", *made_answers.NAMES])]
    rows += [
        ",".join([name, *("0" if name == other else "2" for other in made_answers.NAMES)])
        for name in made_answers.NAMES
    ]
    (folder / "two.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "two.csv")


def test_a_selection_of_earlier_versions_goes_on_with_the_random_numbers_that_it_began_with(
    tmp_path: Path,
) -> None:
    answers = made_answers.study(tmp_path)
    held = fs.select(answers.study, goal="order", budget=5, as_="old").rows
    whole = fs.select(answers.study, goal="order", budget=9, as_="new")
    file = Path(answers.study) / "selection-old.json"
    old = json.loads(file.read_text())
    assert old["definition"].pop("stream") == "definition"
    file.write_text(json.dumps(old))
    more = fs.select(answers.study, as_="old", more=4)
    assert "stream" not in more.definition
    order = [answers.images[k] for k in tie_order(answers.images, 0)]
    weight = information_weights(answers, order, more.definition["sharpness"])
    taken = [order.index(row.image) for row in held]
    stream = (0, zlib.crc32(b"information"))  # of the selector alone
    assert [row.image for row in more.rows[5:]] == [
        order[k] for k in draw(weight, 4, seed=stream, taken=taken).images
    ]
    assert more.rows[5:] != whole.rows[5:]


def information_weights(answers: made_answers.Answers, order: list[str], sharpness: float) -> np.ndarray:
    labels = np.stack(list(answers.labels.values()))[:, [answers.images.index(image) for image in order]]
    given = {
        "complete": np.ones(len(order), bool),
        "dispute": (labels != labels[0]).any(0).astype(float),
        "labels": labels,
    }
    return drawing_weights("information", given, sharpness=sharpness)


def test_what_a_selection_is_stays_fixed(maps: tuple[made.Corpus, str]) -> None:
    _, study = maps
    fs.select(study, selector="random", budget=2, as_="fixed")
    with refused(SelectionError, "no image is left to draw"):
        fs.select(study, as_="fixed", more=100).rows and fs.select(study, as_="fixed", more=1)


def test_answers_of_classifiers_are_compared_without_counting(answers: made_answers.Answers) -> None:
    assert "nothing to count: their answers are compared directly" in repr(fs.compare(answers.study))


@pytest.mark.slow
def test_run_plan_and_report_recommend_what_was_measured(tmp_path: Path) -> None:
    from faultscape.ranking.catalogue import CHANCE, FIRST, SELECTION
    from faultscape.standings import budget_like

    answers = made_answers.study(tmp_path, images=40)
    made_answers.import_labels(answers)
    ran = fs.run(answers.study, top=5)
    budget = budget_like(len(fs.select(answers.study).images))
    assert any(f"which is better: faultscape run {answers.study} --goal order" in line for line in ran.done)
    text = re.sub("<[^>]*>", "", (Path(answers.study) / "report.html").read_text())
    assert f"faultscape select {Path(answers.study).name} {SELECTION} --budget {budget}" in text
    assert f"faultscape select {answers.study} {SELECTION} --budget" in repr(fs.plan(answers.study))
    assert main(["select", answers.study, *SELECTION.split(), "--budget", "16"]) == 0
    found = fs.rank(answers.study, selection="order", resamples=10)
    assert next(iter(found.rankings)) == next(name for name in FIRST[CHANCE] if name in found.rankings)
