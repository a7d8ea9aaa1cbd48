"""What is next where masks of several people are there, where no image is left to draw, where questions were
answered already, and where only images chosen for what models predict are ranked.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.verbs.plan.words import command
from faultscape.verbs.run.question import asked_in_a_terminal
from faultscape.verbs.status.more_images import line_for_more
from refusals import refused_line
from undoing import FEW, chosen, copy_of, shared_corpus


def typed(line: str) -> None:
    assert main(shlex.split(line)[1:]) == 0, line


class Annotators:
    """A study of label maps for which people draw masks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.corpus = shared_corpus()
        self.study = copy_of("chosen", folder / "study")

    def draw(self, who: str, images: list[str]) -> None:
        masks = self.folder / f"masks-of-{who}"
        for image in images:
            target = masks / f"{image}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.corpus.truth / f"{image}.png", target)
        fs.label.import_(self.study, masks, truth=f"labels-{who}")

    def next(self) -> str:
        return fs.status(self.study).next.replace(self.study, "STUDY")


@pytest.fixture
def people(tmp_path: Path) -> Annotators:
    return Annotators(tmp_path)


def test_masks_of_two_annotators_are_merged_and_merged_again_when_they_change(people: Annotators) -> None:
    images = list(people.corpus.ids)
    people.draw("ann", images[:2])
    assert people.next().startswith("faultscape rank STUDY --truth labels-ann")  # the only truth
    people.draw("bob", images[1:3])
    merge = "faultscape label consensus STUDY --of labels-ann --of labels-bob"
    assert people.next() == f"{merge} --least 1"
    for words in (["rank", people.study], ["plan", people.study], ["measure", people.study]):
        told = refused_line(*words).replace(people.study, "STUDY")
        assert f"choose one with --truth, or merge them: `{merge} --least 1`" in told
    assert any(
        f"{merge} --least 1` merges them" in line.replace(people.study, "STUDY")
        for line in fs.run(people.study).done
    )
    typed(fs.status(people.study).next)
    merged = label_maps.truth(Path(people.study), "labels")
    held = {row.id for shard in (0, 1) for row in label_maps.read_stored(merged, shard)}
    assert held == set(images[:3])  # no label of one person alone is wasted
    assert not people.next().startswith("faultscape label consensus")
    people.draw("ann", images[3:4])
    assert people.next() == f"{merge} --least 1"
    typed(fs.status(people.study).next)
    people.draw("eve", images[4:5])
    assert people.next() == f"{merge} --of labels-eve --least 1"


def test_who_was_left_out_of_a_merger_is_not_asked_for_again(people: Annotators) -> None:
    images = list(people.corpus.ids)
    for who in ("ann", "bob", "eve"):
        people.draw(who, images[:3])
    fs.label.consensus(people.study, of=["labels-ann", "labels-bob"])
    assert not people.next().startswith("faultscape label consensus")
    people.draw("eve", images[3:4])
    assert not people.next().startswith("faultscape label consensus")
    people.draw("bob", images[3:4])
    assert people.next() == "faultscape label consensus STUDY --of labels-ann --of labels-bob"
    fs.label.remove(people.study, all_=True, truth="labels-bob")
    assert not people.next().startswith("faultscape label consensus")  # nothing is left to merge


def test_where_no_image_is_left_to_draw_nothing_asks_for_more(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=24, errors=(0.1, 0.2))
    drawn = fs.select(it.study, goal="order", budget=20).images
    assert len(drawn) < 10  # the models agree on all others
    made_answers.import_labels(it)
    state = fs.run(it.study, engine="local").status
    assert (state.next, state.more) == ("", "")


@pytest.mark.slow
def test_a_file_of_questions_that_is_filled_in_is_not_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    it = made_answers.study(tmp_path / "made", images=40)
    fs.select(it.study, goal="order", budget=10)
    names = []
    for _ in range(2):
        line = fs.status(it.study).next
        typed(line)
        names.append(shlex.split(line)[4])
        with Path(names[-1]).open(newline="") as file:
            rows = [{**row, "annotator": "ann", "answer": "yes"} for row in csv.DictReader(file)]
        with Path(names[-1]).open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        fs.label.import_(it.study, names[-1])
        fs.rank(it.study, selection="order", **FEW)
        fs.select(it.study, as_="order", more=5)
    assert names[0] == "questions-order.csv"
    assert names[1] not in ("", names[0])


