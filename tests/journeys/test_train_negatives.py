"""train --negatives: unknown objects from other images, or from a set with objects blended in, teach a
network what it does not know.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import rankdata

import faultscape as fs
from faultscape.errors import OptionError, StudyError
from faultscape.reading.study import Study
from faultscape.uncertainty.training import loop
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.verbs import graph
from faultscape.verbs.train.examples import find_examples
from faultscape.verbs.train.negatives import find_negatives, taught_by
from faultscape.verbs.train.withheld import find_withheld
from made_training import ONE, VOID, Trained, copy_of, image_of
from refusals import refused, refused_text

LONGER = fs.options.TrainingPlan(steps=80, batch=4, rate=0.02, crop="32x24", scale="1,1", validate_every=0)
FEW = fs.options.TrainingPlan(steps=6, batch=2, rate=0.02, crop="24x16", scale="1,1", validate_every=0)
VIOLET = np.array([150, 40, 190])
BLENDED = "train-fishyscapes-v1"


def write(path: Path, pixels: np.ndarray, mode: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)
    return path


def violet(folder: Path, count: int = 3) -> str:
    """A folder of images of what the study does not show."""
    for number in range(count):
        noise = np.random.default_rng(number).normal(0, 12, (40, 50, 3))
        write(folder / "of" / f"{number}.png", np.clip(VIOLET + noise, 0, 255).astype(np.uint8))
    return str(folder)


def cutouts(folder: Path, colour: tuple[int, int, int]) -> str:
    """A folder of one object, long enough to fit into any image."""
    rgba = np.zeros((20, 70, 4), np.uint8)
    rgba[5:15, 5:65] = (*colour, 255)
    rgba[5:9, 5:25] = 0
    write(folder / "bird" / "0.png", rgba)
    return str(folder)


@pytest.fixture(scope="session")
def blended_once(trained_once: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The study with violet objects blended into training images, and green ones into test images."""
    made = copy_of(trained_once, tmp_path_factory.mktemp("taught") / "trained")
    for name, colour in (("train", (150, 40, 190)), ("main", (40, 250, 90))):
        fs.stress.blend(
            made.study,
            preset="fishyscapes-v1",
            set_=name,
            objects=cutouts(made.folder / f"objects-{name}", colour),
            blending=fs.options.Blending(smallest=8, keep_flagged=True),
            frames=12,
            engine="local",
        )
    return made


@pytest.fixture
def blended(blended_once: Trained, tmp_path: Path) -> Trained:
    return copy_of(blended_once, tmp_path / "blended")


