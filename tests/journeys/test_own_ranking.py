"""A ranking of a person's own, ten lines in a file: in the terminal, in standings.json, on the page, and
stale when the file changes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from refusals import refused_line

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "rank.md"
LINES = next(
    block
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if "worst_case" in block
)
ENTRY = """
import numpy as np
from faultscape.ranking import Ranking

ROW_SUMS = Ranking("row_sums", "Row sums", "Sums", "the mean dominance over the others", "ours", "faithful", "counts", lambda counts, laplace: np.nanmean(counts.wins, -1))
"""
ODD = """
FLAT = Ranking("flat", "t", "t", "s", "ours", "re-use", "labels", lambda scores, weights: scores)
WIDE = Ranking("wide", "t", "t", "s", "ours", "re-use", "scores", lambda scores, weights: scores, "wide")
"""


def labelled(tmp_path: Path) -> tuple[str, made.Corpus]:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=3)
    study = str(tmp_path / "study")
    made.compared_study(corpus, study, shard_size=8)
    fs.select(study, engine="local")
    fs.label.import_(study, str(corpus.truth))
    return study, corpus


@pytest.mark.slow
def test_a_function_in_a_file_is_a_ranking_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, _ = labelled(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(LINES)
    line = ["rank", study, "--resamples", "50", "--engine", "local"]
    assert main(line) == 0
    without = json.loads((Path(study) / "standings.json").read_text())
    assert "worst_case" not in capsys.readouterr().out
    assert main([*line, "--ranking", f"{file}:worst_case"]) == 0
    assert "\n  worst_case\n" in capsys.readouterr().out
    held = json.loads((Path(study) / "standings.json").read_text())
    own = held["rankings"].pop("worst_case")
    assert set(own["scores"]) == set(held["models"])
    assert len(set(own["scores"].values())) == 3
    for model, (low, high) in own["score_interval"].items():
        assert low is None or low <= own["scores"][model] <= high
    assert held["rankings"] == without["rankings"]  # the others are what they were
    assert held["provenance"]["arguments"]["ranking"] == [f"{file}:worst_case"]
    assert made.states(study)["rank"] == "done"
    fs.select(study, as_="other", per_class=2, engine="local")
    fs.rank(study, against=["other"], ranking=[f"{file}:worst_case"], resamples=50, engine="local")
    stages = fs.status(study).stages
    assert [state for stage, state, words in stages if stage == "rank" and words.startswith("main:")] == [
        "done"
    ]
    page = Path(fs.report(study).path).read_text()
    assert "worst_case" in page
    assert "What a model is worth on its worst image" in page
    file.write_text(LINES.replace("worst image", "worst image of all"))
    stages = fs.status(study).stages
    assert [state for stage, state, words in stages if stage == "rank" and words.startswith("main:")] == [
        "stale"
    ]


def test_a_ranking_of_pairs_of_classifiers_gets_their_counts(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path / "answers")
    fs.select(answers.study, top=10)
    made_answers.import_labels(answers)
    file = tmp_path / "mine.py"
    file.write_text(ENTRY)
    found = fs.rank(answers.study, ranking=f"{file}:ROW_SUMS", resamples=20).rankings
    assert found["row_sums"].order == found["borda"].order
    assert all(np.isfinite(value) for value in found["row_sums"].scores.values())


@pytest.mark.slow
def test_what_is_no_ranking_is_refused_in_one_line(tmp_path: Path) -> None:
    study, _ = labelled(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(
        f"{ENTRY}{ODD}lure = lambda scores, weights: scores\nflat = lambda scores, weights: scores[0]\nfails"
        " = lambda s, w: 1 / 0\nleaves = lambda s, w: exit(3)\none = lambda s: s\ndef writes(scores,"
        " weights):\n    scores[:] = 0\n    return scores\ndef weighs(scores, weights):\n    weights[:] ="
        " 0\n    return scores\n"
    )
    (tmp_path / "leaver.py").write_text("exit()\n")
    wanted = {
        f"{file}:ROW_SUMS": (
            "--ranking row_sums is made from pairs of classifiers, and this selection is of others; one that"
            " takes scores fits all"
        ),
        f"{file}:FLAT": "FLAT: takes is 'labels'; use ratios, counts, distances, scores, draws",
        f"{file}:WIDE": "WIDE: bounds is 'wide'; use share, difference, none",
        f"{file}:lure": "'lure' is the name of a built-in ranking; give yours another",
        f"{file}:flat": "expected finite scores or NaN, 21 replicates by 3 models; got shape",
        f"{file}:fails": "ZeroDivisionError: division by zero",
        f"{file}:writes": "mine.py:writes: ValueError: assignment destination is read-only",
        f"{file}:weighs": "mine.py:weighs: ValueError: assignment destination is read-only",
        f"{file}:leaves": "mine.py:leaves: SystemExit: 3",
        f"{tmp_path / 'leaver.py'}:x": f"running {tmp_path / 'leaver.py'} failed: SystemExit",
        f"{file}:one": (
            "it is called with scores (models, images) and weights (replicates, images), and gives scores"
            " (replicates, models)"
        ),
        f"{file}:none": "holds no 'none'",
        "lure": "--ranking adds one of your own, file.py:name; lure is built in",
        f"{file}:np": "is neither a function of scores and weights nor a Ranking",
        "gone.py:x": "there is no file gone.py",
        "gone": "--ranking takes file.py:name, a ranking of your own; got 'gone'",
    }
    for source, told in wanted.items():
        assert told in refused_line(
            "rank", study, "--ranking", source, "--resamples", "20", "--engine", "local"
        ), source
    assert not (Path(study) / "standings.json").exists()