def fill_in(path: str, rows: int | None = None) -> int:
    """Say yes to the first questions of a file, to all by default; return how many there are."""
    with Path(path).open(newline="") as file:
        asked = list(csv.DictReader(file))
    with Path(path).open("w", newline="") as file:
        table = csv.DictWriter(file, list(asked[0]))
        table.writeheader()
        table.writerows(
            {**row, "annotator": "ann", "answer": "yes" if rows is None or k < rows else ""}
            for k, row in enumerate(asked)
        )
    return len(asked)


def test_the_plan_asks_for_labels_in_the_same_file_as_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    it = made_answers.study(tmp_path / "made", images=60)
    fs.select(it.study, goal="order", budget=60)
    typed(fs.status(it.study).next)
    fill_in("questions-order.csv", rows=9)
    fs.label.import_(it.study, "questions-order.csv")
    plan = fs.plan(it.study)
    assert plan.recommended["verb"] == "label"
    assert command(plan) == fs.status(it.study).next != ""
    typed(command(plan))  # the file that is filled in would be refused


def test_after_a_selection_is_extended_its_new_images_come_before_its_ranking(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = chosen(corpus, tmp_path / "study")
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, **FEW)
    fs.select(study, goal="order", budget=20, engine="local")
    fs.label.remove(study, all_=True)
    masks = tmp_path / "masks"
    for image in fs.select(study, engine="local").images:
        target = masks / f"{image}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus.truth / f"{image}.png", target)
    fs.label.import_(study, masks)
    more = fs.select(study, per_class=2, engine="local")
    assert more.labelled < len(more.images)
    assert more.next.startswith(f"faultscape label export {study} ")


@pytest.mark.slow
def test_what_is_next_says_what_its_images_cost_before_they_are_drawn(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=60)
    drawn = fs.select(it.study, goal="order", budget=10)
    number = fill_in(fs.label.export(it.study, tmp_path / "q.csv", selection="order").path)
    assert number > len(drawn.images)  # one question for each class that a model predicts
    assert fs.verdict(it.study).hours == pytest.approx(number * 3 / 3600)
    fs.label.import_(it.study, tmp_path / "q.csv")
    fs.run(it.study, engine="local")
    said = fs.verdict(it.study)
    assert " --more " in said.next
    assert said.hours == pytest.approx(int(said.next.rpartition(" ")[2]) * number / 10 * 3 / 3600)
    made_answers.import_labels(it)  # what is labelled already costs nothing
    fs.run(it.study, engine="local")
    assert fs.verdict(it.study).hours is None


@pytest.mark.slow
def test_after_the_images_that_show_failures_the_next_line_draws_some_that_show_which_is_better(
    tmp_path: Path,
) -> None:
    it = made_answers.study(tmp_path / "made", images=60)
    made_answers.import_labels(it)
    state = fs.run(it.study, goal="failures", engine="local").status
    assert state.more == f"faultscape select {it.study} --goal order --budget 20"
    assert not fs.verdict(it.study).decided
    typed(state.more)
    state = fs.run(it.study, engine="local").status
    assert state.more == ""


@pytest.mark.slow
def test_a_model_added_to_a_ranked_study_is_no_error_and_the_next_lines_rank_it(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=60)
    fs.run(it.study, engine="local")
    made_answers.import_labels(it, [*fs.select(it.study, as_="order").images])
    fs.run(it.study, engine="local")
    new = tmp_path / "new.csv"
    new.write_text(Path(it.tables["model-2"]).read_text().replace("cat", "dog"))
    assert main(["run", it.study, f"new={new}", "--engine", "local"]) == 0
    state = fs.status(it.study)
    assert state.next == f"faultscape select {it.study} --goal order --budget 20 --replace"
    assert re.search(r"--replace  # at most \d+ minutes of labelling", repr(state))
    made_answers.import_labels(it)
    assert repr(fs.status(it.study)).endswith("--replace")  # nothing is left to label
    while line := fs.verdict(it.study).next:
        typed(line)
    assert "new" in fs.rank(it.study, selection="order", **FEW).models


def alike(
    folder: Path, images: int = 200, errors: tuple[float, ...] = (0.3, 0.31, 0.5)
) -> made_answers.Answers:
    """A study in which labels of a few images do not decide between two models."""
    return made_answers.study(folder / "made", images=images, errors=errors)


