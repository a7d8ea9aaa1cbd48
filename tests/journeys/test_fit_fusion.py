"""fit fusion: scores of several methods joined by what unknown objects teach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.uncertainty.method_files import digest, read_about
from faultscape.verbs import graph
from made_methods import fitted, kept, killed_at, scored
from made_training import ONE, Trained, copy_of, doubt_of, image_of
from refusals import refused, told

pytestmark = pytest.mark.slow

TAUGHT = fs.options.FitData(negatives="train-fishyscapes-v2")
JOINED = fs.options.FitData(negatives="val-fishyscapes-v2")
QUICK = fs.options.MethodOptions(steps=12, width=8, batch=2)


@pytest.fixture(scope="session")
def parts_once(blended_once: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The study with two methods that can be joined."""
    made = copy_of(blended_once, tmp_path_factory.mktemp("parts") / "trained")
    fitted(made, "mahalanobis")
    fitted(made, "residual", data=TAUGHT, method_options=QUICK)
    return made


@pytest.fixture
def parts(parts_once: Trained, tmp_path: Path) -> Trained:
    return copy_of(parts_once, tmp_path / "parts")


def file_of(trained: Trained, name: str) -> Path:
    return Path(trained.study, "methods", "plain", f"{name}.safetensors")


def write_again(path: Path, about) -> None:
    from faultscape.uncertainty.methods.method import read, write

    write(path, about, read(path)[1])


def states(trained: Trained, name: str) -> list[tuple[str, tuple[str, ...]]]:
    held = graph.nodes(Study(Path(trained.study)))
    return [(one.state, one.why) for one in held if one.name == f"plain/{name}"]


def test_a_fusion_joins_what_is_fitted_names_it_and_changes_no_label(parts: Trained) -> None:
    study = parts.study
    before = label_maps.content_digest(Path(study) / "predictions" / "plain")
    line = ["fit", study, "fusion", "--model", "plain", "--negatives", "val-fishyscapes-v2"]
    out = told(*line, "--steps", 12, "--width", 8, "--batch", 2)
    of_residual = [layer for layer in read_about(file_of(parts, "residual")).layers if layer != "net.head:in"]
    layers = ", ".join(["net.head:in", "the image", *of_residual])
    assert f"plain: fusion at {layers} (trained-with-ood)" in out
    assert "parts    entropy, margin, mahalanobis, residual" in out
    words = [f"{name}@{digest(file_of(parts, name))}" for name in ("mahalanobis", "residual")]
    about = read_about(file_of(parts, "fusion"))
    assert about.options["parts"] == ",".join(["entropy", "margin", *words])
    assert [(one.method, one.negatives) for one in about.parts] == [
        ("mahalanobis", ""),
        ("residual", "train-fishyscapes-v2"),
    ]
    assert states(parts, "fusion") == [("done", ())]
    scored(parts, "fusion", "residual", "msp")
    assert label_maps.content_digest(Path(study) / "predictions" / "plain") == before
    together = kept(parts, "residual"), kept(parts, "fusion")
    scored(parts, "residual")
    np.testing.assert_array_equal(kept(parts, "residual"), together[0])
    assert together[1].std() > 0


def test_a_part_that_is_fitted_again_makes_the_fusion_stale(parts: Trained) -> None:
    fitted(parts, "fusion", data=JOINED, method_options=QUICK)
    first = file_of(parts, "fusion").read_bytes()
    fitted(parts, "mahalanobis", method_options=fs.options.MethodOptions(shrink=0.5))
    assert states(parts, "fusion") == [
        ("stale", ("a method that it is made of was fitted again or removed",))
    ]
    again = (
        "plain: mahalanobis, a part of its method fusion, was fitted again or removed; fit fusion again:"
        f" `faultscape fit {parts.study} fusion --model plain --batch 2 --negatives val-fishyscapes-v2"
        " --steps 12 --width 8`"
    )
    with refused(ModelError, again):
        scored(parts, "fusion")
    fitted(parts, "fusion", data=JOINED, method_options=QUICK)
    assert states(parts, "fusion") == [("done", ())]
    fitted(parts, "mahalanobis")
    fitted(parts, "fusion", data=JOINED, method_options=QUICK)
    assert file_of(parts, "fusion").read_bytes() == first


def test_a_part_can_be_left_out_and_its_flags_go_with_it(parts: Trained) -> None:
    path = file_of(parts, "mahalanobis")
    write_again(path, replace(read_about(path), flags=("tuned-with-ood",), family="made up"))
    some = replace(QUICK, parts="entropy,mahalanobis")
    (found,) = fitted(parts, "fusion", data=JOINED, method_options=some).methods
    assert found.flags == ("trained-with-ood", "tuned-with-ood")
    about = read_about(file_of(parts, "fusion"))
    assert list(about.more["fit"]["weights"]) == ["entropy", f"mahalanobis@{digest(path)}"]
    assert about.families == ("drawn objects", "made up")
    less = replace(some, parts="entropy,margin")
    (found,) = fitted(parts, "fusion", data=JOINED, method_options=less).methods
    assert (found.flags, found.layers) == (("trained-with-ood",), ())


