"""What `status` says of classifiers: what counts as labelled, and a next line that works, until all is
done.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.errors import RankingError
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.verb import group_options
from made_page import Page
from refusals import refused

HEAD = "image,class,annotator,answer\n"


@pytest.fixture
def made(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=40, errors=(0.2, 0.4, 0.6))


def line_of(study: str, stage: str, selection: str) -> tuple[str, str]:
    """The state and the words of one stage of one selection."""
    return next(
        (state, words)
        for name, state, words in fs.status(study).stages
        if name == stage and words.startswith(f"{selection}:")
    )


def answer(study: str, path: Path, rows: list[tuple[str, str]], word: str, who: str = "ann") -> None:
    path.write_text(HEAD + "".join(f"{image},{class_},{who},{word}\n" for image, class_ in rows))
    fs.label.import_(study, str(path))


def test_an_image_of_a_pair_is_labelled_when_it_is_decided_for_both_models(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    rows = fs.select(made.study, top=4, sampling=fs.options.Sampling(spares=0)).chosen
    slot, number = rows[0], len({row.image for row in rows})
    both = [
        (slot.image, word) for row in rows if row.image == slot.image for word in (row.label_a, row.label_b)
    ]
    answer(made.study, tmp_path / "a.csv", both[:1], "no")
    assert line_of(made.study, "label", "main") == (
        "missing",
        f"main: 0 of {number} images labelled, 1 partly (truth labels)",
    )
    answer(made.study, tmp_path / "a.csv", both[1:], "no")
    assert line_of(made.study, "label", "main")[1] == f"main: 1 of {number} images labelled (truth labels)"


@pytest.mark.slow
def test_rank_and_the_report_call_the_same_images_labelled_as_status_does(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    def page(**options: Any) -> str:
        text = Path(fs.report(made.study, output=str(tmp_path / "page.html"), **options).path).read_text(
            encoding="utf-8"
        )
        return " ".join("".join(Page(text).text).split())

    rows = fs.select(made.study, top=4, sampling=fs.options.Sampling(spares=0)).chosen
    number, images = len({row.image for row in rows}), list(dict.fromkeys(row.image for row in rows))
    asked = {(row.image, word) for row in rows for word in (row.label_a, row.label_b)}
    one = {image: next(question for question in sorted(asked) if question[0] == image) for image in images}
    answer(made.study, tmp_path / "a.csv", [one[image] for image in images[:3]], "no")
    answer(made.study, tmp_path / "a.csv", sorted(q for q in asked if q[0] == images[3]), "no")
    answer(made.study, tmp_path / "tie.csv", [one[images[4]]], "unsure")
    assert (
        line_of(made.study, "label", "main")[1]
        == f"main: 1 of {number} images labelled, 3 partly (truth labels)"
    )
    assert f"1 of {number} chosen images are labelled, 3 partly" in page()
    found = fs.rank(made.study, resamples=0)
    assert found.notes[0] == f"1 of {number} chosen images are labelled, 3 partly"
    assert found.labels | {"used": 4, "partly": 3} == found.labels
    assert "Standings of 3 models from 1 labelled image and 3 partly labelled\n" in repr(found)
    assert "From 1 labelled image and 3 partly labelled. A dot" in page()
    assert "1 labelled image and 3 partly labelled, and at least 10 are needed" in page()

    fs.select(made.study, selector="disputed", budget=4)
    fs.label.export(made.study, str(tmp_path / "q.csv"), selection="disputed")
    open_ = [tuple(line.split(",")[:2]) for line in (tmp_path / "q.csv").read_text().splitlines()[1:]]
    answer(made.study, tmp_path / "a.csv", [open_[0]], "no")
    words = line_of(made.study, "label", "disputed")[1]
    labelled, partly = (int(n) for n in re.findall(r"(\d+)(?: of 4 images labelled| partly)", words))
    assert partly
    drawn = fs.rank(made.study, selection="disputed", resamples=0)
    assert drawn.notes[0] == f"{labelled} of 4 drawn images are labelled, {partly} partly"
    assert drawn.labels["partly"] == partly


def test_an_image_drawn_for_all_models_is_labelled_when_it_is_decided_for_every_model(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    fs.select(made.study, selector="disputed", budget=4)
    fs.label.export(made.study, str(tmp_path / "q.csv"), selection="disputed")
    asked = [
        (row[0], row[1])
        for row in (line.split(",") for line in (tmp_path / "q.csv").read_text().splitlines()[1:])
    ]
    mine = [question for question in asked if question[0] == asked[0][0]]
    answer(made.study, tmp_path / "a.csv", mine[:-1], "no")
    assert (
        line_of(made.study, "label", "disputed")[1]
        == "disputed: 0 of 4 images labelled, 1 partly (truth labels)"
    )
    answer(made.study, tmp_path / "a.csv", mine[-1:], "yes")
    assert line_of(made.study, "label", "disputed")[1] == "disputed: 1 of 4 images labelled (truth labels)"
    answer(made.study, tmp_path / "a.csv", asked, "no")
    assert line_of(made.study, "label", "disputed")[0] == "done"


def test_when_everybody_answered_and_a_tie_is_left_the_next_line_asks_again(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    slot = fs.select(
        made.study,
        top=1,
        sampling=fs.options.Sampling(spares=0),
        classifiers=fs.options.ClassifierRules(cap=1),
    ).chosen[0]
    rows = [
        (row.image, word)
        for row in read_selection(Path(made.study))[0].chosen
        for word in (row.label_a, row.label_b)
    ]
    answer(made.study, tmp_path / "a.csv", rows, "no")
    answer(made.study, tmp_path / "b.csv", [(slot.image, slot.label_a)], "yes", who="bob")
    fs.rank(made.study, resamples=10)
    assert fs.report(made.study)
    answered = len(set(rows)) + 1  # a file that is filled in is never written again
    assert (
        fs.status(made.study).next
        == f"faultscape label export {made.study} questions-again-{answered}.csv --format csv --again"
    )


def test_labels_of_another_selection_do_not_make_a_draw_ready_to_be_ranked(
    made: made_answers.Answers,
) -> None:
    drawn = fs.select(made.study, selector="random", budget=20).images
    made_answers.import_labels(made, list(drawn[:3]))
    assert (
        fs.status(made.study).next
        == f"faultscape label export {made.study} questions-random.csv --format csv --selection random"
    )
    made_answers.import_labels(made, list(drawn[:10]))
    assert fs.status(made.study).next == f"faultscape rank {made.study} --selection random"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"selector": "random", "budget": 6}, "--selector random --budget 6"),
        (
            {"selector": "random", "budget": 6, "seed": 3, "keep_duplicates": True},
            "--selector random --budget 6 --seed 3 --keep-duplicates",
        ),
        (
            {"selector": "mad", "temperature": 0.5, "budget": 5, "as_": "hot-2"},
            "--selector mad --budget 5 --temperature 0.5",
        ),
    ],
)
def test_after_a_model_was_added_the_next_line_draws_anew_and_every_next_line_works(
    made: made_answers.Answers, options: dict, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made_answers.import_labels(made)
    fs.select(made.study, **group_options(fs.select, options))
    name = options.get("as_", "random")
    (Path(made.study).parent / "new.csv").write_text(
        Path(made.tables["model-2"]).read_text().replace("cat", "dog")
    )
    fs.predict(made.study, {"new": str(Path(made.study).parent / "new.csv")})
    assert line_of(made.study, "select", name)[1].endswith("; models were added since")
    own = " --as hot-2" if name == "hot-2" else ""
    assert fs.status(made.study).next == f"faultscape select {made.study} {words}{own} --replace"
    lines = []
    while (line := fs.status(made.study).next) and len(lines) < 16:
        lines.append(line)
        few = [] if "rank" not in line or "--resamples" in line else ["--resamples", "10"]
        assert main([*shlex.split(line)[1:], *few]) == 0, line
    assert line == ""
    verbs = [word.split()[1] for word in lines]
    assert verbs[:2] == ["select", "rank"]
    assert verbs.count("report") == 1
    assert set(verbs[2:]) <= {"plan", "select", "rank", "report"}  # more draws, while it is open who is best
    assert line_of(made.study, "select", name)[0] == "done"
    kept = next(words for _, _, words in fs.status(made.study).stages if words.startswith(f"{name}-20"))
    assert kept.endswith(f"; replaced by {name}; models were added since")
    capsys.readouterr()


def test_a_study_whose_answers_must_be_read_anew_still_has_a_status(
    made: made_answers.Answers, tmp_path: Path
) -> None:
    fs.select(made.study, selector="random", budget=6)
    made_answers.import_labels(made)
    (tmp_path / "two.txt").write_text("cat\ndog\n")
    fs.collect(made.study, str(Path(made.study).parent / "ids.csv"), classes=str(tmp_path / "two.txt"))
    assert fs.status(made.study).next.startswith("faultscape predict")


def test_without_main_the_report_of_what_is_ranked_is_asked_for(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=30)
    drawn = fs.select(answers.study, selector="random", budget=12)
    made_answers.import_labels(answers, list(drawn.images))
    fs.rank(answers.study, selection="random", resamples=0)
    assert fs.status(answers.study).next == f"faultscape report {answers.study} --selection random"
    fs.report(answers.study, selection="random")
    assert ("report", "done", "report-random.html") in fs.status(answers.study).stages
    assert fs.status(answers.study).next == ""


def test_distances_of_draws_stand_in_the_line_that_draws_anew(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path, images=30)
    names = made_answers.NAMES
    rows = [
        ",".join(["", *names]),
        *(",".join([a, *(str(abs(i - k)) for k in range(5))]) for i, a in enumerate(names)),
    ]
    (tmp_path / "far apart.csv").write_text("\n".join(rows) + "\n")
    fs.select(
        answers.study,
        sampling=fs.options.Sampling(temperature=2.0),
        budget=5,
        classifiers=fs.options.ClassifierRules(distance=str(tmp_path / "far apart.csv")),
    )
    fs.predict(answers.study, {"late": answers.tables["model-0"]})
    line = fs.status(answers.study).next
    assert f"--temperature 2.0 --distance '{tmp_path / 'far apart.csv'}' --replace" in line
    assert main(shlex.split(line)[1:]) == 0


def test_after_a_model_was_removed_every_next_line_works_until_nothing_is_left(
    made: made_answers.Answers,
) -> None:
    made_answers.import_labels(made)
    fs.select(made.study, top=4, classifiers=fs.options.ClassifierRules(cap=2))
    fs.rank(made.study, resamples=0)
    fs.report(made.study)
    fs.predict(made.study, remove=["model-1"])
    with refused(
        RankingError,
        "'model-1', which is no longer in the study; redraw it with `faultscape select .* --replace`",
    ):
        fs.rank(made.study)
    assert fs.status(made.study).next == f"faultscape select {made.study} --top 4 --cap 2 --replace"
    lines = []
    while (line := fs.status(made.study).next) and len(lines) < 5:
        lines.append(line.split()[1])
        assert main(shlex.split(line)[1:]) == 0, line
    assert lines == ["select", "rank", "report"]
    kept = next(words for _, _, words in fs.status(made.study).stages if words.startswith("main-"))
    assert kept.endswith("; replaced by main; a model that it was drawn with is gone")