def odd_image(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an image with some violet squares, and where they are."""
    photo, _ = image_of(seed)
    rng = np.random.default_rng(seed)
    odd = (rng.uniform(size=(6, 8)) < 0.2).repeat(4, 0).repeat(4, 1)
    photo[odd] = np.clip(VIOLET + rng.normal(0, 12, (odd.sum(), 3)), 0, 255).astype(np.uint8)
    return photo, odd


def auroc(score: np.ndarray, odd: np.ndarray) -> float:
    ranks = rankdata(score)[odd.ravel()]
    return (ranks.sum() - odd.sum() * (odd.sum() + 1) / 2) / (odd.sum() * (~odd).sum())


def train(trained: Trained, name: str, negatives: str, plan: fs.options.TrainingPlan = ONE, **more) -> object:
    data = fs.options.TrainingData(negatives=negatives)
    return fs.train(
        trained.study, name, backbone=trained.own, plan=plan, data=data, **{"loss": "outlier-head", **more}
    )


def record_of(trained: Trained, name: str) -> dict:
    return json.loads(Path(trained.study, "models", name, "network.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["outlier-head", "void-class"])
def test_a_network_that_was_shown_pieces_of_other_images_finds_others(
    trained: Trained, tmp_path: Path, loss: str
) -> None:
    made = train(trained, "net", violet(tmp_path / "violet"), LONGER, loss=loss, init="plain")
    scorer = {"outlier-head": "outlier", "void-class": "void"}[loss]
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net", scorer=[scorer])
    for seed in (200, 201):
        photo, odd = odd_image(seed)
        (output,) = model.predict([photo])
        assert auroc(output.kept[f"doubt-{scorer}"][0], odd) > 0.9
    assert record_of(trained, "net")["provenance"]["family"] == "pieces of images"


def test_the_score_with_the_softmax_is_the_product_of_both(trained: Trained, tmp_path: Path) -> None:
    made = train(trained, "net", violet(tmp_path / "violet"), FEW)
    scorers = ["outlier", "msp", "outlier-msp"]
    model = fs.prediction.open_model(f"{made.folder}/backbone.py:net", scorer=scorers)
    (output,) = model.predict([odd_image(200)[0]])
    outlier, msp, both = (output.kept[f"doubt-{name}"][0] for name in scorers)
    np.testing.assert_allclose(both, outlier * msp, rtol=1e-6)
    assert 0 < both.min() < both.max() < 1
    plain = fs.prediction.open_model(trained.source, scorer=["outlier-msp"])
    (output,) = plain.predict([odd_image(200)[0]])
    assert "needs an outlier head" in output.problem


def test_names_change_nothing_and_other_images_train_again(trained: Trained, tmp_path: Path) -> None:
    place = violet(tmp_path / "violet")
    assert train(trained, "net", place).new
    folder = tmp_path / "violet" / "of"
    for path in sorted(folder.iterdir()):
        path.rename(folder / f"x{9 - int(path.stem)}.png")
    shutil.copy(folder / "x9.png", folder / "again.png")  # equal files count once
    assert not train(trained, "net", place).new
    assert state_of(trained, "net") == ("done", ())
    write(folder / "new.png", np.full((30, 30, 3), VIOLET, np.uint8))
    assert state_of(trained, "net") == ("stale", ("images of the folder of --negatives changed",))
    assert train(trained, "net", place).new


def state_of(trained: Trained, name: str) -> tuple[str, tuple[str, ...]]:
    held = graph.nodes(Study(Path(trained.study)))
    return next((one.state, one.why) for one in held if one.name == name)


@pytest.mark.parametrize("kind", ["folder", "set"])
def test_a_killed_run_resumes_to_the_same_bytes(
    blended: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    negatives = violet(tmp_path / "violet") if kind == "folder" else BLENDED
    whole = Path(train(blended, "whole", negatives, FEW).folder, "weights.safetensors").read_bytes()
    real = loop.train
    with monkeypatch.context() as patch:
        patch.setattr(loop, "EVERY", 0)

        def killed(*given, **told):
            for step in real(*given, **told):
                if step.step == 4:
                    raise KeyboardInterrupt
                yield step

        patch.setattr("faultscape.verbs.train.train_network.train", killed)
        patch.setattr(
            "faultscape.verbs.train.train_network.Machine", lambda *given: loop.Machine(*given, 0.0)
        )
        with pytest.raises(KeyboardInterrupt):
            train(blended, "killed", negatives, FEW)
    assert [*Path(blended.study, "models", "killed", "checkpoint").glob("*")]
    made = train(blended, "killed", negatives, FEW)
    assert Path(made.folder, "weights.safetensors").read_bytes() == whole
    other = train(blended, "plain-void", negatives, FEW, seed=1)
    assert Path(other.folder, "weights.safetensors").read_bytes() != whole


def test_objects_of_a_set_are_outside_all_classes_and_void_counts_in_no_loss(blended: Trained) -> None:
    study = Study(Path(blended.study))
    withheld = find_withheld(study.stress, study.classes, None)
    negatives = find_negatives(study, fs.options.TrainingData(negatives=BLENDED))
    plain, _ = find_examples(study, fs.options.TrainingData(), withheld)
    rows, _ = find_examples(
        study,
        fs.options.TrainingData(),
        withheld,
        lambda images, places: taught_by(negatives, images, places),
    )
    assert (len(plain), len(rows)) == (8, 20)
    for number in range(8):
        labels = plain.read(number)[1]
        np.testing.assert_array_equal(rows.read(number)[1], np.where(labels == OUTSIDE, IGNORED, labels))
    for number in range(8, 20):
        photo, labels = rows.read(number)
        assert rows.called(number).startswith(f"{BLENDED}/")
        seen = np.abs(photo.astype(int) - VIOLET).max(2) < 90
        assert (labels == OUTSIDE).any()
        assert seen[labels == OUTSIDE].mean() > 0.6
        np.testing.assert_array_equal(rows.labels(number), labels)
    made = train(blended, "net", BLENDED)
    assert made.images == 20
    about = record_of(blended, "net")["provenance"]
    assert (about["family"], about["sets"]) == ("cut-outs of images", ["train", BLENDED, "val"])


@pytest.mark.slow
def test_what_was_learnt_and_what_it_is_tested_by_is_on_the_card(blended: Trained) -> None:
    made = train(blended, "net", BLENDED)
    fs.predict(
        blended.study, {"net": made.source}, scorer=["outlier", "outlier-msp"], measure=True, engine="local"
    )
    card = fs.reliability(blended.study, worst=0, resamples=0).document
    (model,) = (one for one in card["models"] if one["name"] == "net")
    assert model["flags"] == ["retrained", "trained-with-ood"]
    assert (model["training"]["negatives"], model["training"]["family"]) == (BLENDED, "cut-outs of images")
    families = {one["name"]: one.get("family", "") for one in card["conditions"]}
    assert families["fishyscapes-v1"] == "cut-outs of images"
    (note,) = (one for one in card["notes"] if "learnt from" in one)
    assert note == (
        f"net: learnt from cut-outs of images, which {BLENDED}, fishyscapes-v1 also show; evaluate it on another"
        " family too"
    )
    page = Path(blended.study, "reliability", "report.html").read_text()
    assert page.count('<td class="words">cut-outs of images</td>') == 3  # what taught, and in two conditions


def test_what_cannot_teach_is_refused_in_one_line(blended: Trained, tmp_path: Path) -> None:
    place = violet(tmp_path / "violet")
    with refused(OptionError, "--negatives has no effect on --loss ce, .* give --loss void-class, "):
        train(blended, "net", place, loss="ce")
    with refused(
        OptionError, "--negatives nowhere: is neither a set of the study .main, train, .* nor a folder"
    ):
        train(blended, "net", "nowhere")
    (tmp_path / "empty").mkdir()
    text = refused_text(
        *("train", blended.study, "net", "--backbone", blended.own, "--loss", "outlier-head"),
        *("--negatives", tmp_path / "empty"),
    )
    assert text == f"--negatives {tmp_path / 'empty'}: has no images; give a folder of images of other things"
    labels = np.zeros((20, 30), np.uint8)
    write(Path(violet(tmp_path / "masks"), "0.png"), labels)
    with refused(
        OptionError, "1 of 4 images cannot be pasted; first: 0.png has a single channel, as label maps"
    ):
        train(blended, "net", str(tmp_path / "masks"))
    write(tmp_path / "masks" / "0.png", labels, "P")
    with refused(OptionError, "first: 0.png has a palette, as label maps have"):
        train(blended, "net", str(tmp_path / "masks"))
    with refused(OptionError, "first: bird/0.png is a cut-out with transparency; `faultscape stress blend"):
        train(blended, "net", str(blended.folder / "objects-train"))
    with refused(OptionError, "8 of 8 images are in the study, whose images show what is known"):
        train(blended, "net", str(blended.folder / "train" / "images"))
    with refused(
        StudyError,
        "no image of val has anomaly labels, which --negatives needs; blend objects into training images:"
        f" `faultscape stress blend {blended.study} --preset fishyscapes-v2 --set train`, or collect a data set",
    ):
        train(blended, "net", "val")
    with refused(OptionError, f"--negatives {BLENDED}: is also named by --set"):
        data = fs.options.TrainingData(set_=["train", BLENDED], negatives=BLENDED)
        fs.train(blended.study, "net", backbone=blended.own, loss="entropy", plan=ONE, data=data)
    assert not Path(blended.study, "models", "net").exists()


def test_objects_by_which_the_study_tests_models_are_refused(blended: Trained, tmp_path: Path) -> None:
    fs.stress.blend(
        blended.study,
        preset="fishyscapes-v1",
        set_="train",
        edition="same",
        objects=str(blended.folder / "objects-main"),
        blending=fs.options.Blending(smallest=8),
        engine="local",
    )
    says = (
        f"--negatives {BLENDED}-same: 1 of 1 object look like objects by which models are tested .bird/0.png"
        f" like bird/0.png of fishyscapes-v1.; blend others: `faultscape stress blend {blended.study} --preset"
        " fishyscapes-v1 --set train --edition other`$"
    )
    with refused(OptionError, says):
        train(blended, "net", f"{BLENDED}-same")
    with refused(OptionError, says):
        fs.fit(
            blended.study,
            "residual",
            model=f"plain={blended.source}",
            data=fs.options.FitData(negatives=f"{BLENDED}-same"),
        )
    with refused(
        OptionError, "--negatives fishyscapes-v1: models are tested by these objects; blend others: `"
    ):
        train(blended, "net", "fishyscapes-v1")
    green = Image.open(blended.folder / "objects-main" / "bird" / "0.png").crop((5, 5, 65, 15))
    flat = Image.new("RGB", green.size, (128, 128, 128))
    flat.paste(green, mask=green.getchannel("A"))
    flat.save(Path(violet(tmp_path / "other"), "green.png"))
    with refused(
        OptionError, "green.png looks like bird/0.png of fishyscapes-v1, by which models are tested"
    ):
        train(blended, "net", str(tmp_path / "other"))


def test_the_weight_of_a_void_class_that_only_pasted_pixels_have_is_one(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, ...]] = []

    def looked(net, plan, task, *more):
        seen.append(task.weights)
        return loop.train(net, plan, task, *more)

    monkeypatch.setattr("faultscape.verbs.train.train_network.train", looked)
    plan = fs.options.TrainingPlan(
        steps=1, batch=2, crop="24x16", validate_every=0, class_weights="median-frequency"
    )
    train(trained, "net", violet(tmp_path / "violet"), plan, loss="void-class")
    assert seen[0][-1] == 1.0
    assert VOID not in range(len(seen[0]))


def test_status_gives_the_line_back_and_says_when_the_folder_is_gone(
    trained: Trained, tmp_path: Path
) -> None:
    place = violet(tmp_path / "violet")
    train(trained, "net", place)

    def node() -> graph.Node:
        return next(one for one in graph.nodes(Study(Path(trained.study))) if one.name == "net")

    write(Path(place, "new.png"), np.full((30, 30, 3), VIOLET, np.uint8))
    assert f" --negatives {place} " in f"{node().line} "
    assert not node().in_the_way
    shutil.rmtree(place)
    assert node().in_the_way.startswith(f"{place} of --negatives is gone; put it back, or train without")
