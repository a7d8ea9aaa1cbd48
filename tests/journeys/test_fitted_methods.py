"""What becomes of methods that were fitted: fitted again, scored with, renamed, removed, and what status says
of them.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.verbs.graph import nodes
from flipped_bits import flip
from made_methods import blended_set, fitted, kept
from made_training import FEW, Trained, doubt_of, image_of
from refusals import refused, told


def test_the_same_line_again_fits_nothing(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.verbs.fit import fit_method

    sweep = {"sweep": "k=1,2", "data": fs.options.FitData(images=5, keep_embeddings=200)}
    study = predicted.study
    first = fs.fit(study, "knn", model="plain", **sweep)
    draw, drawn = fit_method.draw_samples, []
    monkeypatch.setattr(fit_method, "draw_samples", lambda *given: drawn.append(1) or draw(*given))
    capsys.readouterr()
    assert fs.fit(study, "knn", model="plain", **sweep) == first
    assert "note: knn-k-1, knn-k-2: fitted before, and nothing has changed since" in capsys.readouterr().out
    assert not drawn
    path = Path(study, "methods", "plain", "knn-k-2.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])  # what its header says is there still, and its tensors are not whole
    fs.fit(study, "knn", model="plain", **sweep)
    assert path.read_bytes() == whole
    fs.fit(
        study, "knn", model="plain", **{**sweep, "data": fs.options.FitData(images=6, keep_embeddings=200)}
    )
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    fs.fit(
        study, "knn", model="plain", **{**sweep, "data": fs.options.FitData(images=6, keep_embeddings=200)}
    )
    assert len(drawn) == 3


def test_a_method_with_a_flipped_bit_is_refused_and_the_line_that_is_named_fits_it_again(
    predicted: Trained,
) -> None:
    study, path = predicted.study, Path(predicted.study, "methods", "plain", "knn.safetensors")
    fs.fit(study, "knn", model="plain", data=fs.options.FitData(images=5, keep_embeddings=200))
    whole = flip(path)
    says = r"knn\.safetensors: is damaged \(its checksum is wrong\); fit it again: `(.*)`$"
    with refused(ModelError, says) as caught:
        fs.predict(study, {"plain": predicted.source}, scorer=["knn"], engine="local")
    found = re.search(says, str(caught.value))
    assert found is not None
    told(*shlex.split(found[1])[1:])
    assert path.read_bytes() == whole


@pytest.mark.slow
def test_flags_follow_what_was_scored(predicted: Trained) -> None:
    """A method that is fitted again, or whose file is deleted, leaves the numbers of before, and all that is
    known of them.
    """
    study, source = predicted.study, {"plain": predicted.source}
    blended = blended_set(predicted)
    path = Path(study, "methods", "plain", "knn.safetensors")

    def flags() -> tuple[list[str], list[str]]:
        card = fs.reliability(study, worst=0, resamples=0).document
        return card["models"][0]["methods"][0]["flags"], [note for note in card["notes"] if "knn" in note]

    fs.fit(study, "knn", model="plain", validation=blended)
    fs.predict(study, source, scorer=["msp", "knn"], measure=True, engine="local")
    assert flags() == (
        ["tuned-with-ood"],
        [
            (
                f"plain: knn was searched with {blended}, which includes 3 of the 7 images it is "
                "evaluated on; numbers on these are too good, so evaluate on other images"
            )
        ],
    )
    assert [node.state for node in nodes(Study(Path(study))) if node.artefact == "maps"] == ["done"]
    fitted(predicted, "knn")
    assert flags()[0] == ["tuned-with-ood"]
    assert (
        flags()[1][1]
        == "plain: knn was fitted again since these scores were made; run `faultscape predict` again to "
        "update them"
    )
    (node,) = [node for node in nodes(Study(Path(study))) if node.artefact == "maps"]
    assert (node.state, node.line) == ("stale", f"faultscape predict {study} plain={predicted.source}")
    assert "or a fitted method changed since" in node.words
    path.unlink()
    assert flags()[0] == ["tuned-with-ood"]
    with refused(
        OptionError,
        "--scorer knn is a method that scored plain, and its file is gone; fit it again, or list the scorers"
        " to keep with --scorer; ",
    ):
        fs.predict(study, source, engine="local")
    fitted(predicted, "knn")
    fs.predict(study, source, measure=True, engine="local")
    assert flags() == ([], [])
    for said in (path.parent / "scored").iterdir():
        said.write_bytes(b"\xff{")
    path.unlink()
    assert [node.state for node in nodes(Study(Path(study))) if node.artefact == "maps"] == ["done"]
    card = fs.reliability(study, worst=0, resamples=0).document
    assert (
        "plain: the file of knn is missing, so it is unknown whether it was tuned with unknown objects"
        in card["notes"]
    )


@pytest.mark.slow
def test_methods_go_with_their_model(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn")
    fs.predict(study, {"plain": predicted.source}, scorer=["msp", "knn"], engine="local")
    fs.predict(study, rename={"plain": "other"})
    held = read_settings(Path(study)).models["other"]
    assert held.source == f"{study}/models/other/backbone.py:net"
    assert Path(study, "methods", "other", "knn.safetensors").is_file()
    assert all(
        node.state == "done" for node in nodes(Study(Path(study))) if node.artefact in ("maps", "methods")
    )
    fs.fit(study, "mahalanobis", model="other")
    fs.predict(study, {"other": held.source}, scorer=["msp", "knn", "mahalanobis"], engine="local")
    fs.predict(study, remove=["other"])
    assert Path(study, "methods", "other", "knn.safetensors").is_file()  # beside the network, which stays too


def test_checkpoints_of_a_line_that_was_given_otherwise_go_and_those_of_another_name_stay(
    predicted: Trained,
) -> None:
    folder = Path(predicted.study, "methods", "plain")
    mine, other = (folder / f".flow-{name}-{'0' * 16}" for name in ("flow", "flow-wide"))
    for left in (mine, other):
        left.mkdir(parents=True)
    fitted(predicted, "flow")
    assert (mine.exists(), other.exists()) == (False, True)


def test_the_next_line_keeps_the_scorers_that_a_model_has(predicted: Trained) -> None:
    fs.predict(predicted.study, {"plain": predicted.source}, scorer=["msp", "entropy"], engine="local")
    out = told("fit", predicted.study, "odin", "--model", "plain")
    assert out[-1].endswith(" --scorer msp --scorer entropy --scorer odin --measure")


@pytest.mark.slow
def test_a_method_that_is_fitted_again_makes_its_scores_anew_and_no_others(
    predicted: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    study, source = predicted.study, predicted.source
    fitted(predicted, "knn")
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    msp, before = doubt_of(study, "plain", "msp"), kept(predicted, "knn")
    fs.fit(study, "knn", model="plain", method_options=fs.options.MethodOptions(k=1))
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    assert not np.array_equal(kept(predicted, "knn"), before)
    np.testing.assert_array_equal(doubt_of(study, "plain", "msp"), msp)
    capsys.readouterr()
    fs.predict(study, {"plain": source}, scorer=["msp", "knn"], engine="local")
    assert "changed" not in capsys.readouterr().out


def test_status_says_what_a_method_follows_from_and_the_line_that_fits_it_again(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn", data=fs.options.FitData(images=5, keep_embeddings=200), seed=3)
    assert "  fit      done     plain: knn at net.head:in" in str(fs.status(study))
    folder = predicted.folder / "more"
    folder.mkdir()
    Image.fromarray(image_of(80)[0]).save(folder / "080.png")
    fs.collect(study, str(folder), set_="train", role="train")
    assert "  fit      stale    plain: knn at net.head:in; images of its sets changed" in str(
        fs.status(study)
    )
    fs.predict(study, {"plain": predicted.source}, engine="local")
    (row,) = [node for node in nodes(Study(Path(study), study)) if node.artefact == "methods"]
    assert row.line == f"faultscape fit {study} knn --model plain --images 5 --keep-embeddings 200 --seed 3"
    told(*row.line.split()[1:])
    assert "  fit      done     plain: knn at net.head:in" in str(fs.status(study))


@pytest.mark.slow
def test_status_sees_another_holdout_another_network_and_another_search_set(predicted: Trained) -> None:
    study = predicted.study
    blended = blended_set(predicted, "fs-static", frames=3)
    fitted(predicted, "knn")
    fitted(predicted, "odin", validation=blended, method_options=fs.options.MethodOptions())
    before = str(fs.status(study))
    assert "  fit      done     plain: knn" in before
    assert "  fit      done     plain: odin" in before
    fs.collect(study, remove=[f"{blended}/*"])
    assert "  fit      stale    plain: odin; images of the set that it was searched with changed" in str(
        fs.status(study)
    )
    assert "  fit      done     plain: knn" in str(fs.status(study))
    fs.stress.holdout(study, classes=["tree"], as_="trees")
    assert "  fit      stale    plain: knn at net.head:in; the withheld classes changed" in str(
        fs.status(study)
    )
    again = replace(FEW, steps=2)
    fs.train(
        study, "plain", backbone=predicted.own, plan=again, data=fs.options.TrainingData(withhold="cars")
    )
    assert "its network changed" in str(fs.status(study))


@pytest.mark.slow
def test_the_card_says_which_methods_saw_the_images_that_it_judges_on(predicted: Trained) -> None:
    study = predicted.study
    fitted(predicted, "knn", data=fs.options.FitData(set_=["main"]))
    fitted(predicted, "mahalanobis")
    fs.predict(
        study, {"plain": predicted.source}, scorer=["msp", "knn", "mahalanobis"], measure=True, engine="local"
    )
    notes = [
        note for note in fs.reliability(study, worst=0, resamples=0).document["notes"] if "fitted to" in note
    ]
    assert notes == [
        (
            "plain: knn was fitted to main, which includes 4 of the 4 images it is evaluated on; numbers "
            "on these are too good, so evaluate on other images"
        )
    ]


@pytest.mark.slow
def test_a_holdout_that_comes_or_goes_makes_counts_of_blended_sets_anew(predicted: Trained) -> None:
    """Pixels of withheld classes are void there: numbers that counted them as known, or left them out, must
    not be shown as today's.
    """
    study, source = predicted.study, {"plain": predicted.source}
    blended = blended_set(predicted, set_="main")

    def precision() -> float | None:
        cells = fs.reliability(study, worst=0, resamples=0).document["cells"]
        return next(
            (
                one["value"]
                for one in cells
                if (one["condition"], one["metric"], one["model"]) == (blended, "average_precision", "plain")
            ),
            None,
        )

    fs.predict(study, source, scorer=["msp"], measure=True, engine="local")
    without = precision()
    assert without is not None
    fs.stress.holdout(study, remove="cars")
    assert precision() is None
    fs.predict(study, source, scorer=["msp"], measure=True, engine="local")
    assert precision() not in (None, without)


@pytest.mark.slow
def test_a_study_scored_where_the_logits_lie_is_that_of_the_processor(predicted: Trained) -> None:
    """The labels to the bit, and the card from counts of scores up to rounding."""
    from faultscape.study.tables import label_maps

    study, source = predicted.study, {"plain": predicted.source}
    methods = ["knn", "mahalanobis", "neco", "odin", "standardised-max-logit"]
    scorers = ["msp", "entropy", "gen", *methods]
    for method in methods:
        fitted(predicted, method)

    def said(where: Literal["processor", "device"]) -> tuple[str, dict[tuple[str, ...], float]]:
        hardware = fs.options.Hardware(score_on=where)
        fs.predict(study, source, scorer=scorers, hardware=hardware, measure=True, engine="local")
        card = fs.reliability(study, worst=0, resamples=0).document
        cells = {
            tuple(str(one[key]) for key in ("condition", "metric", "scorer")): one["value"]
            for one in card["cells"]
            if one["value"] is not None and not one["metric"].endswith("seconds")
        }
        return label_maps.content_digest(Path(study) / "predictions" / "plain"), cells

    here = said("processor")
    there = said("device")
    assert here[0] == there[0]
    assert here[1].keys() == there[1].keys()
    assert len(here[1]) > 10
    for key, value in here[1].items():
        assert there[1][key] == pytest.approx(value, rel=1e-3, abs=1e-4), key
