"""Labels are never wasted: of a drawn group of near-duplicates people label the image that has a label
already, or that another selection asks for; groups, probabilities and estimates stay what they were.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import loopback
import made
from faultscape.errors import OptionError
from faultscape.nouns import Draw
from faultscape.ranking.drawn import estimates
from faultscape.reading import evidence
from faultscape.reading.pool import gather, read_drawing_pool
from faultscape.reading.study import Study
from faultscape.selection.draws import draw, members
from faultscape.study.settings import read_settings
from faultscape.study.tables.selections import read_selection
from refusals import refused

GROUPS = 14
MODELS = ("model-0", "model-1", "model-2")
DRAWN = {"random": {}, "goal": {"goal": "order"}, "disputed": {"selector": "disputed"}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Twenty-eight images, of which 0 and 1, 2 and 3, ... show the same but for one pixel, with maps that differ."""
    corpus = made.corpus(tmp_path_factory.mktemp("twins"), images=2 * GROUPS, models=3)
    for first, second in zip(corpus.ids[::2], corpus.ids[1::2], strict=True):
        with Image.open(corpus.photos / f"{first}.png") as file:
            photo = np.array(file)
        photo[0, 0, 0] ^= 1
        made.write(corpus.photos / f"{second}.png", photo)
    return corpus


@pytest.fixture(scope="module")
def compared(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    return made.compared_study(corpus, tmp_path_factory.mktemp("study") / "study", shard_size=6)


@pytest.fixture
def study(compared: str, tmp_path: Path) -> str:
    return str(shutil.copytree(compared, tmp_path / "study"))


def drawn(study: str, number: int = GROUPS, name: str = "random", **options: Any) -> tuple[Draw, ...]:
    chosen = {"selector": "random"} if "goal" not in options and "selector" not in options else {}
    fs.select(study, as_=name, budget=number, engine="local", **{**chosen, **options})
    return read_selection(Path(study), name)[0].draws


def family(corpus: made.Corpus, image: str) -> int:
    return corpus.ids.index(image) // 2


def twin(corpus: made.Corpus, image: str) -> str:
    return corpus.ids[corpus.ids.index(image) ^ 1]


def label(study: str, corpus: made.Corpus, images: list[str], folder: Path, **options: Any) -> None:
    for image in images:
        target = folder / f"{image}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", target)
    fs.label.import_(study, str(folder), **options)


@pytest.mark.parametrize("how", DRAWN)
def test_draws_take_what_is_labelled_or_asked_for_and_the_groups_and_probabilities_stay(
    study: str, corpus: made.Corpus, tmp_path: Path, how: str
) -> None:
    before = drawn(study, name="before", **DRAWN[how])
    fs.select(study, remove="before")
    fs.select(study, maps=fs.options.MapRules(constraints="none"), per_class=2, engine="local")
    asked = set(read_selection(Path(study), "main")[0].images)
    others = [row.image for row in before if row.image not in asked and twin(corpus, row.image) not in asked]
    labelled = [twin(corpus, image) for image in others[:1]]
    # two of a group that main asks for: the labelled one comes first
    both = next((row.image for row in before if {row.image, twin(corpus, row.image)} & asked), "")
    labelled += [twin(corpus, both)]
    label(study, corpus, labelled, tmp_path / "labels")
    after = drawn(study, name="before", **DRAWN[how])
    assert [(row.probability, row.score, row.pool) for row in after] == [
        (row.probability, row.score, row.pool) for row in before
    ]
    for first, row in zip(before, after, strict=True):
        pair = {first.image, twin(corpus, first.image)}
        assert row.image in (pair & set(labelled) or pair & asked or {first.image})
        if not pair & set(labelled) and pair <= asked:
            assert row.image == first.image  # the first among equals
    assert any(row.image != first.image for first, row in zip(before, after, strict=True))


