"""S3 and S4 top to bottom, by their recipes, on a made Cityscapes tree: drawn streets with label ids."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest

import faultscape as fs
from faultscape.classes.class_lists import resolve
from faultscape.recipes import fishyscapes, reliability
from faultscape.reporting.reliability.document import find_cell
from faultscape.scenes import street
from made_blends import few_objects
from networks_of_tests import colour_network

pytestmark = pytest.mark.slow

LABEL_IDS = {
    "sky": 23,
    "building": 11,
    "road": 7,
    "pavement": 8,
    "vegetation": 21,
    "car": 26,
    "truck": 27,
    "person": 24,
    "cyclist": 25,
    "sign": 20,
}
few = pytest.fixture(scope="module", autouse=True)(few_objects)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    ids = np.zeros(256, np.uint8)
    for id_, name, _ in street.CLASSES:
        ids[id_] = LABEL_IDS.get(name, 0)
    for k in range(7):
        split, city = ("val", "frankfurt") if k < 4 else ("train", "aachen")
        scene, place = street.corpus_scene(k), f"{city}_000000_00000{k}"
        for folder, pixels in (
            ("leftImg8bit", cv2.cvtColor(scene.image, cv2.COLOR_RGB2BGR)),
            ("gtFine", ids[scene.truth]),
        ):
            end = "leftImg8bit" if folder == "leftImg8bit" else "gtFine_labelIds"
            path = root / "cityscapes" / folder / split / city / f"{place}_{end}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            assert cv2.imwrite(str(path), pixels)
    for name, seed in (("one", 1), ("two", 2)):
        colour_network(
            root / f"{name}.onnx",
            np.random.default_rng(seed).normal(size=(len(resolve("cityscapes")), 3)).astype(np.float32) * 3,
        )
    return root


def models(root: Path) -> dict[str, str]:
    return {name: str(root / f"{name}.onnx") for name in ("one", "two")}


def test_table_2_of_s3_has_its_columns(root: Path, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    card = reliability.cityscapes(study, str(root / "cityscapes"), models(root)).document
    head = (tmp_path / "study" / "reliability" / "table-s3.csv").read_text().splitlines()[0].split(",")
    assert head[1::3] == [
        "main mIoU",
        "main calibration AUC",
        "corrupted mIoU",
        "fishyscapes-v2 AUC-ROC",
        "fishyscapes-v2 AUC-PR",
    ]
    assert len([c for c in card["conditions"] if c["kind"] == "corrupted"]) == 20
    assert set(card["presets"]["s3-code"]["one"]["sets"]) == {"fishyscapes-v2"}
    fs.stress.holdout(study, classes="sky,car", as_="three")  # Table 3's open set, on the classes at hand
    held = fs.reliability(study).document
    assert find_cell(held, "one", "three", "auroc", "msp") is None  # counted before the holdout was made
    assert [gap for gap in held["gaps"] if "three" in gap["conditions"]]
    fs.predict(study, models(root), scorer=["msp"], measure=True)
    assert find_cell(fs.reliability(study).document, "one", "three", "auroc", "msp") is not None


def ade20k_tree(root: Path, images: int) -> None:
    """Drawn streets in the layout of ADE20K, whose cars are chairs and whose signs are sofas."""
    classes = resolve("ade20k")
    names = ("wall", "floor", "sky", "tree", "chair", "sofa")
    ids = np.array([classes.ids[classes.names.index(name)] for name in names], np.uint8)
    of = np.arange(256) % 4
    of[[id_ for id_, name, _ in street.CLASSES if name == "car"]] = 4
    of[[id_ for id_, name, _ in street.CLASSES if name == "sign"]] = 5
    for k in range(images):
        scene = street.corpus_scene(k)
        for folder, end, pixels in (
            ("images", "jpg", cv2.cvtColor(scene.image[::2, ::2], cv2.COLOR_RGB2BGR)),
            ("annotations", "png", ids[of[scene.truth[::2, ::2]]]),
        ):
            path = root / "ADEChallengeData2016" / folder / "validation" / f"ADE_val_{k:08}.{end}"
            path.parent.mkdir(parents=True, exist_ok=True)
            assert cv2.imwrite(str(path), pixels)


def test_table_3_of_s3_is_in_distribution_and_has_all_classes_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fs, "predict", partial(fs.predict, engine="local"))
    one = {"corruption": ["fog"], "severities": "3", "engine": "local"}  # of 20 sets
    monkeypatch.setattr(reliability, "corrupted", lambda study: fs.stress.corrupt(study, **one))
    ade20k_tree(tmp_path / "data", 2)
    weights = np.random.default_rng(3).normal(size=(150, 3)).astype(np.float32) * 3
    models = {"one": str(colour_network(tmp_path / "ade.onnx", weights))}
    study = tmp_path / "study"
    said = reliability.ade20k(str(study), str(tmp_path / "data"), models)
    head = (study / "reliability" / "table-s3.csv").read_text().splitlines()[0].split(",")
    assert head[1::3] == [
        "main InD mIoU",
        "main InD calibration AUC",
        "corrupted InD mIoU",
        "s3-paper AUC-ROC",
        "s3-paper AUC-PR",
        "main all classes mIoU",
        "main all classes calibration AUC",
        "corrupted all classes mIoU",
    ]
    assert "InD: in distribution, without chair, sofa (s3-paper): withheld pixels are left" in repr(said)
    in_distribution = find_cell(said.document, "one", "main", "miou", holdout="s3-paper")
    measured = fs.measure(study, part=fs.options.StudyPart(holdout="s3-paper"), resamples=0, engine="local")
    assert in_distribution is not None
    assert in_distribution["value"] == measured.models["one"]["miou"]["value"]


def test_table_1_of_s4_has_every_score_and_edition(root: Path, tmp_path: Path) -> None:
    study = str(tmp_path / "study")
    fishyscapes.base(study, str(root / "cityscapes"), train=True)
    objects = tmp_path / "objects"
    for k in range(4):
        rgba = np.zeros((48, 48, 4), np.uint8)
        rgba[4:44, 4:44] = (30, 60 * k, 200, 255)
        (objects / "kite").mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(objects / "kite" / f"{k}.png"), rgba)
    for edition in ("2026-10", "2026-11"):
        fishyscapes.web(study, str(objects), edition)
    fishyscapes.web(study, str(objects), "2026-11", "v3")
    card = fishyscapes.table_1(study, models(root), ["one", "two"]).document
    editions = [condition["edition"] for condition in card["conditions"] if condition["kind"] == "anomaly"]
    assert editions == ["2026-10", "2026-11", "2026-11"]
    assert find_cell(card, "one", "fishyscapes-v3-2026-11", "average_precision", "msp") is not None
    rows = {
        (cell["model"], cell["scorer"]) for cell in card["cells"] if cell["metric"] == "average_precision"
    }
    assert {("one", scorer) for scorer in fishyscapes.SCORERS} | {
        ("ensemble", "mutual-information"),
        ("random", "random"),
    } <= rows
    chance, drawn = (
        find_cell(card, model, "fishyscapes-v2-2026-10", "average_precision", "random")
        for model in ("random", "one")
    )
    assert chance is not None
    assert drawn is not None
    assert drawn["value"] == pytest.approx(chance["value"], rel=0.1)  # AP of chance is the share of anomalies


def test_every_method_of_s4_is_trained_or_fitted_searched_and_judged(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # six networks of one step: starting processes takes longer
    monkeypatch.setattr(fs, "predict", partial(fs.predict, engine="local"))
    study, few = (
        str(tmp_path / "study"),
        fs.options.TrainingPlan(steps=1, batch=2, crop="64x64", size="64x64", validate_every=0),
    )
    fishyscapes.base(study, str(root / "cityscapes"), train=True)
    fishyscapes.static(study, None, frames=2)
    fishyscapes.teaching(study, 2)
    (tmp_path / "other").mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    assert cv2.imwrite(str(tmp_path / "other" / "noise.png"), noise)
    models = fishyscapes.train(study, "segformer-b0", few, str(tmp_path / "other"))
    assert [*models] == ["base", "bayesian", *fishyscapes.LOSSES, fishyscapes.PASTED]
    quick = fs.options.MethodOptions(steps=2, blocks=1, width=4, epsilon=0.0)
    block = fs.options.MethodOptions(steps=2, width=4, batch=1)
    card = fishyscapes.rows(study, models, quick, fs.options.FitData(keep_embeddings=600), block).document
    rows = {
        (cell["model"], cell["scorer"]) for cell in card["cells"] if cell["metric"] == "average_precision"
    }
    flows = ["flow-minimum", "flow-logistic"]
    of_base = [*fishyscapes.SCORERS, *fishyscapes.METHODS, *flows, "resynthesis", "fusion"]
    assert {("base", scorer) for scorer in of_base} <= rows
    trained = {**fishyscapes.LOSSES, fishyscapes.PASTED: ["outlier", "outlier-msp"]}
    assert {(name, scorer) for name, scorers in trained.items() for scorer in scorers} <= rows
    assert {("bayesian", scorer) for scorer in fishyscapes.MEMBERS} <= rows
    # Table 3
    errors = {(cell["model"], cell["scorer"]) for cell in card["cells"] if cell["metric"] == "error_ap"}
    assert rows - errors == {("random", "random"), ("void-class", "void")}
    flags = {row["name"]: row["flags"] for row in card["models"]}
    assert flags["dirichlet"] == ["retrained", "trained-with-ood"]
    (base,) = [row for row in card["models"] if row["name"] == "base"]
    flags = {row["scorer"]: row["flags"] for row in base["methods"]}
    assert flags["fusion"][0] == "trained-with-ood"
    assert (flags["resynthesis"], flags["flow-logistic"]) == ([], ["tuned-with-ood"])
    # what each took
    told = Path(study, "reliability", "table-s4.csv").read_text().splitlines()
    *_, minutes, _, _, milliseconds, _, _ = told[0].split(",")
    assert (minutes, milliseconds) == ("minutes to train or fit", "ms an image")
    for line in told[2:]:
        assert all(float(line.split(",")[k]) > 0 for k in (-6, -3)), line


@pytest.mark.parametrize(
    ("recipe", "words"),
    [(reliability, []), (reliability, ["study", "kitti", "data", "a=b"]), (fishyscapes, ["--help"])],
)
def test_a_recipe_says_how_it_is_run(recipe: ModuleType, words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^usage: python -m faultscape\.recipes\.\w+ STUDY"):
        recipe.main(words)
