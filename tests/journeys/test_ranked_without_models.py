"""A model leaves a study that has been ranked: images drawn for all models still rank the others, since the
probability of a draw does not depend on which models are ranked; duels do not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import RankingError
from refusals import refused

LEFT = ("model-0", "model-1")


@pytest.mark.parametrize("selector", ["random", "disputed"])
def test_the_others_keep_the_unbiased_scores_they_had(answers: made_answers.Answers, selector: str) -> None:
    drawn = fs.select(answers.study, selector=selector, budget=60)
    made_answers.import_labels(answers, list(drawn.images))
    before = fs.rank(answers.study, selection=selector, resamples=100)
    fs.predict(answers.study, remove=["model-2"])
    after = fs.rank(answers.study, selection=selector, resamples=100)
    assert after.models == LEFT
    for name in ("lure", "reuse_mean"):
        assert after.rankings[name].scores == pytest.approx(
            {m: before.rankings[name].scores[m] for m in LEFT}
        )
    assert (
        "model-2 is no longer in the study: the other 2 models are ranked from the same draws, whose"
        " probabilities still hold"
    ) in after.notes
    assert not any("drawn from other images or predictions" in note for note in after.notes)
    assert made.states(answers.study)["rank"] == "done"
    # the control variate needs the pool: two models differ on fewer images than three
    assert ("prediction_powered" in after.rankings) == (selector == "random")
    assert "corpus" not in after.rankings


def test_run_ranks_the_others_and_reports_them(answers: made_answers.Answers) -> None:
    drawn = fs.select(answers.study, selector="random", budget=60)
    made_answers.import_labels(answers, list(drawn.images))
    fs.rank(answers.study, selection="random", resamples=100)
    fs.report(answers.study, selection="random")
    fs.predict(answers.study, remove=["model-2"])
    ran = fs.run(answers.study)
    assert any("Standings of 2 models from 60 labelled images" in part for part in ran.done)
    assert ran.status.next.endswith("select " + answers.study + " --selector random --budget 60 --replace")
    page = (Path(answers.study) / "report-random.html").read_text(encoding="utf-8")
    assert "model-2 left the study: the other models are shown." in page
    assert ("rank", "done") in [(verb, state) for verb, state, _ in fs.status(answers.study).stages]


def test_draws_without_probabilities_claim_none(answers: made_answers.Answers) -> None:
    fs.select(answers.study, selector="entropy", budget=60)
    made_answers.import_labels(answers)
    fs.predict(answers.study, remove=["model-2"])
    (note,) = (n for n in fs.rank(answers.study, selection="entropy", resamples=10).notes if "no longer" in n)
    assert note.endswith("the other 2 models are ranked from the same draws")


def test_one_model_that_is_left_is_no_ranking(answers: made_answers.Answers) -> None:
    fs.select(answers.study, selector="random", budget=60)
    made_answers.import_labels(answers)
    fs.predict(answers.study, remove=["model-1", "model-2"])
    with refused(RankingError, "was drawn with 'model-1', which is no longer in the study"):
        fs.rank(answers.study, selection="random")


@pytest.mark.slow
def test_a_run_that_ranks_nothing_says_so_on_standard_error_with_the_line_that_helps(
    corpus: made.Corpus, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, resamples=10)
    fs.predict(study, remove=["model-2"])
    capsys.readouterr()
    assert main(["run", study, "-q"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "faultscape: no model was ranked: selection main is stale (a model that it was drawn with is gone);"
        f" choose again with `faultscape select {study} --replace` (labels count for both)\n"
    )
    assert main(["select", study, "--replace"]) == 0
    assert main(["run", study, "-q"]) == 0
    assert capsys.readouterr().err == ""
