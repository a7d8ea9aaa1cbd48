"""A line that `status` names is accepted: what is gone is left out of it; where no line can help, the words
say what a person could do, and other lines are still named.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.study.tables import selections
from faultscape.verbs import graph
from refusals import refused_text
from undoing import FEW, chosen, follow, states

OWN_METRIC = """import faultscape as fs

def count(truth, prediction, classes):
    judged = truth < len(classes)
    return [((truth != prediction) & judged).sum(), judged.sum()]

mine = fs.metrics.metric_of_maps("mine", count, title="Mine", definition="wrong pixels", better="low", join="pooled")
"""


def images_of(study: str, name: str) -> list[str]:
    return [row.image for row in selections.read_selection(Path(study), name)[0].rows]


def import_labels(it: made_answers.Answers, images: list[str], truth: str = "labels") -> None:
    said = dict(zip(it.images, it.truth.tolist(), strict=True))
    path = Path(it.study).parent / "said.csv"
    path.write_text(
        "".join(["image,label\n", *(f"{image},{made_answers.NAMES[said[image]]}\n" for image in images)])
    )
    fs.label.import_(it.study, str(path), truth=truth)


def discard(study: str, images: list[str]) -> None:
    path = Path(study).parent / "discard.csv"
    path.write_text("image,reason\n" + "".join(f"{image},blurred\n" for image in images))
    fs.label.import_(study, str(path))


def ranked(tmp_path: Path) -> made_answers.Answers:
    """A study of classifiers with labels of all but one image, and the selections main and random."""
    return made_answers.moved("ranked answers", _ranked, tmp_path / "made")


def _ranked(folder: Path) -> made_answers.Answers:
    it = made_answers.study(folder, images=40)
    fs.select(it.study, top=3, engine="local")
    fs.select(it.study, selector="random", budget=10, engine="local")
    import_labels(it, it.images[1:])
    return it


def words(study: str) -> str:
    return "\n".join(words for _, _, words in fs.status(study).stages)


def against(it: made_answers.Answers) -> None:
    fs.rank(it.study, against=["random"], **FEW)
    fs.select(it.study, remove="random")


def against_one_of_two(it: made_answers.Answers) -> None:
    fs.select(it.study, selector="disputed", budget=6, engine="local")
    fs.rank(it.study, against=["random", "disputed"], **FEW)
    fs.select(it.study, remove="random")


def population(it: made_answers.Answers) -> None:
    fs.rank(it.study, selection="random", population="future", **FEW)
    fs.select(it.study, as_="random", selector="mad", replace=True, engine="local")


def planned_selection(it: made_answers.Answers) -> None:
    fs.plan(it.study, selection="random", engine="local")
    fs.select(it.study, remove="random")


def planned_duels(it: made_answers.Answers) -> None:
    fs.plan(it.study, selection="random", engine="local")
    fs.select(it.study, as_="random", selector="mad", replace=True, engine="local")


def planned_truth(it: made_answers.Answers) -> None:
    import_labels(it, it.images, "gt")
    fs.plan(it.study, truth="gt", engine="local")
    fs.label.remove(it.study, all_=True, truth="gt")


def planned_labels(it: made_answers.Answers) -> None:
    fs.select(it.study, remove="main")
    fs.plan(it.study, selection="random", truth="labels", engine="local")
    fs.label.remove(it.study, all_=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (against, "selection random of --against is gone and is left out"),
        (against_one_of_two, "selection random of --against is gone and is left out"),
        (population, "--population is left out: it applies only to images drawn at random"),
        (planned_selection, "selection random is gone and is left out"),
        (planned_duels, "selection random no longer shows how models differ and is left out"),
        (planned_truth, "truth gt no longer has labels and is left out"),
        (planned_labels, "selection random no longer has labels and is left out"),
    ],
)
def test_what_an_option_named_is_left_out_of_the_line_once_it_is_gone_which_is_said(
    tmp_path: Path, lose: Callable[[made_answers.Answers], None], said: str
) -> None:
    it = ranked(tmp_path)
    lose(it)
    assert said in words(it.study)
    other = str(shutil.copytree(it.study, tmp_path / "other"))
    (node,) = (node for node in graph.nodes(Study(Path(it.study))) if said in node.why)
    assert main(shlex.split(node.line)[1:]) == 0, node.line
    fs.run(other, engine="local")
    for study in (it.study, other):
        assert states(study)[node.artefact, node.name] == "done"
        assert said not in words(study)


@pytest.mark.slow
def test_run_ranks_again_by_the_truth_that_was_ranked_by_where_nothing_says_which_of_several_counts(
    tmp_path: Path,
) -> None:
    it = made_answers.study(tmp_path / "made", images=40)
    fs.select(it.study, top=3, engine="local")
    for truth in ("gt", "gt2"):
        import_labels(it, it.images, truth)
    fs.rank(it.study, truth="gt", **FEW)
    fs.rank(it.study, truth="gt2", **FEW)
    fs.label.remove(it.study, images_of(it.study, "main")[0], truth="gt2")
    fs.run(it.study, engine="local")
    assert states(it.study)["standings", "main"] == "done"
    fs.select(it.study, as_="unranked", top=2, engine="local")
    fs.run(it.study, engine="local")  # which does not guess
    assert states(it.study)["standings", "unranked"] == "missing"


def benchmark_without_a_model(it: made_answers.Answers) -> str:
    fs.rank(it.study, benchmark=closed_benchmark(it), **FEW)
    fs.predict(it.study, rename={"model-0": "other"})
    return "closed.csv of --benchmark has no score for 'other'; add it, or rank without --benchmark"


def benchmark_gone(it: made_answers.Answers) -> str:
    fs.rank(it.study, benchmark=closed_benchmark(it), **FEW)
    Path(closed_benchmark(it)).unlink()
    return "closed.csv of --benchmark is gone; put it back, or rank without --benchmark"


def benchmark_damaged(it: made_answers.Answers) -> str:
    fs.rank(it.study, benchmark=closed_benchmark(it), **FEW)
    Path(closed_benchmark(it)).write_text("nothing")
    return "expected lines of model,score; got 'nothing'; fix the file, or rank without --benchmark"


def closed_benchmark(it: made_answers.Answers) -> str:
    path = Path(it.study).parent / "closed.csv"
    path.write_text("model,score\n" + "".join(f"{model},{k}\n" for k, model in enumerate(it.labels)))
    return str(path)


def ranking_gone(it: made_answers.Answers) -> str:
    own = Path(it.study).parent / "own.py"
    own.write_text("def mine(scores, weights):\n    return weights @ scores.T\n")
    fs.rank(it.study, ranking=[f"{own}:mine"], **FEW)
    own.unlink()
    return "own.py of --ranking is gone; put it back, or rank without --ranking"


def every_image_discarded(it: made_answers.Answers) -> str:
    fs.rank(it.study, selection="random", **FEW)
    discard(it.study, images_of(it.study, "random"))
    return (
        f"all its images are discarded; `faultscape label remove {it.study} --selection random --discards`"
        f" takes the discards back, `faultscape select {it.study} --remove random` removes it"
    )


def every_image_discarded_before_it_was_ranked(it: made_answers.Answers) -> str:
    discard(it.study, images_of(it.study, "random"))
    return "all its images are discarded"


def against_without_a_label(it: made_answers.Answers) -> str:
    fs.rank(it.study, against=["random"], **FEW)
    discard(it.study, images_of(it.study, "random"))
    return (
        "selection random of --against cannot be ranked yet; redraw or label it, or rank without"
        " --against random"
    )


def distance_gone(it: made_answers.Answers) -> str:
    far = Path(it.study).parent / "far.csv"
    names = made_answers.NAMES
    far.write_text(
        "\n".join(
            [
                ",".join(["", *names]),
                *(",".join([a, *("0" if a == b else "7" for b in names)]) for a in names),
            ]
        )
    )
    fs.select(
        it.study, as_="far", top=3, classifiers=fs.options.ClassifierRules(distance=str(far)), engine="local"
    )
    far.unlink()
    fs.collect(it.study, remove=[it.images[1]])
    return "far.csv of --distance is gone; put it back, or choose again with --replace without --distance"


@pytest.mark.slow
@pytest.mark.parametrize(
    "lose",
    [
        benchmark_without_a_model,
        benchmark_gone,
        benchmark_damaged,
        ranking_gone,
        every_image_discarded,
        every_image_discarded_before_it_was_ranked,
        against_without_a_label,
        distance_gone,
    ],
)
def test_where_no_line_can_help_the_words_say_what_a_person_could_do_and_nothing_else_waits(
    tmp_path: Path, lose: Callable[[made_answers.Answers], str]
) -> None:
    it = ranked(tmp_path)
    fs.plan(it.study, engine="local")
    fs.report(it.study)
    said = lose(it)
    import_labels(it, it.images[:1])  # now all that follows from labels is stale
    assert said in words(it.study)
    other = str(shutil.copytree(it.study, tmp_path / "other"))
    follow(it.study)
    fs.run(other, engine="local")
    follow(other)  # `run` names the line that makes a labelled main anew
    for study in (it.study, other):
        assert states(study)["plan", ""] == "done"
        assert said.replace(it.study, study) in words(study)
        state = fs.status(study)
        assert (state.next, state.stuck) == ("", True)
        assert "all is done" not in repr(state)
        assert "next: no command helps; `faultscape status` shows what to fix by hand" in repr(state)


@pytest.mark.slow
def test_labels_that_are_void_everywhere_are_said_to_tell_nothing_and_no_line_ranks_by_them(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = chosen(corpus, tmp_path / "study")
    fs.label.import_(study, corpus.truth)
    fs.rank(study, **FEW)
    for image, truth in zip(corpus.ids, corpus.truths, strict=True):
        made.write(tmp_path / "void" / f"{image}.png", np.full_like(truth, 255))
    fs.label.import_(study, tmp_path / "void")
    follow(study)
    assert (
        "(truth labels) are void everywhere and show nothing about any model; label other images, or"
        " discard these" in words(study)
    )
    assert "void everywhere; label other images, or discard these" in refused_text("rank", study)
    assert fs.status(study).stuck
    made.write(tmp_path / "one" / f"{images_of(study, 'main')[0]}.png", corpus.truths[0])
    fs.label.import_(study, tmp_path / "one")
    assert follow(study)[0] == "rank"
    assert "all is done" in repr(fs.status(study))


@pytest.mark.slow
def test_a_report_waits_for_its_reference_images_and_measures_for_their_metric_and_their_truth(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study, references = chosen(corpus, tmp_path / "study"), tmp_path / "references"
    (references / "images").mkdir(parents=True)
    shutil.copytree(corpus.photos, references / "images", dirs_exist_ok=True)
    shutil.copytree(corpus.truth, references / "labels")
    own = tmp_path / "own.py"
    own.write_text(OWN_METRIC)
    fs.label.import_(study, corpus.truth, truth="gt")
    fs.rank(study, **FEW)
    fs.report(study, reference_images=references, better=0.2)
    fs.measure(study, metric=[f"{own}:mine"], resamples=0, engine="local")
    assert "all is done" in repr(fs.status(study))
    references.rename(tmp_path / "moved")
    own.unlink()
    made.write(tmp_path / "other" / f"{corpus.ids[0]}.png", corpus.truths[1])
    fs.label.import_(study, tmp_path / "other", truth="gt")
    assert follow(study) == ["rank"]
    assert (
        "references of --reference-images is gone; put it back, or report without --reference-images"
        in words(study)
    )
    assert "own.py of --metric is gone; put it back, or measure without --metric" in words(study)
    fs.run(study, engine="local")
    assert fs.status(study).stuck
    (tmp_path / "moved").rename(references)
    own.write_text(OWN_METRIC)
    assert sorted(follow(study)) == ["measure", "report"]
    fs.select(study, selector="random", budget=4, as_="main", replace=True, engine="local")
    assert "--reference-images is left out: it needs images chosen for a class" in words(study)
    assert "--better is left out: it needs duels of label maps" in words(study)
    follow(study)
    assert "all is done" in repr(fs.status(study))
    fs.label.import_(study, corpus.truth, truth="labels")
    taken = repr(fs.label.remove(study, all_=True, truth="gt"))
    assert "truth gt no longer has labels; import some with `faultscape label import" in words(study)
    assert "all is done" not in taken


def test_status_names_the_page_that_asks_where_there_is_something_to_ask(tmp_path: Path) -> None:
    it = made_answers.study(tmp_path / "made", images=20)
    fs.select(it.study, as_="few", selector="random", budget=4, engine="local")
    state = fs.status(it.study)
    assert state.next == f"faultscape label export {it.study} questions-few.csv --format csv --selection few"
    assert state.instead == f"faultscape label serve {it.study} --selection few"
    import_labels(it, it.images)
    assert fs.status(it.study).instead == ""
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    study = made.compared_study(corpus, tmp_path / "maps", shard_size=4)
    fs.select(study, selector="random", budget=3, engine="local")
    assert fs.status(study).next.startswith(f"faultscape label export {study} to-label/")
    assert "or:" not in repr(fs.status(study))  # drawn for all models: there is no pair to choose between