@pytest.mark.slow
def test_the_best_from_few_labels_ends_with_draws_that_say_how_sure_it_is(tmp_path: Path) -> None:
    it = alike(tmp_path)
    made_answers.import_labels(it)
    fs.run(it.study, goal="best", engine="local")
    lines = []
    while (line := fs.verdict(it.study).next) and len(lines) < 20:
        lines.append(line)
        typed(line)
        if "--goal order" in line:
            break
    assert lines[-1] == f"faultscape select {it.study} --goal order --budget 20"
    assert len(fs.select(it.study, as_="best").rows) <= 50
    fs.run(it.study, engine="local")
    said = fs.verdict(it.study)
    assert said.selection == "order"
    assert said.lead is not None


def test_no_more_is_drawn_where_all_images_on_which_models_differ_are(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=24, errors=(0.1, 0.4))
    fs.select(it.study, top=20)
    main = fs.select(it.study).images
    made_answers.import_labels(it, list(main))
    fs.rank(it.study)
    line, why, number = line_for_more(Study(Path(it.study)))
    assert (line, number) == (f"faultscape select {it.study} --goal order --budget 20", 20)
    assert "7 labelled images cannot rank the models, at least 10 can" in why
    assert len(fs.select(it.study, goal="order", budget=20).rows) == 9  # models agree on 15 images
    fs.rank(it.study, selection="order")
    assert line_for_more(Study(Path(it.study))) == ("", "", 0)


@pytest.mark.slow
def test_draws_that_learn_name_the_labels_that_they_learn_from_if_none_count_by_themselves(
    tmp_path: Path,
) -> None:
    it = alike(tmp_path, images=60)
    images = fs.select(it.study, goal="best").images
    truth = {image: made_answers.NAMES[k] for image, k in zip(it.images, it.truth.tolist(), strict=True)}
    for who, some in (("ann", images), ("bob", images[:3])):
        table = tmp_path / f"{who}.csv"
        table.write_text("image,label\n" + "".join(f"{image},{truth[image]}\n" for image in some))
        fs.label.import_(it.study, str(table), truth=f"labels-{who}")
    fs.rank(it.study, selection="best", truth="labels-ann", engine="local")
    fs.plan(it.study, truth="labels-ann", engine="local")
    line = fs.status(it.study).next
    assert line == f"faultscape select {it.study} --as best --more 10 --truth labels-ann"
    typed(line)


@pytest.mark.slow
def test_a_step_at_most_doubles_the_images_and_the_plan_recommends_the_same(tmp_path: Path) -> None:
    it = alike(tmp_path)
    made_answers.import_labels(it)
    fs.run(it.study, engine="local")
    for have in (20, 40, 80):
        line = fs.status(it.study).next
        more = int(line.removeprefix(f"faultscape select {it.study} --as order --more "))
        assert 0 < more <= have
        assert f"\n  {line}\n" in repr(fs.plan(it.study))
        assert more == (fs.plan(it.study).recommended or {}).get("round")
        fs.select(it.study, as_="order", budget=2 * have)
        fs.run(it.study, engine="local")


def test_every_line_that_asks_for_labels_says_what_they_cost(people: Annotators) -> None:
    study = people.study
    assert "--format png  # about 90 minutes of labelling" in repr(fs.status(study))
    drawn = repr(fs.select(study, goal="order", budget=6))
    assert drawn.endswith("--selection order  # about 9 hours of labelling")
    assert fs.verdict(study).hours == 9


@pytest.mark.slow
def test_the_first_draws_are_ranked_before_the_others_are_labelled(tmp_path: Path) -> None:
    it = alike(tmp_path)
    images = fs.select(it.study, goal="order", budget=60).images
    made_answers.import_labels(it, [*images[:5], *images[40:52]])
    fs.run(it.study, engine="local")
    assert fs.verdict(it.study).models == ()
    shown = [words for stage, _, words in fs.status(it.study).stages if stage == "label"]
    assert "17 of 60 images labelled" in shown[0]
    assert "not in the order of the draws, so that they cannot be ranked before half are" in shown[0]
    made_answers.import_labels(it, list(images[:25]))
    fs.label.remove(it.study, *images[40:52])
    fs.run(it.study, engine="local")
    part = fs.rank(it.study, selection="order")
    assert part.labels["used"] == 25
    # as the same draws alone
    alone = fs.select(it.study, goal="order", budget=25, as_="alone").images
    assert alone == images[:25]
    scores = fs.rank(it.study, selection="alone").rankings["prediction_powered"].scores
    assert part.rankings["prediction_powered"].scores == pytest.approx(scores)
    assert fs.verdict(it.study).lead is not None


