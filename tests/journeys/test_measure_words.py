"""What the words of `measure` mean together: nothing that was given is dropped without a word, and numbers
that cannot be are refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import OptionError
from faultscape.metrics import calibration, doubt
from faultscape.verbs.verb import group_options
from refusals import refused, refused_line, typed


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    """Six images, two models, and of model-0 probabilities, a doubt that is not 1 - their largest, and the
    largest as confidence.
    """
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    rng = np.random.default_rng(3)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        p = rng.dirichlet([0.4] * 5, truth.shape).transpose(2, 0, 1).astype(np.float32)
        for what, values in (("p", p), ("entropy", doubt.entropy(p)), ("sure", p.max(0))):
            (tmp_path / what / id_).parent.mkdir(parents=True, exist_ok=True)
            np.save(tmp_path / what / f"{id_}.npy", values)
    return corpus


def line(corpus: made.Corpus, root: Path, *words: object) -> list[str]:
    maps = [f"{name}={folder}" for name, folder in corpus.models.items()]
    out = ["-o", str(root / "o"), "--resamples", "20", "--engine", "local", "--no-boundaries"]
    return ["measure", str(corpus.truth), *maps, "--classes", str(corpus.classes), *out, *map(str, words)]


def measured(corpus: made.Corpus, root: Path, *words: object) -> dict[str, Any]:
    assert main(line(corpus, root, *words)) == 0
    return json.loads((root / "o" / "measure.json").read_text())


def test_probabilities_beside_doubt_are_judged_for_what_they_say(corpus: made.Corpus, tmp_path: Path) -> None:
    words = ("--doubt", f"model-0={tmp_path / 'entropy'}", "--probabilities", f"model-0={tmp_path / 'p'}")
    found = measured(corpus, tmp_path, *words)["models"]["model-0"]
    p = np.stack([np.load(tmp_path / "p" / f"{id_}.npy") for id_ in corpus.ids])
    wrong = corpus.maps["model-0"] != corpus.truths
    assert found["calibration_auroc"]["value"] == pytest.approx(
        fs.metrics.detection(np.stack([doubt.entropy(q) for q in p]), wrong).auroc, abs=1e-12
    )
    assert found["ece"]["value"] == pytest.approx(
        float(calibration.ece(calibration.calibration_counts(p.max(1), ~wrong)))
    )
    y = np.arange(5)[:, None, None] == corpus.truths[:, None]
    assert found["brier"]["value"] == pytest.approx(((p.astype(float) - y) ** 2).sum(1).mean(), abs=1e-9)


def test_a_difference_has_an_interval_only_where_both_models_have_draws(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    both = [f"{name}={tmp_path / 'sure'}" for name in corpus.models]
    found = measured(corpus, tmp_path, "--confidence", *both, "--doubt", f"model-0={tmp_path / 'entropy'}")
    assert found["models"]["model-0"]["ece_equal_mass"]["low"] is None
    assert found["models"]["model-1"]["ece_equal_mass"]["low"] is not None
    rows = {row["metric"]: row for row in found["paired"]}
    assert (rows["ece_equal_mass"]["low"], rows["ece_equal_mass"]["high"]) == (None, None)
    assert rows["ece"]["low"] is not None


def test_scores_are_compared_on_the_images_that_both_have_scores_of(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    """The frames that one model has no confidence of are not evidence for it or against the other."""
    for k, id_ in enumerate(corpus.ids):
        (tmp_path / "half" / id_).parent.mkdir(parents=True, exist_ok=True)
        if k < 3:
            np.save(tmp_path / "half" / f"{id_}.npy", np.load(tmp_path / "sure" / f"{id_}.npy"))
        else:
            np.save(tmp_path / "sure" / f"{id_}.npy", np.full(corpus.truths[k].shape, 0.01, np.float32))
    words = ("--confidence", f"model-0={tmp_path / 'half'}", f"model-1={tmp_path / 'sure'}")
    found = measured(corpus, tmp_path, *words)
    rows = {row["metric"]: row for row in found["paired"]}
    assert (rows["miou"]["images"], rows["ece"]["images"]) == (6, 3)
    sure = np.stack([np.load(tmp_path / "half" / f"{id_}.npy") for id_ in corpus.ids[:3]])
    right = [corpus.maps[name][:3] == corpus.truths[:3] for name in ("model-0", "model-1")]
    ece = [float(calibration.ece(calibration.calibration_counts(sure, of))) for of in right]
    assert rows["ece"]["difference"] == pytest.approx(ece[0] - ece[1], abs=1e-11)
    assert rows["calibration_auroc"]["images"] == 3


def test_a_divisor_is_one_or_more_in_python_too(corpus: made.Corpus) -> None:
    with refused(OptionError, "1 or more; got 0"):
        fs.metrics.regions(corpus.truths, corpus.truths, 5, regions="given", divisor=0)


WIDE = pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="here long double is double")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            np.float64(1e300),
            "are beyond 3.40282e+38, the most that float32 holds, to which the preset rounds",
        ),
        (np.int64(2**60), "are whole numbers beyond 2^52"),
        pytest.param(np.longdouble(0.5), "expected one number per pixel", marks=WIDE),
    ],
)
def test_scores_that_no_pass_can_hold_are_left_out_with_skip(
    bad: np.floating[Any], said: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for k in range(3):
        mask = (rng.random((12, 14)) < 0.3).astype(np.uint8)
        made.write(tmp_path / "masks" / f"{k}.png", mask)
        (tmp_path / "scores").mkdir(exist_ok=True)
        np.save(
            tmp_path / "scores" / f"{k}.npy", rng.random(mask.shape) if k != 1 else np.full(mask.shape, bad)
        )
    words = typed("measure {tmp}/masks --anomaly a={tmp}/scores -o {tmp}/o", tmp=tmp_path)
    words += ["--preset", "fishyscapes"]
    told_of = refused_line(*[*words, "--engine", "local"])
    assert "1.npy" in told_of
    assert said in told_of
    assert main([*words, "--engine", "local", "--skip"]) == 0
    assert json.loads((tmp_path / "o" / "measure.json").read_text())["images"] == {"a": 2}


def test_what_a_study_says_itself_is_left_out_of_a_list(corpus: made.Corpus, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, {name: str(folder) for name, folder in corpus.models.items()})
    fs.label.import_(study, str(corpus.truth))
    (tmp_path / "list.toml").write_text("[a]\nstudy = 'study'\nignore = [200]\n")
    assert "leave out 'ignore'" in refused_line(
        *["measure", "--datasets", str(tmp_path / "list.toml"), "-o", str(tmp_path / "o")]
    )


def test_regions_given_of_a_study_are_those_of_its_folders(tmp_path: Path) -> None:
    """Region ids are taken as they were written: neither places of the class list nor their void."""
    corpus = made.corpus(tmp_path / "corpus", images=4, models=2)
    ids = np.array([11, 0, 3, 7, 40], np.uint8)  # whose places are others, and 255 is void
    classes = tmp_path / "classes.json"
    names = [
        {"index": int(i), "name": n, "color": [40 * k, 9, k]}
        for k, (i, n) in enumerate(zip(ids, made.NAMES, strict=True))
    ]
    classes.write_text(json.dumps({"classes": names, "void": [255]}))
    for k, id_ in enumerate(corpus.ids):
        truth = ids[corpus.truths[k]]
        truth[:4] = 255
        made.write(corpus.truth / f"{id_}.png", truth)
        for name, folder in corpus.models.items():
            made.write(folder / f"{id_}.png", ids[corpus.maps[name][k]])
    study, models = str(tmp_path / "study"), {name: str(folder) for name, folder in corpus.models.items()}
    fs.collect(study, str(corpus.photos), classes=str(classes))
    fs.predict(study, models)
    fs.label.import_(study, str(corpus.truth))
    options: dict[str, Any] = {"regions": "given", "resamples": 0, "engine": "local"}
    of_study = fs.measure(study, output=str(tmp_path / "of study"), **group_options(fs.measure, options))
    of_folders = fs.measure(
        corpus.truth,
        models,
        classes=classes,
        output=tmp_path / "of folders",
        **group_options(fs.measure, options),
    )
    assert of_study.models == of_folders.models


def test_an_error_is_one_line_whatever_a_file_is_called(tmp_path: Path) -> None:
    for folder in ("truth", "maps"):
        made.write(tmp_path / folder / "a\nb\x1b[31m.png", np.zeros((4, 4), np.uint8))
    (tmp_path / "maps" / "a\nb\x1b[31m.png").write_bytes(b"junk")
    said = refused_line(*typed("measure {tmp}/truth m={tmp}/maps --classes 2 -o {tmp}/o", tmp=tmp_path))
    assert said.startswith("faultscape: a\\nb\\x1b[31m: ")


def test_options_that_change_nothing_are_told(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--track", "obstacle", "--bins", "9", "--void", "bridge", "--band", "3"]
    assert main(line(corpus, tmp_path, *words)) == 0
    said = [text for text in capsys.readouterr().out.splitlines() if text.startswith("note: --")]
    assert said == [
        f"note: --{option} has no effect: none of its metrics are computed"
        for option in ("track", "band", "bins")
    ]
