"""Which truth counts: the one asked for, else labels, else the only one; else one message lists them,
whatever the verb. Answers keep the truth they came under.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import ModelError, StudyError
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs import graph
from refusals import refused, refused_line


def study_of_maps(tmp_path: Path) -> tuple[str, made.Corpus]:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    study = str(tmp_path / "study")
    made.collected(corpus, study, 4)
    fs.predict(study, {n: str(s) for n, s in corpus.models.items()})
    fs.compare(study)
    fs.select(study)
    return study, corpus


@pytest.mark.slow
def test_label_maps_one_rule_and_one_message_in_every_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, corpus = study_of_maps(tmp_path)
    lines = (
        ["rank", study],
        ["measure", study],
        ["plan", study],
        ["predict", study, f"m={next(iter(corpus.models.values()))}", "--measure"],
        ["label", "export", study, str(tmp_path / "out")],
    )
    fs.label.import_(study, str(corpus.truth), truth="one")
    assert fs.rank(study, resamples=0).provenance["truth"] == "one"  # the only one
    assert fs.plan(study).provenance["truth"] == "one"
    fs.measure(study, resamples=20)
    assert json.loads((Path(study) / "measures" / "measure.json").read_text())["provenance"]["truth"] == "one"
    assert "(truth one)" in repr(fs.status(study))
    assert fs.label.export(study, tmp_path / "out").images == 0  # all are labelled under it
    fs.label.import_(study, str(corpus.truth), truth="two")
    capsys.readouterr()
    for words in lines:
        told = refused_line(*words)
        assert (
            "there are several truths (one, two), and none is called 'labels'; choose one with --truth"
            in told
        ), words
        assert "there is no truth 'tow'; available: one, two. Did you mean 'two'?" in refused_line(
            *words, "--truth", "tow"
        ), words
    assert fs.rank(study, truth="two", resamples=0).provenance["truth"] == "two"
    fs.label.import_(study, str(corpus.truth))
    assert fs.rank(study, resamples=0).provenance["truth"] == "labels"
    assert fs.plan(study).provenance["truth"] == "labels"


@pytest.mark.slow
def test_what_was_ranked_by_one_truth_is_not_ranked_by_another(tmp_path: Path) -> None:
    study, corpus = study_of_maps(tmp_path)
    for truth in ("labels", "everything"):
        fs.label.import_(study, str(corpus.truth), truth=truth)
    fs.rank(study, truth="everything", resamples=0)
    others = [
        image.id
        for image in read_corpus(Path(study))
        if image.id not in selections.read_selection(Path(study))[0].images
    ]
    fs.label.remove(study, others[0], truth="everything")
    line = standings_line(study)
    assert line == f"faultscape rank {study} --truth everything --resamples 0"
    assert main(shlex.split(line)[1:]) == 0
    assert json.loads((Path(study) / "standings.json").read_text())["provenance"]["truth"] == "everything"
    fs.label.remove(
        study, *(image.id for image in read_corpus(Path(study)) if image.id not in others), truth="everything"
    )
    assert standings_line(study) == ""  # of its own labels none are of these images
    fs.label.remove(study, all_=True, truth="everything")
    assert standings_line(study) == f"faultscape rank {study} --resamples 0"  # the truth is gone


def standings_line(study: str) -> str:
    (node,) = (node for node in graph.nodes(Study(Path(study))) if node.artefact == "standings")
    return node.line


def test_run_refuses_a_truth_that_there_is_not_before_it_does_anything(tmp_path: Path) -> None:
    study, corpus = study_of_maps(tmp_path)
    fs.run(study, truth="everything")  # before there are labels it says which are to count
    fs.label.import_(study, str(corpus.truth))
    with refused(StudyError, "there is no truth 'typo'; available: labels."):
        fs.run(study, truth="typo")
    assert not (Path(study) / "standings.json").exists()


@pytest.mark.slow
def test_answers_of_two_groups_of_people_are_two_truths(tmp_path: Path) -> None:
    """Experts say yes to what the first model says, the crowd says no to it: as one majority vote nothing
    would be decided.
    """
    it = made_answers.study(tmp_path / "made", images=12, errors=(0.1, 0.5))
    fs.select(it.study, top=3)
    asked = fs.label.export(it.study, str(tmp_path / "q.csv")).questions
    first = it.labels["model-0"]
    for group, word in (("experts", {True: "yes", False: "no"}), ("crowd", {True: "no", False: "yes"})):
        rows = [
            f"{image},{name},{group},{word[name == made_answers.NAMES[said]]}"
            for image, said in zip(it.images, first.tolist(), strict=True)
            for name in made_answers.NAMES
        ]
        (tmp_path / f"{group}.csv").write_text("image,class,annotator,answer\n" + "\n".join(rows) + "\n")
        fs.label.import_(it.study, str(tmp_path / f"{group}.csv"), truth=group)
    root, models = Path(it.study), ("model-0", "model-1")
    assert Study(root).truths == ["crowd", "experts"]
    right = {group: evidence.correctness(Study(root), models, group)[1] for group in ("experts", "crowd")}
    assert (right["experts"][0] == 1).all()
    assert (right["crowd"][0] == 0).all()
    standings = {group: fs.rank(it.study, truth=group, resamples=0) for group in ("experts", "crowd")}
    best = {group: next(iter(s.rankings.values())).order[0] for group, s in standings.items()}
    assert best == {"experts": "model-0", "crowd": "model-1"}
    assert fs.label.export(it.study, str(tmp_path / "rest.csv"), truth="experts").questions == 0
    # nobody has answered for it
    assert fs.label.export(it.study, str(tmp_path / "anew.csv"), truth="labels").questions == asked
    for verb in (fs.rank, lambda study: fs.label.export(study, str(tmp_path / "which.csv"))):
        with refused(StudyError, r"several truths \(crowd, experts\)"):
            verb(it.study)
    fs.rank(it.study, truth="experts", resamples=0)
    fs.report(it.study)
    key = json.loads((root / "standings.json").read_text())["provenance"]["inputs"]["labels"]
    assert key == Study(root).truth_key("experts") != Study(root).truth_key("crowd")


def test_a_model_is_not_renamed_to_the_truth_of_answers_or_to_labels(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=12, errors=(0.1, 0.5))
    (tmp_path / "said.csv").write_text(f"image,class,annotator,answer\n{it.images[0]},cat,ann,yes\n")
    fs.label.import_(it.study, str(tmp_path / "said.csv"), truth="experts")
    for name in ("experts", "labels"):
        with refused(ModelError, f"{name!r} is the name of a truth of this study; choose another name"):
            fs.predict(it.study, rename={"model-0": name})


def test_draws_learn_from_the_only_truth_and_ask_which_of_several(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=40)

    def label(rows: list[Any], truth: str) -> None:
        path = tmp_path / "said.csv"
        said = [f"{row.image},{made_answers.NAMES[it.truth[it.images.index(row.image)]]}" for row in rows]
        path.write_text("\n".join(["image,label", *said]) + "\n")
        fs.label.import_(it.study, str(path), truth=truth)

    rows = list(fs.select(it.study, selector="expected-loss", budget=5).rows)
    label(rows, "experts")
    rows = list(fs.select(it.study, selector="expected-loss", more=2).rows)
    assert len(rows) == 7
    label(rows, "crowd")
    with refused(
        StudyError,
        r"there are several truths \(crowd, experts\), and none is called 'labels'; choose one with --truth",
    ):
        fs.select(it.study, selector="expected-loss", more=2)
    assert len(fs.select(it.study, selector="expected-loss", more=2, truth="crowd").rows) == 9