def test_an_export_lists_what_has_no_label_yet_in_the_order_of_the_selection(people: Annotators) -> None:
    images = fs.select(people.study, goal="order", budget=6).images
    out = people.folder / "to-label"
    said = repr(fs.label.export(people.study, out, selection="order"))
    assert f"{out}/to-label.txt lists them" in said.replace("\n  ", " ")
    rows = [line.split("\t") for line in (out / "to-label.txt").read_text().splitlines()]
    assert rows == [[str(k), f"images/{image}.png"] for k, image in enumerate(images, 1)]
    for image in images[:2]:
        (out / "labels" / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(people.corpus.truth / f"{image}.png", out / "labels" / f"{image}.png")
    assert fs.label.import_(people.study, out).new == 2  # the list is not taken for a label
    fs.label.export(people.study, out, selection="order")
    left = [line.split("\t")[1] for line in (out / "to-label.txt").read_text().splitlines()]
    assert left == [f"images/{image}.png" for image in images[2:]]


@pytest.mark.slow
def test_run_ends_with_the_one_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    it = alike(tmp_path)
    made_answers.import_labels(it)
    typed(f"faultscape run {it.study} --engine local")
    said = capsys.readouterr().out
    head = fs.verdict(it.study).headline
    assert said.count(f"{head}.\n") == 1
    assert sum(line.startswith("next:") for line in said.splitlines()) == 1
    assert said.index("Standings of 3 models") < said.index(head)


@pytest.mark.slow
def test_more_is_drawn_while_labels_of_the_pool_would_tell_for_images_to_come(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=400, errors=(0.25, 0.37), seed=7)
    made_answers.import_labels(it)
    fs.select(it.study, goal="order", budget=60)
    fs.run(it.study, engine="local")
    said = fs.verdict(it.study)
    assert said.headline.startswith(
        "On this pool of 156 images, model-0 is best (22 points ahead of model-1 [3, 40]); for images to come,"
    )
    assert said.lines[-1] == "If the lead stays as it is, about 10 more labels would tell for images to come."
    assert not said.decided
    assert said.next == f"faultscape select {it.study} --as order --more 10"
    while line := fs.verdict(it.study).next:
        typed(line)
    said = fs.verdict(it.study)
    assert said.decided or "not labels, would tell" in said.lines[-1]


def test_where_only_more_images_would_tell_nothing_is_next_and_all_is_not_said_to_be_done(
    tmp_path: Path,
) -> None:
    it = alike(tmp_path, images=60, errors=(0.3, 0.31))
    made_answers.import_labels(it)
    fs.run(it.study, engine="local")
    while line := fs.verdict(it.study).next:
        typed(line)
    assert not fs.verdict(it.study).decided
    assert repr(fs.status(it.study)).endswith("\nnext: nothing; no label of these images would tell more")


def test_a_terminal_is_asked_what_each_answer_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    said.isatty = lambda: True  # type: ignore[method-assign]
    for stream in ("stdin", "stdout", "__stdout__"):
        monkeypatch.setattr(f"sys.{stream}", said)
    assert asked_in_a_terminal() == "order"
    first, second, third = said.getvalue().splitlines()[1:4]
    assert first.endswith("which model to use, and how sure that is")
    assert second.endswith("not by how much, nor how sure")
    assert third.endswith("not which is better")


def test_labels_that_are_left_are_not_asked_for_once_the_first_ones_decide(tmp_path: Path) -> None:
    it = alike(tmp_path, errors=(0.05, 0.6))
    images = fs.select(it.study, goal="order", budget=60).images
    made_answers.import_labels(it, list(images[:20]))
    state = fs.run(it.study, engine="local").status
    assert state.verdict.decided
    assert state.next == ""
    assert ("label", "missing", "order: 20 of 60 images labelled (truth labels)") in state.stages
