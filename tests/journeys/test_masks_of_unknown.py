"""predict --mask-unknown: maps that are void from the threshold of a false-alarm rate on, as a model of their own,
and lines that are refused before anything runs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.maps import runs
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus
from networks_of_tests import colour_network
from refusals import refused_line, told, typed

WITHHELD = "sky"
WEIGHTS = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3


def study_of(root: Path, *, labels: bool = True) -> tuple[str, str]:
    """Eight images, four others of role validation, and a network; with labels or without."""
    place = made.with_validation(root, (8, 4))
    if labels:
        fs.label.import_(place, str(root / "labels"))
    return place, str(colour_network(root / "net.onnx", WEIGHTS))


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """A study whose network was masked at 10 % false alarms, and what was said."""
    place, net = study_of(tmp_path_factory.mktemp("masked"))
    line = typed(
        "predict {place} net={net} --scorer entropy --mask-unknown .1 --engine local", place=place, net=net
    )
    return place, told(*line, "-q")


def stored(place: str, name: str) -> dict[str, np.ndarray]:
    where = label_maps.predictions(Path(place), name)
    shards = {image.shard for image in read_corpus(Path(place))}
    return {id_: runs.decode(code) for k in shards for id_, code in label_maps.read_maps(where, k).items()}


def doubt_of(place: str) -> dict[str, np.ndarray]:
    shards = {image.shard for image in read_corpus(Path(place))}
    held = [outputs.read_kept(Path(place), "net", "doubt-entropy", shard) for shard in shards]
    return {id_: of for rows in held for id_, (of,) in rows}


@pytest.mark.slow
def test_what_trained_an_exported_network_trained_its_masks(tmp_path: Path) -> None:
    place, net = study_of(tmp_path)
    image = read_corpus(Path(place))[2]
    record = {"provenance": {"trained_on": {image.id: image.key}}}
    (Path(net).parent / "network.json").write_text(json.dumps(record))
    told(
        *typed(
            "predict {place} net={net} --scorer entropy --mask-unknown .1 --engine local -q",
            place=place,
            net=net,
        )
    )
    assert fs.Study(place).trained_on("net") == fs.Study(place).trained_on("net-masked") == {image.id}


def test_masks_are_the_maps_void_from_the_threshold_on(masked: tuple[str, list[str]]) -> None:
    place, _ = masked
    root = Path(place)
    about = json.loads((root / "masks" / "net-masked.json").read_text())
    maps, masks, doubt = stored(place, "net"), stored(place, "net-masked"), doubt_of(place)
    assert set(masks) == set(maps)
    for id_, map_ in maps.items():
        unknown = doubt[id_] >= about["score"]
        assert np.array_equal(masks[id_], np.where(unknown, 255, map_)), id_
        file = cv2.imread(str(root / "masks" / "net-masked" / f"{id_}.png"), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(file, masks[id_])
    truth = {
        id_: runs.decode(code)
        for shard in {image.shard for image in read_corpus(root)}
        for id_, code in label_maps.read_maps(label_maps.truth(root, "labels"), shard).items()
    }
    ids = [image.id for image in read_corpus(root) if image.role == "validation"]
    known = np.concatenate([doubt[id_][truth[id_] != 255] for id_ in ids])
    assert 0.05 < (known >= about["score"]).mean() <= 0.1
    assert (about["images"], about["scorer"], about["rate"]) == (4, "entropy", 0.1)


def test_the_card_learns_the_same_threshold_and_counts_void_as_missed(masked: tuple[str, list[str]]) -> None:
    place, said = masked
    about = json.loads((Path(place) / "masks" / "net-masked.json").read_text())
    card = fs.reliability(place, engine="local", worst=0).document
    (row,) = [one for one in card["thresholds"] if one["rate"] == 0.1]
    assert row["score"] == pytest.approx(about["score"], rel=1e-11)
    shown = f"net-masked: void from entropy {about['score']:.5g} on, at most 10 % of the known pixels of 4"
    assert any(shown in line for line in said)
    assert "net-masked" in fs.Study(place).models
    miou = {
        c["model"]: c["value"] for c in card["cells"] if (c["metric"], c["condition"]) == ("miou", "main")
    }
    assert set(miou) == {"net", "net-masked"}


@pytest.fixture(scope="module")
def withheld(masked: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The study in another place, where a class is withheld, masked again at 5 %."""
    place = str(shutil.copytree(masked[0], tmp_path_factory.mktemp("withheld") / "moved"))
    (Path(place) / "masks" / "net-masked" / "gone.png").write_bytes(b"")
    fs.stress.holdout(place, classes=[WITHHELD])
    net = str(Path(masked[0]).parent / "net.onnx")
    how = {"scorer": "entropy", "scoring": fs.options.Scoring(mask_unknown=0.05), "engine": "local"}
    again = fs.predict(place, {"net": net}, **how)
    assert again.models["net-masked"] == (12, 0)
    return place