def test_an_image_is_fixed_when_its_group_is_drawn_and_no_group_is_drawn_twice(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    rows = drawn(study, 4)
    table = Path(study) / "selection-random.csv"
    held = table.read_bytes()
    label(study, corpus, [twin(corpus, row.image) for row in rows], tmp_path / "labels")
    assert table.read_bytes() == held
    fs.select(study, as_="random", more=3, engine="local")
    assert table.read_bytes().startswith(held)
    label(study, corpus, corpus.ids, tmp_path / "all")
    fs.select(study, as_="random", more=100, engine="local")
    whole = read_selection(Path(study), "random")[0].draws
    assert whole[:4] == rows
    assert sorted(family(corpus, row.image) for row in whole) == list(range(GROUPS))


@pytest.mark.parametrize("selector", ["random", "disputed", "entropy"])
def test_after_a_twin_was_drawn_the_rest_of_the_pool_is_drawn_as_if_the_first_had_been(
    study: str, corpus: made.Corpus, tmp_path: Path, selector: str
) -> None:
    """N images and M more are the N + M groups of one line, whichever images stand for them."""
    whole = drawn(study, GROUPS, "drawn", selector=selector)
    fs.select(study, remove="drawn")
    label(study, corpus, [twin(corpus, row.image) for row in whole], tmp_path / "labels")
    drawn(study, 4, "drawn", selector=selector)
    fs.select(study, as_="drawn", more=GROUPS, engine="local")
    cut = read_selection(Path(study), "drawn")[0].draws
    assert [row.image for row in cut] == [twin(corpus, row.image) for row in whole]
    np.testing.assert_equal([row.probability for row in cut], [row.probability for row in whole])


@pytest.mark.slow
def test_estimates_use_the_label_of_the_image_drawn_and_the_predictions_of_its_groups_first(
    study: str, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = drawn(study, 12, "order", goal="order")
    fs.select(study, remove="order")
    shifted = "12 of 12 draws use an image that was already labelled or requested, instead of the first"
    assert shifted not in capsys.readouterr().out
    label(study, corpus, [twin(corpus, row.image) for row in first], tmp_path / "labels")
    rows = drawn(study, 12, "order", goal="order")
    assert {row.image for row in rows}.isdisjoint(row.image for row in first)
    found = fs.rank(study, selection="order", resamples=0, engine="local")
    assert not any("left out" in note for note in found.notes)
    assert shifted in capsys.readouterr().out  # images of a group are not alike here
    assert sum(note.startswith(shifted) for note in found.notes) == 1
    ranked = fs.rank(study, selection="order", resamples=20, engine="local")
    assert ranked.verdict.models
    assert f"  note: {shifted}" in repr(ranked)  # it is not among the details that -v prints
    root = Path(study)
    define = read_selection(root, "order")[0].definition
    pool = read_drawing_pool(Study(root), define)[0].ids.to_pylist()
    expected = gather(Study(root), MODELS, define, ["expected"])["expected"]
    firsts = sorted(
        min(pool.index(image), pool.index(twin(corpus, image))) for image in corpus.ids[::2]
    )  # one place a group
    images, scores = evidence.scores(Study(root), MODELS, "labels", define)
    losses = 1 - scores[:, [images.index(row.image) for row in rows]]
    at = np.array([firsts.index(pool.index(row.image)) for row in first])
    chance = np.array([row.probability for row in rows])
    by_hand = estimates.inside(estimates.prediction_powered(losses, chance, expected[:, firsts], at))
    assert list(found.rankings["prediction_powered"].scores.values()) == pytest.approx(1 - by_hand.loss)
    assert "margins" in found.rankings


@pytest.mark.parametrize("kind", ["another truth", "discarded", "void", "replaced"])
def test_what_does_not_count_claims_no_group(
    study: str, corpus: made.Corpus, tmp_path: Path, kind: str
) -> None:
    before = drawn(study)
    twins = [twin(corpus, row.image) for row in before]
    fs.select(study, remove="random")
    if kind == "another truth":
        label(study, corpus, twins, tmp_path / "ann", truth="ann")
        label(study, corpus, [before[0].image], tmp_path / "labels")  # so that this truth counts
    elif kind == "discarded":
        label(study, corpus, twins, tmp_path / "labels")
        discard = tmp_path / "gone" / "discard.csv"
        discard.parent.mkdir()
        discard.write_text("image,reason\n" + "".join(f"{image},blurred\n" for image in twins))
        fs.label.import_(study, str(discard.parent))
    elif kind == "void":
        void = int(read_settings(Path(study)).classes.void[0])
        for image in twins:
            whole = np.full_like(corpus.maps["model-0"][corpus.ids.index(image)], void)
            made.write(tmp_path / "void" / f"{image}.png", whole)
        fs.label.import_(study, str(tmp_path / "void"))
    else:
        duels = {
            "maps": fs.options.MapRules(constraints="none"),
            "per_class": 10,
            "as_": "old",
            "engine": "local",
        }
        fs.select(study, **duels)
        # labelled, so that it is kept under a dated name
        label(study, corpus, [before[0].image], tmp_path / "labels")
        fs.select(study, **{**duels, "per_class": 1}, replace=True)
        asked = set(read_selection(Path(study), "old")[0].images)
        first = {*asked, before[0].image}
        claimed = [image for image in twins if image in asked and twin(corpus, image) not in first]
        after = drawn(study)
        assert [row.image in twins for row in after] == [image in claimed for image in twins]
        return
    assert [row.image for row in drawn(study)] == [row.image for row in before]


def test_labels_of_any_person_count_while_no_truth_does(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    before = drawn(study)
    fs.select(study, remove="random")
    half = [twin(corpus, row.image) for row in before]
    label(study, corpus, half[:5], tmp_path / "ann", truth="ann")
    label(study, corpus, half[5:], tmp_path / "bob", truth="bob")
    assert [row.image for row in drawn(study)] == half


@pytest.mark.slow
def test_neither_names_nor_the_order_of_files_nor_engines_decide_which_image_stands_for_a_group(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    renamed = {image: f"{len(corpus.ids) - k:02d}" for k, image in enumerate(corpus.ids)}
    for folder in (corpus.photos, corpus.truth, *corpus.models.values()):
        for image, name in renamed.items():
            target = tmp_path / "renamed" / Path(folder).name / f"{name}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / f"{image}.png", target)
    away = tmp_path / "renamed"
    other = str(tmp_path / "other")
    fs.collect(
        other, away / corpus.photos.name, classes=corpus.classes, storage=fs.options.Storage(shard_size=6)
    )
    fs.predict(other, {name: away / Path(path).name for name, path in corpus.models.items()}, engine="local")
    fs.compare(other, engine="local")
    for each in (study, other):
        fs.select(each, maps=fs.options.MapRules(constraints="none"), engine="local")
        fs.select(each, as_="zzz", selector="random", seed=5, budget=4, engine="local")
    some = [image for image in corpus.ids if family(corpus, image) in (1, 4, 7)]
    label(study, corpus, some, tmp_path / "some")
    for image in some:
        target = tmp_path / "some-renamed" / f"{renamed[image]}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", target)
    fs.label.import_(other, str(tmp_path / "some-renamed"))
    mine = [renamed[row.image] for row in drawn(study, 8, "order", goal="order")]
    assert mine == [row.image for row in drawn(other, 8, "order", goal="order")]
    table = Path(study) / "selection-order.csv"
    held = table.read_bytes()
    fs.select(study, remove="order")
    fs.select(study, goal="order", budget=8, engine="processes", workers=2)
    assert table.read_bytes() == held


def test_of_classifiers_a_label_counts_more_than_an_answer_and_an_answer_more_than_nothing(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    names = ("cat", "dog", "car")
    (tmp_path / "classes.txt").write_text("\n".join(names))
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), task="classification", classes=str(tmp_path / "classes.txt"))
    for k, model in enumerate(MODELS):  # no two models agree anywhere
        lines = "".join(f"{image},{names[k]}\n" for image in corpus.ids)
        (tmp_path / f"{model}.csv").write_text("image,label\n" + lines)
        fs.predict(study, {model: str(tmp_path / f"{model}.csv")})
    before = [row.image for row in drawn(study)]
    fs.select(study, remove="random")
    answered, labelled = [twin(corpus, before[0]), before[1]], [twin(corpus, before[1])]
    answers = "".join(f"{image},cat,ann,no\n" for image in answered)
    (tmp_path / "answers.csv").write_text("image,class,annotator,answer\n" + answers)
    fs.label.import_(study, str(tmp_path / "answers.csv"))
    (tmp_path / "labels.csv").write_text("image,label\n" + "".join(f"{image},dog\n" for image in labelled))
    fs.label.import_(study, str(tmp_path / "labels.csv"))
    after = [row.image for row in drawn(study)]
    assert after == [twin(corpus, before[0]), twin(corpus, before[1]), *before[2:]]


def test_collect_and_select_say_how_many_images_are_not_drawn(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = repr(fs.collect(study, str(corpus.photos)))
    assert "28 images in 5 shards, 14 near-duplicates of others\n" in told
    assert told.endswith("\ndraws    from 14 images: one of each near-duplicate group")
    capsys.readouterr()
    drawn(study, 3)
    said = "near-duplicates: 14 of 28 images are not drawn, because they nearly equal others\n"
    assert said in capsys.readouterr().out
    drawn(study, 3, "all", sampling=fs.options.Sampling(keep_duplicates=True))
    assert "near-duplicates" not in capsys.readouterr().out
    alone = made.corpus(tmp_path / "alone", images=3, models=1)
    assert "draws" not in repr(fs.collect(tmp_path / "none", alone.photos, classes=alone.classes))


@pytest.mark.slow
def test_select_and_plan_say_how_many_new_images_are_labelled_already_and_a_dry_run_writes_nothing(
    study: str, corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.select(study, maps=fs.options.MapRules(constraints="none"), per_class=2, engine="local")
    duels = list(read_selection(Path(study), "main")[0].images)
    label(study, corpus, duels, tmp_path / "labels")
    groups = {family(corpus, image) for image in duels}

    def tried(**options: Any) -> str:
        before = made.bytes_under(Path(study), "**/*")
        said = fs.select(study, dry_run=True, engine="local", **options)
        assert made.bytes_under(Path(study), "**/*") == before
        assert repr(said).endswith("--dry-run: nothing was changed")
        return said.done

    new = f"order: 14 images would be chosen, {len(groups)} of them labelled already"
    assert tried(goal="order", budget=14).splitlines()[0] == new
    plan = fs.plan(study)
    assert f"{len(groups)} of the 14 images that it adds are labelled already." in repr(plan)
    few = drawn(study, 3, "order", goal="order")
    done = {row.image for row in few} & set(duels)
    left = len(groups) - len(done)
    more = f"11 images would be added to its 3, {left or 'none'} of them labelled already"
    assert tried(as_="order", more=11).splitlines()[0] == f"order: {more}"
    capsys.readouterr()
    fs.select(study, as_="order", more=11, engine="local")
    assert f"11 images added, {left or 'none'} of them labelled already\n" in capsys.readouterr().out
    again = tried(maps=fs.options.MapRules(constraints="none"), per_class=2, replace=True).splitlines()[0]
    assert again == f"main: {len(duels)} images would be chosen, {len(duels)} of them labelled already"
    wider = {"maps": fs.options.MapRules(constraints="none"), "per_class": 4}
    said = tried(**wider).splitlines()[0]
    held = len(duels)
    added = len(set(fs.select(study, engine="local", **wider).images) - set(duels))
    assert said == f"main: {added} images would be added to its {held}, none of them labelled already"
    assert tried(**wider).splitlines()[0] == f"main: no image would be added to its {held + added}"


def test_a_dry_run_of_draws_that_learn_counts_new_labels_beside_the_study(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    rows = drawn(study, 4, "best", goal="best")
    label(study, corpus, [row.image for row in rows], tmp_path / "labels")
    before = made.bytes_under(Path(study), "**/*")
    said = fs.select(study, as_="best", more=3, dry_run=True, engine="local").done
    assert said.startswith("best: 3 images would be added to its 4, none of them labelled already")
    assert made.bytes_under(Path(study), "**/*") == before


def test_members_are_those_with_the_largest_claim_among_the_drawable() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        families = rng.integers(0, 6, 15)
        claims = rng.integers(0, 3, 15)
        weights = rng.integers(0, 2, 15) * rng.random(15)
        if not weights.any():
            continue
        found = draw(weights, 15, families=families)
        stand = members(found.images, families, claims, weights > 0)
        for first, one in zip(found.images.tolist(), stand.tolist(), strict=True):
            mates = [k for k in range(15) if families[k] == families[first] and weights[k] > 0]
            most = max(claims[k] for k in mates)
            assert one == next(k for k in mates if claims[k] == most)
        assert sorted(families[stand]) == sorted(families[found.images])


def test_random_labels_of_twins_on_which_models_agree_give_scores_on_the_whole_corpus(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    names = ("cat", "dog", "car")
    (tmp_path / "classes.txt").write_text("\n".join(names))
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), task="classification", classes=str(tmp_path / "classes.txt"))
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 2 * GROUPS)
    groups = np.arange(2 * GROUPS) // 2
    said = {  # both differ on the first half of the groups alone
        "one": np.where(groups < 7, rng.integers(0, 2, 2 * GROUPS), groups % 3),
        "two": np.where(groups < 7, 2, groups % 3),
    }
    for model, answers in said.items():
        lines = "".join(f"{i},{names[k]}\n" for i, k in zip(corpus.ids, answers.tolist(), strict=True))
        (tmp_path / f"{model}.csv").write_text("image,label\n" + lines)
        fs.predict(study, {model: str(tmp_path / f"{model}.csv")})
    twins = [twin(corpus, row.image) for row in drawn(study)]
    fs.select(study, remove="random")
    at = sorted(corpus.ids.index(image) for image in twins)
    (tmp_path / "labels.csv").write_text(
        "image,label\n" + "".join(f"{corpus.ids[k]},{names[truth[k]]}\n" for k in at)
    )
    fs.label.import_(study, str(tmp_path / "labels.csv"))
    assert sorted(row.image for row in drawn(study)) == sorted(twins)
    drawn(study, GROUPS, "disputed", selector="disputed")
    found = fs.rank(study, selection="disputed", resamples=0)
    exact = {model: float((answers == truth)[at].mean()) for model, answers in said.items()}
    assert found.rankings["corpus"].scores == pytest.approx(exact)
    assert found.labels["pool"] == 7


@pytest.mark.slow
def test_a_dry_run_never_writes_into_a_store(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    study = str(tmp_path / "study")
    there = f"{bucket.uri}/studies/one"
    fs.collect(study, corpus.photos, classes=corpus.classes, storage=fs.options.Storage(store=there))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    label(study, corpus, corpus.ids[:4], tmp_path / "labels")
    drawn(study, 4, "best", goal="best")
    before = bucket.objects()
    words = fs.select(study, selector="random", budget=5, dry_run=True, engine="local").done
    assert words.startswith("random: 5 images would be chosen, ")
    with refused(OptionError, "--dry-run: selection 'best' learns from labels, which would be counted in"):
        fs.select(study, as_="best", more=3, dry_run=True, engine="local")
    assert bucket.objects() == before


def test_a_stale_selection_asks_for_its_images_only_if_it_can_be_extended(
    study: str, corpus: made.Corpus
) -> None:
    duels = {"maps": fs.options.MapRules(constraints="none"), "per_class": 3, "engine": "local"}
    fs.select(study, **duels)
    asked = set(read_selection(Path(study), "main")[0].images)
    fs.predict(study, remove=["model-2"])
    gone = drawn(study, name="gone")
    fs.select(study, remove="gone")
    fs.select(study, remove="main")
    assert drawn(study, name="alone") == gone  # main cannot do without a model
    assert any(twin(corpus, row.image) in asked and row.image not in asked for row in gone)
    fs.select(study, remove="alone")
    fs.select(study, **duels)
    asked = set(read_selection(Path(study), "main")[0].images)
    fs.predict(study, {"model-2": corpus.models["model-2"]}, engine="local")
    fs.compare(study, engine="local")
    pairs = [{row.image, twin(corpus, row.image)} for row in drawn(study)]
    assert any(len(pair & asked) == 1 for pair in pairs)
    images = [row.image for row in drawn(study)]
    assert all(image in asked for image, pair in zip(images, pairs, strict=True) if pair & asked)
