"""Standings of a part: what `rank --where` says of a tag, a group, a set or a condition, and that it leaves
the study's standings as they are.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.errors import FaultscapeError
from faultscape.standings import Standings
from faultscape.study.answers.tags import Tag, Tags
from refusals import refused, refused_line, told, typed

SELECTIONS = ("random", "disputed", "pairs", "entropy")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> made_answers.Answers:
    """A study of classifiers with four selections, all labelled; every third image has the tag night, every
    image the tag any.
    """
    answers = made_answers.study(tmp_path_factory.mktemp("where"), images=200)
    fs.select(answers.study, selector="random", budget=90)
    fs.select(answers.study, selector="disputed", budget=60)
    fs.select(answers.study, top=20, as_="pairs")
    fs.select(answers.study, selector="entropy", budget=60)
    made_answers.import_labels(answers)
    tags = [Tag(image, "any", "ann") for image in answers.images] + [
        Tag(image, "night", "ann") for image in answers.images[::3]
    ]
    tags += [
        Tag(answers.images[1], "background bias", "ann", model="model-0"),
        Tag(answers.images[2], "fog", "ann", region="1,2,3,4"),
    ]
    Tags(Path(answers.study)).add_all(tags, "test")
    return answers


def same(one: Standings, other: Standings) -> bool:
    """Whether two standings say the same, but for the part that one of them is of."""
    plain = {key: value for key, value in other.definitions.items() if key not in ("where", "where_images")}
    return repr(fs.ranking.standings_json.to_json(replace(one, provenance={}))) == repr(
        fs.ranking.standings_json.to_json(replace(other, definitions=plain, provenance={}))
    )


@pytest.mark.slow
@pytest.mark.parametrize("selection", SELECTIONS)
def test_ranking_the_whole_corpus_as_a_part_is_ranking(answers: made_answers.Answers, selection: str) -> None:
    whole = fs.rank(answers.study, selection=selection, resamples=60)
    for where in (["tag=any"], ["set=main", "tag=any"], ["set=main"]):
        assert same(whole, fs.rank(answers.study, selection=selection, resamples=60, where=where)), where


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_part_counts_the_images_that_lie_in_it_and_no_others(
    answers: made_answers.Answers, selection: str
) -> None:
    chosen = fs.study.tables.selections.read_selection(Path(answers.study), selection)[0].images
    inside = sorted(set(chosen) & set(answers.images[::3]))
    found = fs.rank(answers.study, selection=selection, resamples=60, where=["tag=night"])
    assert found.labels["used"] == len(inside)
    at = [answers.images.index(image) for image in inside]
    for model, score in found.rankings["reuse_mean"].scores.items():
        assert score == pytest.approx(np.mean(answers.labels[model][at] == answers.truth[at]))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_labels_of_other_selections_count_as_far_as_they_lie_in_the_part(
    answers: made_answers.Answers, selection: str
) -> None:
    found = fs.rank(answers.study, selection=selection, resamples=0, all_labels=True, where=["tag=night"])
    assert found.labels["used"] == len(answers.images[::3])


def test_scores_of_a_known_part_are_weighted_means_and_hold_what_all_labels_say(
    answers: made_answers.Answers,
) -> None:
    found = fs.rank(answers.study, selection="random", where=["tag=night"])
    night = np.isin(answers.images, answers.images[::3])
    for model, (low, high) in found.rankings["lure"].score_interval.items():
        # draws are even
        assert found.rankings["lure"].scores[model] == pytest.approx(
            found.rankings["reuse_mean"].scores[model]
        )
        assert low <= np.mean(answers.labels[model][night] == answers.truth[night]) <= high
    assert "prediction_powered" not in found.rankings
    assert "corpus" not in found.rankings
    assert any(
        note.startswith("whether an image lies in tag=night is known only for images") for note in found.notes
    )


def test_the_first_line_names_the_part(answers: made_answers.Answers) -> None:
    said = told(
        *typed(
            "rank {study} --selection random --where tag=night --where set=main --resamples 50",
            study=answers.study,
        )
    )
    assert said[0] == "Only tag=night and set=main, 67 images of the study:"


def test_nothing_is_written_but_the_file_that_is_named(answers: made_answers.Answers, tmp_path: Path) -> None:
    root, out = Path(answers.study), tmp_path / "night.json"
    fs.rank(answers.study, selection="random", resamples=40)
    states = made.states(answers.study)
    kept = {path.name: path.read_bytes() for path in root.glob("*.json")}
    fs.rank(answers.study, selection="random", resamples=40, where=["tag=night"])
    found = fs.rank(answers.study, selection="random", resamples=40, where=["tag=night"], output=out)
    assert {path.name: path.read_bytes() for path in root.glob("*.json")} == kept
    raw = json.loads(out.read_text())
    assert raw["definitions"]["where"] == "tag=night"
    assert raw["provenance"]["arguments"] == {"resamples": 40, "where": ["tag=night"]}
    assert fs.ranking.standings_json.from_json(raw).rankings["lure"].order == found.rankings["lure"].order
    assert made.states(answers.study) == states


def test_two_selections_are_set_beside_each_other_on_the_part_alone(answers: made_answers.Answers) -> None:
    found = fs.rank(answers.study, selection="random", against=["disputed"], resamples=0, where=["tag=night"])
    night = set(answers.images[::3])
    one, other = (
        set(fs.study.tables.selections.read_selection(Path(answers.study), name)[0].images) & night
        for name in ("random", "disputed")
    )
    assert found.against["disputed"].image_overlap == pytest.approx(len(one & other) / len(one | other))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("--where", "night"), "--where night: is not a condition; give KEY=VALUE"),
        (("--where", "tag="), "is not a condition; give KEY=VALUE"),
        (("--where", "tga=night"), "'tga' is not known; use tag, group, set, condition. Did you mean 'tag'?"),
        (
            ("--where", "tag=nihgt"),
            "no image has the tag 'nihgt'; available: any, fog, night. Did you mean 'night'?",
        ),
        (("--where", "tag=background bias"), "describes predictions of single models, not images"),
        (("--where", "group=a"), "no image of the study has a group"),
        (("--where", "set=mian"), "no image has the set 'mian'; available: main. Did you mean 'main'?"),
        (
            ("--where", "tag=night", "--where", "tag=fog"),
            "no image of the study meets all of these conditions",
        ),
        (("--where", "tag=night", "--population", "future"), "leave one out"),
        (("--output", "x.json"), "--output is for --where"),
    ],
)
def test_a_part_that_there_is_not_is_refused_in_one_line(
    answers: made_answers.Answers, line: tuple[str, ...], says: str
) -> None:
    assert says in refused_line("rank", answers.study, "--selection", "random", *line)


def test_standings_of_a_part_never_take_the_place_of_those_of_the_whole(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    root = Path(answers.study)
    for output, says in (
        (root / "standings-random.json", "holds the standings of whole selections"),
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x.json", "its folder is not there"),
    ):
        with refused(FaultscapeError, says):
            fs.rank(answers.study, selection="random", where=["tag=night"], output=output)


def test_a_selection_without_an_image_in_the_part_says_so(answers: made_answers.Answers) -> None:
    chosen = set(fs.study.tables.selections.read_selection(Path(answers.study), "entropy")[0].images)
    other = next(image for image in answers.images if image not in chosen)
    Tags(Path(answers.study)).add_all([Tag(other, "alone", "ann")], "test")
    assert "none of the 60 images of selection 'entropy' lies in tag=alone" in refused_line(
        "rank", answers.study, "--selection", "entropy", "--where", "tag=alone"
    )


def test_duels_of_label_maps_count_the_slots_whose_images_lie_in_the_group(tmp_path: Path) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=30, models=3), str(tmp_path / "study")
    fs.collect(study, corpus.photos, classes=corpus.classes, grouping=fs.options.Grouping(group="{group}/*"))
    fs.predict(study, dict(corpus.models), engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    fs.label.import_(study, str(corpus.truth))
    whole = fs.rank(study, resamples=40, engine="local")
    slots = fs.study.tables.selections.read_selection(Path(study), "main")[0]
    inside = [row for row in slots.duels if row.image.startswith("part0/")]
    found = fs.rank(study, resamples=40, engine="local", where=["group=part0"])
    assert (found.labels["slots"], found.labels["used"]) == (len(inside), len({row.image for row in inside}))
    assert found.labels["used"] < whole.labels["used"]
    alone = fs.rank(study, resamples=40, engine="local", where=["set=main"])
    assert same(whole, alone)
