"""fit METHOD --negatives: methods that learn from unknown objects, beside a network that stays as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import MetricError, OptionError, StudyError
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import read_failures
from faultscape.uncertainty.method_files import read_about
from faultscape.verbs import graph
from made_methods import fitted, kept, scored
from made_training import Trained
from refusals import refused, told

pytestmark = pytest.mark.slow

QUICK = fs.options.MethodOptions(steps=12, width=8, batch=2)


NEGATIVES = fs.options.FitData(negatives="train-fishyscapes-v2")


@pytest.mark.parametrize("method", ["residual", "reconstruction"])
def test_a_method_that_unknown_objects_taught_is_a_flagged_scorer_and_changes_no_label(
    blended: Trained, method: str
) -> None:
    study = blended.study
    before = label_maps.content_digest(Path(study) / "predictions" / "plain")
    out = told(
        *("fit", study, method, "--model", "plain", "--negatives", "train-fishyscapes-v2"),
        *("--steps", 12, "--width", 8, "--batch", 2),
    )
    layers = {"residual": "net.body, net.head:in", "reconstruction": "net.head:in, net.body"}[method]
    assert f"plain: {method} at {layers} (trained-with-ood)" in out
    assert "taught   by the unknown objects of train-fishyscapes-v2" in out
    scored(blended, "msp", method)
    assert label_maps.content_digest(Path(study) / "predictions" / "plain") == before
    assert kept(blended, method).std() > 0
    scored(blended, "msp", method, measure=True)
    card = fs.reliability(study, worst=0, resamples=0).document
    (about,) = card["models"][0]["methods"]
    assert (about["flags"], about["negatives"], about["family"]) == (
        ["trained-with-ood"],
        "train-fishyscapes-v2",
        "drawn objects and noise shapes",
    )
    assert [one["name"] for one in card["conditions"] if one.get("training")] == ["train-fishyscapes-v2"]
    assert not any(
        on["condition"] == "train-fishyscapes-v2" for row in card["thresholds"] for on in row["on"]
    )
    page = Path(study, "reliability", "report.html").read_text()
    assert "trained-with-ood (by drawn objects and noise shapes)" in page


def test_a_reconstruction_without_unknown_objects_learns_from_training_images_and_has_no_flag(
    blended: Trained,
) -> None:
    found = fitted(blended, "reconstruction", method_options=QUICK)
    assert found.methods[0].flags == ()
    about = read_about(Path(blended.study, "methods", "plain", "reconstruction.safetensors"))
    assert (about.negatives, about.family, about.sets) == ("", "", ("train",))
    scored(blended, "reconstruction")
    score = kept(blended, "reconstruction")
    assert np.isfinite(score).all()
    assert score.std() > 0


def test_the_same_line_gives_the_same_bytes_and_new_images_make_the_method_stale(blended: Trained) -> None:
    study = blended.study
    path = Path(study, "methods", "plain", "residual.safetensors")

    def fit() -> bytes:
        fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
        return path.read_bytes()

    def states() -> list[tuple[str, tuple[str, ...]]]:
        held = graph.nodes(Study(Path(study)))
        return [(one.state, one.why) for one in held if one.name == "plain/residual"]

    first = fit()
    path.unlink()
    assert fit() == first
    assert read_about(path).negatives == "train-fishyscapes-v2"
    assert states() == [("done", ())]
    image = next(one for one in Study(Path(study)).image_rows.values() if one.set == "train-fishyscapes-v2")
    told("collect", study, "--remove", image.id)
    assert states() == [("stale", ("images of the unknown objects that taught it changed",))]
    (line,) = [one.line for one in graph.nodes(Study(Path(study))) if one.name == "plain/residual"]
    assert " --negatives train-fishyscapes-v2 " in f"{line} "


def test_a_fit_that_was_killed_goes_on_to_the_same_bytes(
    blended: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.methods import block_fit

    folder = Path(blended.study, "methods", "plain")
    fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    whole = (folder / "residual.safetensors").read_bytes()
    (folder / "residual.safetensors").unlink()
    step = block_fit._step

    def killed(*given) -> float:
        if given[4] == 9:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(block_fit, "_step", killed)
    with pytest.raises(KeyboardInterrupt):
        fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    (left,) = folder.glob(".residual-residual-*")
    assert sorted(path.name[:13] for path in left.iterdir()) == ["step-00000008", "step-00000009"]
    done = []
    monkeypatch.setattr(block_fit, "_step", lambda *given: done.append(given[4]) or step(*given))
    fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    assert done == [9, 10, 11]
    assert (folder / "residual.safetensors").read_bytes() == whole
    assert not left.exists()


def test_grids_that_do_not_fit_into_memory_are_made_again_and_teach_the_same(
    blended: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit import network_grids

    path = Path(blended.study, "methods", "plain", "residual.safetensors")
    fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    kept_in_memory = path.read_bytes()
    path.unlink()
    monkeypatch.setattr(network_grids, "memory", lambda: 0)
    fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    assert path.read_bytes() == kept_in_memory


def test_images_that_cannot_be_read_are_left_out_and_told(
    blended: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.corpus import unread_images
    from faultscape.errors import ImageError

    read, lost = unread_images.read_photo, {"train-fishyscapes-v2/004"}

    def some(image):
        if image.id in lost or "all" in lost:
            raise ImageError(f"{image.id} is gone")
        return read(image)

    monkeypatch.setattr(unread_images, "read_photo", some)
    fitted(blended, "residual", data=NEGATIVES, method_options=QUICK)
    left_out = "note: 1 image with unknown objects cannot be read and is left out (failures.csv): "
    assert left_out in capsys.readouterr().out
    rows = [row for row in read_failures(Path(blended.study)) if row.stage == "fit"]
    assert [(row.name, row.image) for row in rows] == [("residual/plain", "train-fishyscapes-v2/004")]
    lost.add("all")
    with refused(MetricError, "none of the images to learn from can be read"):
        fitted(blended, "residual", data=NEGATIVES, method_options=QUICK, seed=1)


def test_a_layer_is_chosen_with_other_objects_than_those_that_teach(blended: Trained) -> None:
    layers = {"layer": ["mix", "body.0"], "select_layer": True, "validation": "val-fishyscapes-v2"}
    found = fitted(blended, "residual", data=NEGATIVES, method_options=QUICK, **layers)
    best = found.searches["layer"]
    assert [one.average_precision for one in best] == sorted(
        (one.average_precision for one in best), reverse=True
    )
    assert found.methods[0].layers == (best[0].candidate,)
    assert found.methods[0].flags == ("trained-with-ood", "tuned-with-ood")


@pytest.mark.parametrize("withheld", [True, False])
def test_what_is_withheld_or_unknown_to_the_network_teaches_nothing(blended: Trained, withheld: bool) -> None:
    """Cars: a cell with any pixel of one is open, unless an object covers it."""
    from faultscape.reading.image_truths import Judge
    from faultscape.study.tables.stress_sets import drop_holdout
    from faultscape.uncertainty.methods.block_fit import KNOWN, NEGATIVE, OPEN
    from faultscape.verbs.fit.network_grids import NetworkGrids
    from faultscape.verbs.fit.open_model import open_model
    from faultscape.verbs.fit.samples import meaning_of
    from faultscape.verbs.train.negatives import NegativeImages

    if not withheld:  # the network did not learn them all the same
        drop_holdout(Path(blended.study), "cars")
    study = Study(Path(blended.study))
    taught = NegativeImages(study, "train-fishyscapes-v2")
    model = open_model(study, "plain", "cpu")
    grids = NetworkGrids(study, model, meaning_of(model, study), ("net.head:in",), taught, None)
    plain = Judge.of_truth(study, study.truth(None))
    seen = set()
    for number, image in enumerate(taught.images):
        (part,) = grids(number)
        (truth,) = plain.views(image.parent, (32, 24))[:1]
        labels, (anomaly, _) = part.labels.numpy(), taught.view(image, (32, 24))
        assert (labels[anomaly == 1] == NEGATIVE).all()
        assert (labels[(truth.semantic == 2) & (anomaly != 1)] == OPEN).all()
        assert (labels[(truth.semantic < 2) & (anomaly == 0)] == KNOWN).all()
        seen |= set(labels.ravel().tolist())
    assert seen == {KNOWN, NEGATIVE, OPEN}


def test_what_cannot_teach_is_refused_in_one_line(blended: Trained) -> None:
    def refuses(error: type[Exception], says: str, method: str = "residual", **given: object) -> None:
        options = {} if method == "knn" else {"method_options": QUICK}
        data = {key: given.pop(key) for key in ("negatives", "images") if key in given}
        with refused(error, says):
            fitted(blended, method, data=fs.options.FitData(**data), **options, **given)

    needs = (
        "method residual learns from unknown objects: blend some into training images with `faultscape"
        f" stress blend {blended.study} --preset fishyscapes-v2 --set train`, and name the set that it makes with --negatives"
    )
    refuses(OptionError, needs)
    refuses(OptionError, "--negatives 'trian': the study has no such set; it has .*", negatives="trian")
    blend = (
        "blend objects into training images:"
        f" `faultscape stress blend {blended.study} --preset fishyscapes-v2 --set train`"
    )
    plain = f"no image of train has anomaly labels, which --negatives needs; {blend}, or collect a data set"
    refuses(StudyError, plain, negatives="train")
    folder = str(blended.folder)
    only = f"--negatives {folder}: is a folder, which only teaches networks .*: {blend}$"
    refuses(OptionError, only, negatives=folder)
    name = "train-fishyscapes-v2"
    idle = "--images has no effect on method residual; leave it out"
    refuses(OptionError, idle, negatives=name, images=3)
    pair = (
        "method reconstruction uses two layers, and makes the features of the second from those of the first,"
        " a coarser one: --layer COARSE --layer FINE"
    )
    refuses(OptionError, pair, "reconstruction", negatives=name, layer=["mix"])
    refuses(OptionError, "--negatives has no effect on method knn; leave it out", "knn", negatives=name)
    both = (
        f"--negatives and --validation are both {name}; what is learnt from cannot choose options: blend"
        " other objects into validation images"
    )
    refuses(OptionError, both, negatives=name, select_layer=True, validation=name)
