"""Labels of a study and the draws of a selection: which of them an unbiased score may count, and of which
images it speaks.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.reading import evidence
from faultscape.reading.study import Study
from made_page import Page
from refusals import refused_line


def exact(answers: made_answers.Answers) -> dict[str, float]:
    return {name: float((said == answers.truth).mean()) for name, said in answers.labels.items()}


def differ(answers: made_answers.Answers) -> np.ndarray:
    labels = np.stack(list(answers.labels.values()))
    return (labels != labels[0]).any(0)


def test_disputed_draws_and_random_labels_of_the_rest_give_scores_on_the_whole_corpus(
    answers: made_answers.Answers,
) -> None:
    disputed = fs.select(answers.study, selector="disputed", budget=60)
    made_answers.import_labels(answers, list(disputed.images))
    alone = fs.rank(answers.study, selection="disputed", resamples=50)
    assert "corpus" not in alone.rankings
    told = (
        f"scores of this pool are of the {differ(answers).sum()} images on which models differ; on"
        f" {(~differ(answers)).sum()} others they do not"
    )
    assert any(note.startswith(told) and "select --selector random" in note for note in alone.notes)
    fs.select(answers.study, selector="random", budget=60)
    made_answers.import_labels(answers)
    found = fs.rank(answers.study, selection="disputed", resamples=50)
    assert found.rankings["corpus"].scores == pytest.approx(exact(answers))
    assert found.rankings["lure"].scores != pytest.approx(exact(answers))
    assert next(iter(found.rankings)) == "prediction_powered"


def test_random_labels_of_agreed_images_count_however_few_they_are(answers: made_answers.Answers) -> None:
    disputed = fs.select(answers.study, selector="disputed", budget=20)
    random = fs.select(answers.study, selector="random", budget=12, seed=3)
    made_answers.import_labels(answers, [*disputed.images, *random.images])
    found = fs.rank(answers.study, selection="disputed", resamples=0)
    truth, agreed = exact(answers), ~differ(answers)
    inside = [answers.images.index(image) for image in random.images if agreed[answers.images.index(image)]]
    right = np.mean([answers.labels["model-0"][k] == answers.truth[k] for k in inside])
    share = agreed.mean()
    mine = found.rankings["prediction_powered"].scores
    for model, score in found.rankings["corpus"].scores.items():
        assert score == pytest.approx(mine[model] * (1 - share) + right * share)
        low, high = found.rankings["corpus"].score_interval[model]
        assert low <= truth[model] <= high


def test_agreed_images_that_nobody_drew_by_chance_say_nothing_of_the_corpus(
    answers: made_answers.Answers,
) -> None:
    # all of them, those on which models agree at the end
    fs.select(answers.study, selector="entropy", budget=60)
    fs.select(answers.study, selector="disputed", budget=20)
    made_answers.import_labels(answers)
    assert "corpus" not in fs.rank(answers.study, selection="disputed", resamples=0).rankings


def test_labels_of_duels_count_only_as_far_as_draws_were_labelled_in_order(
    answers: made_answers.Answers,
) -> None:
    duels = fs.select(answers.study, top=8)
    drawn = fs.select(answers.study, selector="random", budget=40)
    first = list(drawn.images[:5])
    made_answers.import_labels(answers, [*duels.images, *first])
    found = fs.rank(answers.study, selection="random", resamples=0)
    waits = next(k for k, image in enumerate(drawn.images) if image not in {*duels.images, *first})
    # the last that was labelled for its own sake
    last = max(k for k in range(waits) if drawn.images[k] not in duels.images)
    assert found.labels["counted"] == last
    assert found.labels["used"] > waits  # re-use takes all
    assert any(
        note.startswith(f"draw {waits + 1} ({drawn.images[waits]}) waits for labels") for note in found.notes
    )
    plan = fs.plan(answers.study)
    assert (plan.labels["used"], plan.labels["selection"]) == (last, "random")
    discard = Path(answers.study).parent / "discard.csv"
    discard.write_text(f"image,reason\n{drawn.images[waits]},too dark\n")
    fs.label.import_(answers.study, str(discard))  # what is discarded waits no more
    again = fs.rank(answers.study, selection="random", resamples=0)
    assert (again.labels["counted"], again.labels["pool"]) == (last, 59)
    assert not any(note.startswith(f"draw {waits + 1} ") for note in again.notes)


def test_an_image_whose_answers_stand_at_a_tie_is_lost_and_waits_for_nothing(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    duels = fs.select(answers.study, top=8)
    drawn = fs.select(answers.study, selector="disputed", budget=15)
    labels = list(answers.labels.values())
    at = {image: k for k, image in enumerate(answers.images)}
    lines = ["image,class,annotator,answer"]
    for place, image in enumerate(drawn.images):
        for said in sorted({int(own[at[image]]) for own in labels}):
            right = "yes" if said == answers.truth[at[image]] else "no"
            lines.append(f"{image},{made_answers.NAMES[said]},ann,{right}")
            if place == 2:
                lines.append(f"{image},{made_answers.NAMES[said]},ben,{'no' if right == 'yes' else 'yes'}")
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n")
    fs.label.import_(answers.study, str(tmp_path / "answers.csv"))
    assert set(duels.images) & set(drawn.images[3:])  # else nothing came from elsewhere
    models = tuple(answers.labels)
    assert evidence.undecidable(Study(Path(answers.study)), models, "labels") == {drawn.images[2]}
    half = next(image for image in answers.images if image not in drawn.images and differ(answers)[at[image]])
    # of its questions a single one is answered, by two who disagree: the others are open
    one = made_answers.NAMES[int(labels[0][at[half]])]
    (tmp_path / "half.csv").write_text(
        f"image,class,annotator,answer\n{half},{one},ann,yes\n{half},{one},ben,no\n"
    )
    fs.label.import_(answers.study, str(tmp_path / "half.csv"))
    assert evidence.undecidable(Study(Path(answers.study)), models, "labels") == {drawn.images[2]}
    found = fs.rank(answers.study, selection="disputed", resamples=0)
    assert found.labels["counted"] == 14
    assert found.labels["pool"] == int(differ(answers).sum()) - 1


def test_draws_without_chances_are_ranked_by_the_mean_and_claim_nothing_of_the_pool(
    answers: made_answers.Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    made_answers.import_labels(answers)
    for selector in ("entropy", "model-picker"):
        fs.select(answers.study, selector=selector, budget=12)
        capsys.readouterr()
        assert main(["rank", answers.study, "--selection", selector, "--resamples", "200"]) == 0
        words = capsys.readouterr().out
        head = "On the 12 labelled images chosen for what the models predict, "
        assert words.splitlines()[0].startswith(head)
        assert " points of " not in words
        assert "95 %" not in words
        found = fs.rank(answers.study, selection=selector, resamples=200)
        assert list(found.rankings) == ["reuse_mean", "reuse_margins"]
        assert found.rankings["reuse_mean"].order[0] == "model-0"
        assert {row.speaks_of for row in found.rankings.values()} == {"chosen"}
        assert any("does not draw at random" in note for note in found.notes)
        page = Page(Path(fs.report(answers.study, selection=selector).path).read_text(encoding="utf-8"))
        said = " ".join("".join(page.text).split())
        assert "not at random: scores, ranks and intervals describe these images only" in said
        assert "95 %" not in said
        assert "interval, descriptive" in page.cells
        assert "pool drawn from" not in page.cells


def test_the_first_line_says_who_leads_or_that_nobody_does(
    answers: made_answers.Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = fs.select(answers.study, selector="random", budget=60)
    assert "these are all 60 that could be drawn" in repr(drawn)
    made_answers.import_labels(answers, list(drawn.images[:3]))
    assert main(["rank", answers.study, "--selection", "random"]) == 0
    assert capsys.readouterr().out.startswith(
        "No one can say yet which of the 3 models is best.\n3 labelled images, and at least 10 are needed.\n"
    )
    made_answers.import_labels(answers)
    assert main(["rank", answers.study, "--selection", "random"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "Use model-0.\nmodel-0 is ahead of model-1 by 23 points of accuracy [9, 38] for images"
    )
    assert "[0.667" not in said  # a pool that is labelled whole
    assert (
        "Standings of 3 models from 60 labelled images\n  prediction_powered, intervals of this pool\n"
        in said
    )


@pytest.mark.slow
def test_of_random_selections_the_one_with_most_agreed_labels_counts_and_only_of_these_models(
    answers: made_answers.Answers,
) -> None:
    disputed = fs.select(answers.study, selector="disputed", budget=20)
    few, many = (
        fs.select(answers.study, selector="random", budget=n, as_=f"random-{n}", seed=n) for n in (6, 30)
    )
    made_answers.import_labels(answers, [*disputed.images, *few.images, *many.images])
    agreed = {image for image, k in zip(answers.images, differ(answers), strict=True) if not k}
    note = next(
        n
        for n in fs.rank(answers.study, selection="disputed", resamples=0).notes
        if "drawn there at random" in n
    )
    assert f"{len(agreed & set(many.images))} labels drawn there at random" in note
    fs.predict(answers.study, {"late": answers.tables["model-0"]})
    again = fs.select(answers.study, selector="disputed", budget=20, as_="disputed-2")
    made_answers.import_labels(answers, [*disputed.images, *few.images, *many.images, *again.images])
    found = fs.rank(answers.study, selection="disputed-2", resamples=0)
    assert "corpus" not in found.rankings  # the random draws are of other models
    assert any(
        "late came after selection disputed was made" in n
        for n in fs.rank(answers.study, selection="disputed", resamples=0).notes
    )


def test_the_page_says_how_many_images_of_the_pool_could_be_drawn_and_how_many_labels_are_of_the_selection(
    answers: made_answers.Answers,
) -> None:
    drawn = fs.select(answers.study, selector="disputed", budget=20)
    made_answers.import_labels(answers)
    fs.rank(answers.study, selection="disputed", resamples=50, all_labels=True)
    html = Path(fs.report(answers.study, selection="disputed").path).read_text(encoding="utf-8")
    could = sum(differ(answers))
    assert 20 < could < 60
    assert f"<dt>of these could be drawn</dt><dd>{could}</dd>" in html
    assert (
        "From 60 labelled images, 20 of them from this selection; only re-use rankings count the others. A dot"
        in html
    )
    assert '<span class="chip">pool drawn from</span>' in html
    fs.select(answers.study, selector="random", budget=len(drawn.images))
    assert "could be drawn</dt>" not in Path(fs.report(answers.study, selection="random").path).read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_data_to_come_draws_groups_anew_on_the_terminal_and_on_the_page(
    answers: made_answers.Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.select(answers.study, selector="random", budget=40)
    made_answers.import_labels(answers)
    line = ["rank", answers.study, "--selection", "random", "--resamples", "50", "--population"]
    assert main([*line, "future", "-v"]) == 0
    assert "images are redrawn, each for itself" in capsys.readouterr().out
    fs.collect(answers.study, grouping=fs.options.Grouping(group={n: n[-3:-1] for n in answers.images}))
    assert "stale" in repr(fs.status(answers.study))
    assert main([*line, "future", "-v"]) == 0
    typed = capsys.readouterr().out
    assert "reuse_mean, intervals of data to come" in typed
    assert "whole groups are redrawn, and labels lie in 6 of 6 groups: fewer than 20" in typed
    page = Page(Path(fs.report(answers.study, selection="random").path).read_text(encoding="utf-8"))
    assert "95 % interval, data to come" in page.text
    runs = {n: f"drive:{k // 10 + 1}" for k, n in enumerate(sorted(answers.images))}
    fs.collect(answers.study, grouping=fs.options.Grouping(group=runs))
    capsys.readouterr()
    assert main([*line, "future", "-v"]) == 0
    typed = capsys.readouterr().out
    assert "reuse_mean, intervals of more images of the same groups" in typed
    assert "all images are of one group or sequence, or of runs of fewer than six" in typed
    assert "data to come" not in typed
    page = Page(Path(fs.report(answers.study, selection="random").path).read_text(encoding="utf-8"))
    assert "95 % interval, more of the same groups" in page.text
    assert any("not for others" in words for words in page.text)
    fs.collect(
        answers.study,
        grouping=fs.options.Grouping(group={n: str(int(n[-3:-1]) // 2) for n in answers.images}),
    )
    capsys.readouterr()
    assert main([*line, "future", "-v"]) == 0
    typed = capsys.readouterr().out
    wanted = (
        "Labels lie in 3 groups of images, and an interval needs 6: label images of more groups, "
        "cut groups into runs of images (collect --block N), or leave out --population future."
    )
    head = "No one can say yet which of the 3 models is best.\nThe standings carry no intervals. "
    assert typed.startswith(f"{head}{wanted}")
    html = Path(fs.report(answers.study, selection="random").path).read_text(encoding="utf-8")
    assert wanted in html
    assert "A dot is the score; there are no intervals, and all ranks are open.</p>" in html
    assert set(re.findall(r'<td class="rank.*?</td>', html)) == {'<td class="rank">open</td>'}
    assert 'class="tied"' not in html
    assert "orrected for multiple comparisons" not in typed  # of a mean without an interval
    assert main([*line[:5], "0", *line[6:], "future"]) == 0
    assert "Run rank with --resamples 1000." in capsys.readouterr().out
    assert main([*line, "pool"]) == 0
    typed = capsys.readouterr().out
    assert typed.startswith("Use model-0.")
    assert "Images to come cannot be judged: labels lie in fewer than 6 groups." in typed
    fs.select(answers.study)
    capsys.readouterr()
    assert "so they do not represent future data" in refused_line(
        "rank", answers.study, "--population", "future"
    )


@pytest.mark.slow
def test_consecutive_frames_that_are_alike_are_told_where_intervals_speak_of_data_to_come(
    tmp_path: Path,
) -> None:
    corpus = made.corpus(tmp_path / "c", images=60, models=3, shape=(18, 24))
    order = sorted(range(60), key=lambda k: corpus.ids[k])
    for place, k in enumerate(order):  # whole runs of ten are hard for all, or easy
        for m, folder in enumerate(corpus.models.values()):
            wrong = corpus.truths[k].copy()
            wrong[: (4 + 4 * m if place // 10 % 2 else 1 + m)] = (m + 2) % 5
            made.write(folder / f"{corpus.ids[k]}.png", wrong)
    study = str(made.collected(corpus, tmp_path / "study", 60))
    fs.predict(study, {name: str(folder) for name, folder in corpus.models.items()}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, goal="order", budget=30, engine="local")
    fs.label.import_(study, str(corpus.truth))
    options = {"selection": "order", "resamples": 20, "engine": "local"}

    def told(population: str) -> list[str]:
        notes = fs.rank(study, population=population, **options).notes
        return [note for note in notes if "consecutive images are similar" in note]

    assert told("pool") == told("future")  # both hold what is said of data to come
    (note,) = told("future")
    assert re.search(r"the pool's error counts \d\.\d-fold\); group them with `faultscape collect", note)
    fs.collect(study, str(corpus.photos), grouping=fs.options.Grouping(block=10))
    assert told("future") == []
