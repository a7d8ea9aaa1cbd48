"""Two-alternative choices (S0 4.4): people say which of two models' maps is better, and the models are ranked
without a single mask.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.ranking.duel_standings import from_json
from faultscape.reading.choices import digests
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.tables.selections import read_selection
from made_page import Page

PEOPLE = ("ann", "ben")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, made.Corpus]:
    folder = tmp_path_factory.mktemp("choices")
    corpus = made.corpus(folder / "corpus", images=24, models=4)
    study = made.compared_study(corpus, folder / "study", shard_size=16)
    fs.select(study, per_class=2)
    return study, corpus


def accuracy(corpus: made.Corpus, model: str, image: str) -> float:
    k = corpus.ids.index(image)
    return float((corpus.maps[model][k] == corpus.truths[k]).mean())


def forced(study: str, corpus: made.Corpus, seed: int = 0) -> list[Choice]:
    """What two people would say, who see the better of two maps, each failing one time in ten."""
    rng = np.random.default_rng(seed)
    slots, _ = read_selection(Path(study), "main")
    asked = sorted({(row.image, *sorted((row.defender, row.attacker))) for row in slots.chosen})
    shown = digests(Study(Path(study)), slots.models, [image for image, *_ in asked])
    out = []
    for image, a, b in asked:
        better = accuracy(corpus, a, image) >= accuracy(corpus, b, image)
        for who in PEOPLE:
            right = rng.random() < 0.9
            out.append(
                Choice(
                    image,
                    a,
                    b,
                    "first" if better == right else "second",
                    who,
                    shown[a, image],
                    shown[b, image],
                    seconds=2.5,
                )
            )
    return out


def plain_aggressiveness(
    study: str, choices: list[Choice], epsilon: float = 0.01
) -> dict[tuple[str, str], float]:
    """S0 eq. 3 and 4 with P(f) the share of choices for f over annotators and images of a cell, as loops."""
    slots, _ = read_selection(Path(study), "main")
    cells: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    worth = {"first": 1.0, "second": 0.0, "both good": 0.5, "both bad": 0.5, "not sure": 0.5}
    for row in slots.chosen:
        for one in choices:
            if (
                one.image == row.image
                and {one.first, one.second} == {row.defender, row.attacker}
                and one.chosen in worth
            ):
                share = worth[one.chosen]
                cells[row.defender, row.attacker, row.class_].append(
                    share if one.first == row.defender else 1 - share
                )
    found = {}
    for defender in slots.models:
        for attacker in slots.models:
            mine = [np.mean(shares) for (d, a, _), shares in cells.items() if (d, a) == (defender, attacker)]
            if mine:
                p = float(np.mean(mine))
                found[attacker, defender] = (1 - p + epsilon) / (p + epsilon)
    return found


def ranked(study: str, **options: object) -> Standings:
    fs.rank(study, resamples=200, **options)
    return from_json(json.loads((Path(study) / "standings.json").read_text()))


def test_four_models_two_people_forced_choice(world: tuple[str, made.Corpus]) -> None:
    study, corpus = world
    choices = forced(study, corpus)
    assert Choices(Path(study)).add_all(choices, "test") == len(choices)
    standings = ranked(study)
    found = np.array(standings.matrices["aggressiveness"])
    for (row, column), value in plain_aggressiveness(study, choices).items():
        assert found[standings.models.index(row), standings.models.index(column)] == pytest.approx(value)
    assert set(standings.rankings) == {"aggressiveness", "resistance", "choices_bradley_terry"}
    # each errs more than the one before
    assert standings.rankings["choices_bradley_terry"].order == sorted(corpus.models)
    assert standings.labels["choices"] == len(choices)
    assert any(f"{len(choices)} choices between two models decide " in note for note in standings.notes)


@pytest.fixture
def own(world: tuple[str, made.Corpus], tmp_path: Path) -> str:
    """A copy of the study, without answers."""
    shutil.copytree(
        world[0], tmp_path / "study", ignore=shutil.ignore_patterns("answers.sqlite", "standings.json")
    )
    return str(tmp_path / "study")


def test_ties_and_not_sure_are_half_and_a_skip_is_left_out(own: str, world: tuple[str, made.Corpus]) -> None:
    words = ("first", "second", "both good", "both bad", "not sure", "skip")
    rng = np.random.default_rng(3)
    choices = [Choice(**{**vars(one), "chosen": words[rng.integers(6)]}) for one in forced(own, world[1])]
    Choices(Path(own)).add_all(choices, "test")
    found = ranked(own)
    matrix = np.array(found.matrices["aggressiveness"])
    for (row, column), value in plain_aggressiveness(own, choices).items():
        assert matrix[found.models.index(row), found.models.index(column)] == pytest.approx(value)
    assert found.labels["choices"] == sum(one.chosen != "skip" for one in choices)


@pytest.mark.slow
def test_masks_count_where_they_are_and_choices_elsewhere(
    own: str, world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    corpus = world[1]
    choices = forced(own, corpus)
    Choices(Path(own)).add_all(choices, "test")
    only = ranked(own)
    some = sorted({one.image for one in choices})[::2]
    for image in some:
        made.write(tmp_path / "masks" / f"{image}.png", corpus.truths[corpus.ids.index(image)])
    fs.label.import_(own, str(tmp_path / "masks"))
    mixed = ranked(own)
    asked = len({one.image for one in choices})
    assert mixed.labels["by_choice"] == asked - len(some)
    assert only.labels["by_choice"] == asked
    assert {"reuse_mean", "choices_bradley_terry"} <= set(mixed.rankings)
    assert any(
        f"decide {asked - len(some)} of {asked} chosen images, which have no label" in note
        for note in mixed.notes
    )
    everything = [image for image in {one.image for one in choices} if image not in some]
    for image in everything:
        made.write(tmp_path / "masks" / f"{image}.png", corpus.truths[corpus.ids.index(image)])
    fs.label.import_(own, str(tmp_path / "masks"))
    by_masks = ranked(own)
    Choices(Path(own)).add_all([Choice(**{**vars(one), "chosen": ""}) for one in choices], "taken back")
    assert by_masks.matrices == ranked(own).matrices  # a mask says more than choices do


@pytest.mark.slow
def test_a_choice_counts_no_more_once_a_map_that_was_shown_is_another(
    own: str, world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    corpus = world[1]
    choices = forced(own, corpus)
    Choices(Path(own)).add_all(choices, "test")
    fs.rank(own)
    assert made.states(own)["rank"] == "done"
    new = tmp_path / "new"
    shutil.copytree(corpus.models["model-3"], new)
    changed = min({one.image for one in choices if "model-3" in (one.first, one.second)})
    made.write(new / f"{changed}.png", corpus.truths[corpus.ids.index(changed)])
    fs.predict(own, {"model-3": str(new)}, engine="local")
    fs.compare(own, engine="local")
    gone = sum(one.image == changed and "model-3" in (one.first, one.second) for one in choices)
    found = ranked(own)
    assert found.labels["choices"] == len(choices) - gone
    assert any(
        note.startswith(
            f"{gone} choices between two models do not count: one of the maps shown has been predicted again"
        )
        for note in found.notes
    )


def test_choices_follow_a_model_that_is_called_something_else(
    own: str, world: tuple[str, made.Corpus]
) -> None:
    Choices(Path(own)).add_all(forced(own, world[1]), "test")
    before = ranked(own)
    fs.predict(own, rename={"model-1": "zebra"})
    after = ranked(own)
    names = {m: m for m in before.models} | {"model-1": "zebra"}
    assert {names[m]: s for m, s in before.rankings["choices_bradley_terry"].scores.items()} == pytest.approx(
        after.rankings["choices_bradley_terry"].scores
    )


@pytest.mark.slow
def test_status_counts_images_on_which_people_chose_as_labelled(
    own: str, world: tuple[str, made.Corpus]
) -> None:
    choices = forced(own, world[1])
    Choices(Path(own)).add_all(choices[: len(choices) // 2], "test")
    said = str(fs.status(own))
    assert "partly" in said
    assert fs.status(own).next.startswith("faultscape rank")
    fs.rank(own)
    assert made.states(own)["rank"] == "done"
    Choices(Path(own)).add_all(choices, "test")
    assert made.states(own)["rank"] == "stale"
    assert made.states(own)["label"] == "done"


def test_a_report_counts_images_by_choices_and_tags_among_those_whose_choices_a_model_lost(
    own: str, world: tuple[str, made.Corpus]
) -> None:
    choices = forced(own, world[1])
    Choices(Path(own)).add_all(choices, "test")
    images = sorted({one.image for one in choices})
    Tags(Path(own)).add_all([Tag(image, "dark", "ann") for image in images[:6]], "test")
    page = Page(Path(fs.report(own).path).read_text(encoding="utf-8"))
    # there are no standings yet
    assert f"{len(images)} of {len(images)} chosen images are labelled" in " ".join(page.text)
    fs.rank(own, resamples=0)
    page = Page(Path(fs.report(own).path).read_text(encoding="utf-8"))
    text = " ".join(" ".join(page.text).split())
    assert f"of these labelled {len(images)}, {len(images)} by choices" in text
    assert f"of the {len(images)} images on which people chose between models" in text
    assert "failures (fewer than half of the choices won)" in text
    failed = {}
    for model in sorted(world[1].models):
        won = defaultdict(lambda: defaultdict(list))
        for one in choices:
            for name, chosen in ((one.first, "first"), (one.second, "second")):
                if name == model:
                    won[one.image][frozenset((one.first, one.second))].append(one.chosen == chosen)
        failed[model] = [
            i for i, pairs in won.items() if np.mean([np.mean(said) for said in pairs.values()]) < 0.5
        ]
    row = page.cells[(at := page.cells.index("dark")) + 2 : at + 6]
    assert [int(cell.split()[0]) for cell in row] == [
        len({*images[:6]} & {*failed[m]}) for m in sorted(failed)
    ]
