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
from faultscape.cli import VERBS
from refusals import refused_line


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path / "made", images=8, errors=(0.2,))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("selct", "study"), "unknown verb 'selct'. Did you mean 'select'? Available: "),
        (
            ("import", "study", "labels.csv"),
            "unknown verb 'import'. Did you mean 'label import'? Available: ",
        ),
        (("exprot", "study"), "unknown verb 'exprot'. Did you mean 'label export'? Available: "),
        (("zebra",), "unknown verb 'zebra'. Available: "),
    ],
)
def test_a_verb_that_there_is_not_names_the_nearest_and_all(line: tuple[str, ...], meant: str) -> None:
    said = refused_line(*line)
    assert said == f"faultscape: {meant}{', '.join(VERBS)}\n"


def test_label_has_two_verbs_of_its_own() -> None:
    assert "unknown command 'label improt'. Did you mean 'import'? Available: export, import" in refused_line(
        "label", "improt", "x"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "run study --resamples 5",
            "run has no option --resamples; rank, measure, reliability have it; see `faultscape run --help`",
        ),
        ("run study --as order", "run has no option --as; select, stress holdout, fit have it; see"),
        (
            "select study --conkordance x",
            (
                "select has no option --conkordance. Did you mean '--concordance'? See `faultscape select"
                " --help`"
            ),
        ),
        ("rank study -x", "rank has no option -x; see `faultscape rank --help`"),
        ("scale masks", "scale: --classes is missing; see `faultscape scale --help`"),
        ("label export study", "label export: OUT is missing; see `faultscape label export --help`"),
    ],
)
def test_an_option_that_there_is_not_or_that_is_missing_is_named_and_none_is_suggested_that_is_far(
    line: str, said: str
) -> None:
    assert refused_line(*line.split()).startswith(f"faultscape: {said}")


@pytest.mark.parametrize("name", ["preds.npz", "preds.npy", "preds.tsv", "preds.csv.gz"])
def test_a_table_of_answers_is_for_predict(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"anything")
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    line = ("collect", tmp_path / "study", tmp_path / name, "--classes", tmp_path / "classes.txt")
    said = refused_line(*line, "--task", "classification")
    assert f"{name}: contains no images; pass it to `faultscape predict` as NAME=" in said
    assert "for classifiers also a .csv file that names images" in said
    assert "of classifiers" not in refused_line(
        "collect", tmp_path / "study", tmp_path / name, "--classes", "ade20k"
    )
    assert not (tmp_path / "study").exists()


def test_one_file_that_cannot_be_used_is_not_called_several(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"nothing")
    assert "the only file cannot be used: " in refused_line(
        "collect", tmp_path / "study", tmp_path / "a.png", "--classes", "ade20k"
    )


def test_examples_are_of_the_task_of_the_study(answers: made_answers.Answers, tmp_path: Path) -> None:
    for line in (("predict", answers.study), ("predict", answers.study, "resnet")):
        said = refused_line(*line)
        assert "for example resnet=resnet.csv, resnet=all.csv:resnet50" in said
        assert "unet" not in said
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    study = str(tmp_path / "maps")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    assert "for example unet=maps/unet" in refused_line("predict", study)
    assert "measure is for label maps; for classifiers run" in refused_line(
        "measure", answers.study, "resnet"
    )


def test_a_model_is_not_called_as_labels_are_or_will_be(answers: made_answers.Answers) -> None:
    table = answers.tables["model-0"]
    said = refused_line("predict", answers.study, f"labels={table}")
    assert (
        "'labels' is already the name of a truth (a set of labels); give the model another, for example"
        " labels-model" in said
    )
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


def test_a_list_of_columns_ends_in_one_full_stop(answers: made_answers.Answers, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("image," + ",".join(f"m{k}" for k in range(12)) + "\n")
    said = refused_line("predict", answers.study, f"net={tmp_path / 'wide.csv'}")
    assert said.endswith("it has image, m0, m1, m2, m3, m4, m5, m6 and 5 more.\n")
    assert "Did you mean 'm11'?" in refused_line(
        "predict", answers.study, f"net={tmp_path / 'wide.csv'}:m_11"
    )


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