def test_masked_again_at_another_rate_or_in_a_study_that_moved_the_old_masks_are_gone(
    masked: tuple[str, list[str]], withheld: str
) -> None:
    before, now = (
        json.loads((Path(of) / "masks" / "net-masked.json").read_text()) for of in (masked[0], withheld)
    )
    assert now["score"] > before["score"]
    shares = [
        np.mean([(m == 255).mean() for m in stored(of, "net-masked").values()])
        for of in (masked[0], withheld)
    ]
    assert shares[1] < 0.8 * shares[0]
    assert not (Path(withheld) / "masks" / "net-masked" / "gone.png").exists()


def test_pixels_of_a_withheld_class_are_unknown_to_the_masks_and_to_the_card_alike(withheld: str) -> None:
    root = Path(withheld)
    about = json.loads((root / "masks" / "net-masked.json").read_text())
    card = fs.reliability(withheld, engine="local", worst=0, models=["net"]).document
    (row,) = [one for one in card["thresholds"] if one["rate"] == 0.05]
    assert (row["scorer"], row["images"]) == (about["scorer"], about["images"])
    assert row["score"] == pytest.approx(about["score"], rel=1e-11)
    classes = fs.Study(withheld).classes
    out = classes.ids[classes.names.index(WITHHELD)]
    truth = {
        id_: runs.decode(code)
        for shard in {image.shard for image in read_corpus(root)}
        for id_, code in label_maps.read_maps(label_maps.truth(root, "labels"), shard).items()
    }
    masks, doubt = stored(withheld, "net-masked"), doubt_of(withheld)
    ids = [image.id for image in read_corpus(root) if image.role == "validation"]

    def shares(known) -> tuple[float, float]:
        """The shares of known pixels that are void in the masks, and that the card's threshold flags."""
        inside = {id_: known(truth[id_]) for id_ in ids}
        void = np.concatenate([masks[id_][inside[id_]] == 255 for id_ in ids])
        flagged = np.concatenate([doubt[id_][inside[id_]] >= row["score"] for id_ in ids])
        return void.mean(), flagged.mean()

    assert shares(lambda of: (of != 255) & (of != out)) == pytest.approx((0.05, 0.05), abs=0.005)
    # the class would have moved the threshold
    assert shares(lambda of: of != 255)[0] > 0.06


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "5 --scorer msp",
            "--mask-unknown 5: is not a share of false alarms between 0 and 1, for example .05",
        ),
        (
            ".05 --scorer msp --scorer entropy",
            "needs one --scorer, whose threshold is learnt; got msp, entropy",
        ),
        (".05", "needs one --scorer, whose threshold is learnt; got none"),
        (".05 --scorer msp --measure", "needs the doubt of every pixel, which --measure does not keep"),
        (".05 --scorer msp --shard 1/2", "run it without --shard"),
    ],
)
def test_a_line_that_cannot_mask_is_refused(tmp_path: Path, words: str, says: str) -> None:
    assert says in refused_line("predict", tmp_path, "net=net.onnx", "--mask-unknown", *words.split())


def test_without_labels_to_learn_from_or_with_its_name_taken_nothing_runs(tmp_path: Path) -> None:
    place, net = study_of(tmp_path, labels=False)
    line = ("predict", place, f"net={net}", "--scorer", "msp", "--mask-unknown", 0.05, "--engine", "local")
    why = refused_line(*line)
    assert "no image of role validation has labels to learn a threshold from" in why
    fs.label.import_(place, str(tmp_path / "labels"))
    told("predict", place, f"net-masked={net}", "--engine", "local")
    assert "net-masked is already a model of the study" in refused_line(*line)
    assert [*fs.Study(place).models] == ["net-masked"]