def test_with_equal_weights_no_unknown_object_teaches_a_fusion(parts: Trained) -> None:
    equal = fs.options.MethodOptions(parts="entropy,mahalanobis", equal_weights=True)
    made = fitted(parts, "fusion", data=JOINED, method_options=equal)
    assert "scaled   by the known pixels of val-fishyscapes-v2" in repr(made)
    (found,) = made.methods
    about = read_about(file_of(parts, "fusion"))
    assert (found.flags, about.families) == ((), ())
    assert about.negatives == "val-fishyscapes-v2"
    assert set(about.more["fit"]["weights"].values()) == {0.5}
    scored(parts, "fusion", "entropy", "mahalanobis")
    fused = kept(parts, "fusion").ravel()
    for one in (doubt_of(parts.study, "plain", "entropy"), kept(parts, "mahalanobis")):
        assert np.corrcoef(fused, one.ravel())[0, 1] > 0.3
    for name, value in (("spatial", True), ("steps", 100)):
        both = fs.options.MethodOptions(equal_weights=True, **{name: value})
        with refused(OptionError, f"--{name} is of weights that are learnt, and --equal-weights learns none"):
            fitted(parts, "fusion", data=JOINED, method_options=both)


@pytest.mark.parametrize("loss", ["outlier-head", "uno"])
def test_a_network_that_learnt_of_outliers_lends_a_fusion_what_it_says_of_them(
    parts: Trained, loss: str
) -> None:
    from faultscape.prediction.doubt_methods import built
    from faultscape.prediction.inference import Inference

    made = fs.train(parts.study, "taught", backbone=parts.own, init="plain", loss=loss, plan=ONE)
    source = f"{made.folder}/backbone.py:net"
    words = "entropy,outlier,outlier-msp,uno"
    (found,) = fs.fit(
        parts.study,
        "fusion",
        model={"taught": source},
        data=JOINED,
        method_options=replace(QUICK, parts=words),
    ).methods
    assert (found.layers, found.flags) == ((":outlier",), ("trained-with-ood", "retrained"))
    network = fs.prediction.open_model(source).network
    fusion = built(Path(parts.study, "methods", "taught", "fusion.safetensors"))
    inference = Inference(network, methods={"fusion": fusion})
    (answer,) = inference.run([inference.prepare(image_of(50)[0], (32, 24))])
    shares = np.exp(answer.scores) / np.exp(answer.scores).sum(0)
    outlier = 1 / (1 + np.exp(-answer.values["outlier"][0][0]))
    most = shares.max(0)
    entropy = -(shares * np.log(shares)).sum(0)
    scores = [entropy, outlier, outlier * (1 - most), 1 - (1 - outlier) * most + outlier]
    held = {name: value.numpy() for name, value in fusion.tensors().items()}
    columns = zip(scores, held["weight"], held["mean"], held["deviation"], strict=True)
    expected = sum(w * (score - mean) / deviation for score, w, mean, deviation in columns) + held["bias"]
    np.testing.assert_allclose(answer.values["fusion"][0][0], expected, atol=1e-4)
    says = "has no outlier head and no negative class, which --parts outlier, outlier-msp and uno need"
    with refused(ModelError, says):
        fitted(parts, "fusion", data=JOINED, method_options=replace(QUICK, parts=words))


def test_a_fusion_that_was_killed_goes_on_to_the_same_bytes(
    parts: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:

    def fit() -> bytes:
        fitted(parts, "fusion", data=JOINED, method_options=replace(QUICK, spatial=True))
        return file_of(parts, "fusion").read_bytes()

    whole = fit()
    file_of(parts, "fusion").unlink()
    done = killed_at(9, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        fit()
    assert fit() == whole
    assert done == [*range(10), 9, 10, 11]


def test_what_cannot_be_joined_is_refused_in_one_line(parts: Trained) -> None:
    def refuses(error: type[Exception], says: str, words: str) -> None:
        with refused(error, says):
            fitted(parts, "fusion", data=JOINED, method_options=replace(QUICK, parts=words))

    line = f"`faultscape fit {parts.study} knn --model plain`"
    refuses(OptionError, f"--parts knn: is not fitted to plain; fit it first: {line}", "entropy,knn")
    refuses(OptionError, "--parts entropy,entropy: names entropy twice", "entropy,entropy")
    odd = "--parts residul: cannot be a part of a fusion; plain has .* Did you mean 'residual'"
    refuses(OptionError, odd, "entropy,residul")
    refuses(
        OptionError,
        "--parts mutual-information: cannot be a part of a fusion; plain has",
        "mutual-information",
    )
    fitted(parts, "odin")
    moved = r"--parts odin: it shows the network a moved image \(--epsilon\), which a fusion does not; leave"
    refuses(OptionError, moved, "odin")
    with refused(OptionError, "method fusion uses the layers of its parts; leave --layer and --select-layer"):
        fitted(parts, "fusion", data=JOINED, method_options=QUICK, layer=["net.head:in"])
    with refused(OptionError, "method fusion learns from unknown objects: blend some into training images"):
        fitted(parts, "fusion", method_options=QUICK)


def test_a_part_of_another_network_is_refused_by_name_and_left_out_otherwise(
    parts: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    about = read_about(file_of(parts, "mahalanobis"))
    write_again(file_of(parts, "mahalanobis"), replace(about, network="0" * 12))
    why = "mahalanobis was fitted to a different network, different weights or other options"
    with refused(ModelError, f"--parts mahalanobis: plain's {why}; fit it again, or leave it out of --parts"):
        fitted(parts, "fusion", data=JOINED, method_options=replace(QUICK, parts="entropy,mahalanobis"))
    capsys.readouterr()
    fitted(parts, "fusion", data=TAUGHT, method_options=QUICK)
    said = capsys.readouterr().out
    assert f"note: {why}, and is left out; fit it again to join it" in said
    assert "note: residual learnt from train-fishyscapes-v2 too, and may do better there" in said
    assert "mahalanobis" not in read_about(file_of(parts, "fusion")).options["parts"]
