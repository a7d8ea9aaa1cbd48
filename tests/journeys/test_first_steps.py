"""What somebody stumbles over in the first hour is said in words that help: verbs, sources, names and
examples of the right task.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from refusals import refused_line


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=8, errors=(0.2,))


def test_a_model_is_not_called_as_labels_are(answers: made_answers.Answers) -> None:
    table = answers.tables["model-0"]
    path = Path(answers.study).parent / "l.csv"
    path.write_text(f"image,label\n{answers.images[0]},cat\n")
    fs.label.import_(answers.study, str(path), truth="gold")
    assert "'gold' is already the name of a truth" in refused_line("predict", answers.study, f"gold={table}")


def test_one_model_and_one_image_are_counted_in_the_singular(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    assert repr(fs.predict(answers.study, {"model-0": answers.tables["model-0"]})).startswith(
        f"{answers.study}: 1 model\n"
    )
    corpus = made.corpus(tmp_path / "corpus", images=1, models=1)
    assert "one: 1 image\n" in repr(
        fs.collect(str(tmp_path / "one"), str(corpus.photos), classes=str(corpus.classes))
    )
    assert fs.status(str(tmp_path / "one")).stages[0][2] == "1 image"


def test_arrays_for_a_model_are_taken_by_predict(answers: made_answers.Answers, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", said=np.zeros(8, np.int64), images=np.array(answers.images))
    assert fs.predict(answers.study, {"net": f"{tmp_path / 'p.npz'}:said"}).models == {"net": (8, 0)}


def test_what_the_confidence_shuts_out_is_counted_where_pairs_are_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_answers.study(tmp_path, images=60, sure=True)
    labels = list(made.labels.values())
    sure = [
        [float(line.split(",")[2]) for line in Path(table).read_text().splitlines()[1:]]
        for table in made.tables.values()
    ]
    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    apart = [(a, b, k) for a, b in pairs for k in range(60) if labels[a][k] != labels[b][k]]
    out = sum(min(sure[a][k], sure[b][k]) < np.float32(0.8) for a, b, k in apart)
    fs.select(made.study, top=30)
    assert (
        f"note: of {len(apart)} answers in which two models differ, {out} are left out, because one of "
        "the two is below --confidence 0.8" in capsys.readouterr().out
    )
    fs.select(made.study, as_="all", classifiers=fs.ClassifierRules(confidence=0.0), top=30)
    assert "below --confidence" not in capsys.readouterr().out
    fs.select(made.study, as_="few", top=1)
    assert "below --confidence" not in capsys.readouterr().out
