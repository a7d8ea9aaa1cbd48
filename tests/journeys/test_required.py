"""reliability --require: what is met ends well, what is missed or not known ends with exit status 3; and what
the card recommends from validation images.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.maps import runs
from faultscape.metrics.scorers import rounded, scorer_named
from faultscape.metrics.scores.histogram import places_of
from faultscape.reporting.reliability.document import find_cell
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.stress_sets import labels_folder
from made_blends import SMALL, squares
from networks_of_tests import colour_network
from refusals import refused_line

RATES = (0.01, 0.05, 0.1)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Eight photos, and eight others for validation, of both of which squares are blended into copies; a
    network with two scorers.
    """
    root = tmp_path_factory.mktemp("required")
    place = made.with_validation(root, (8, 8), shape=(96, 128), role="test")
    fs.label.import_(place, str(root / "labels"))
    objects = str(squares(root / "objects", "box"))
    for name in ("main", "val"):
        fs.stress.blend(
            place, preset="fishyscapes-v1", objects=objects, set_=name, blending=SMALL, engine="local"
        )
    weights = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32) * 3
    net = str(colour_network(root / "net.onnx", weights))
    fs.predict(place, {"net": net}, scorer=["msp", "energy"], engine="local")
    return place


def asked(study: str, *requirements: str, output: Path) -> tuple[int, dict]:
    """The exit status of a card with requirements, and the card."""
    words = [word for text in requirements for word in ("--require", text)]
    line = ["reliability", study, "--worst", "0", "--engine", "local", "-o", str(output), *words]
    return main([*line]), json.loads((output / "reliability.json").read_text())


@pytest.mark.slow
def test_what_is_met_ends_well_and_what_is_not_ends_with_3(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, card = asked(study, "ap>=0", "msp: fpr95 <= 1", output=tmp_path)
    assert status == 0
    assert capsys.readouterr().out.startswith("requirements: 2 met\n")
    assert next(iter(card)) == "requirements"
    assert [row["condition"] for row in card["requirements"]] == ["fishyscapes-v1"] * 2  # none of validation
    page = (tmp_path / "report.html").read_text()
    assert page.index("2 met") < page.index("<h1>")
    assert "requirements.csv" in {path.name for path in tmp_path.iterdir()}
    for text, standing in (("miou>=.999", "missed"), ("mce<=2", "not known")):
        status, card = asked(study, "ap>=0", text, output=tmp_path)
        assert status == 3
        assert [row["standing"] for row in card["requirements"]] == ["met", standing]
    value = next(row["value"] for row in asked(study, "ap>=0", output=tmp_path)[1]["requirements"])
    status, card = asked(study, f"ap>={value:.3f}", output=tmp_path)  # which the interval includes
    assert (status, card["requirements"][0]["standing"]) == (3, "not known")
    capsys.readouterr()
    line = ["reliability", study, "--worst", "0", "--engine", "local", "-o", str(tmp_path), "--json", "-q"]
    assert main([*line, "--require", "miou>=.999"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["exit_status"], said["requirements"][0]["standing"]) == (3, "missed")
    status, card = asked(study, output=tmp_path)
    assert status == 0
    assert "requirements" not in card
    assert "requirements.csv" not in {path.name for path in tmp_path.iterdir()}


def test_a_wrong_requirement_is_one_line_and_makes_no_card(study: str, tmp_path: Path) -> None:
    line = ["reliability", study, "-o", tmp_path / "out", "--require"]
    assert "is not NUMBER>=BOUND" in refused_line(*line, "ap")
    assert "Did you mean 'energy'?" in refused_line(*line, "enrgy: ap>=.5")
    assert not (tmp_path / "out").exists()


def test_the_scorer_is_chosen_on_validation_images_and_thresholds_are_learnt_from_them(
    study: str, tmp_path: Path
) -> None:
    card = fs.reliability(study, engine="local", worst=0, output=str(tmp_path)).document
    aps = {
        (scorer, set_): find_cell(card, "net", set_, "average_precision", scorer)
        for scorer in ("msp", "energy")
        for set_ in ("val-fishyscapes-v1", "fishyscapes-v1")
    }
    (row,) = card["recommended"]
    best = max(("msp", "energy"), key=lambda scorer: aps[scorer, "val-fishyscapes-v1"]["value"])
    assert (row["scorer"], row["sets"]) == (best, ["val-fishyscapes-v1"])
    assert row["average_precision"] == aps[best, "val-fishyscapes-v1"]["value"]
    assert {c["name"] for c in card["conditions"] if c.get("validation")} == {"val-fishyscapes-v1"}
    root = Path(study)
    ids = {name: [i.id for i in read_corpus(root) if i.set == name] for name in ("val", "fishyscapes-v1")}
    truth = {}
    for folder in (label_maps.truth(root, "labels"), labels_folder(root, "fishyscapes-v1") / "anomaly"):
        for shard in {i.shard for i in read_corpus(root)}:
            truth |= {id_: runs.decode(code) for id_, code in label_maps.read_maps(folder, shard).items()}
    for scorer in ("msp", "energy"):
        doubt = {}
        for shard in {i.shard for i in read_corpus(root)}:
            held = outputs.read_kept(root, "net", f"doubt-{scorer}", shard)
            doubt |= {id_: of for id_, (of,) in held}
        known = np.concatenate([doubt[id_][truth[id_] != 255] for id_ in ids["val"]])
        test = np.concatenate([doubt[id_][truth[id_] == 0] for id_ in ids["fishyscapes-v1"]])
        offset = read_settings(root).models["net"].options["offsets"].get(scorer, 0.0)
        rows = [one for one in card["thresholds"] if one["scorer"] == scorer]
        assert [one["rate"] for one in rows] == list(RATES)
        for one in rows:
            assert (known >= one["score"]).mean() <= one["rate"]
            scores = np.append(known, one["score"]).astype(np.float32)
            *places, at = places_of(rounded(scorer_named(scorer), scores, 5, offset))
            # one step lower is too low; photos without anomalies are counted in steps of 16 places
            assert np.mean(np.array(places) >= at - 16) > one["rate"]
            assert one["images"] == 8
            (on,) = one["on"]
            assert on["false_alarms"] == pytest.approx((test >= one["score"]).mean(), abs=1e-9)


@pytest.mark.slow
def test_maps_that_were_kept_and_are_only_measured_now_are_counted_in_one_run(
    study: str, tmp_path: Path
) -> None:
    place = str(shutil.copytree(study, tmp_path / "study"))
    net = str(Path(study).parent / "net.onnx")
    fs.reliability(place, engine="local", worst=0)  # counts what is stored
    fs.predict(place, {"net": net}, scorer=["msp", "energy", "entropy"], measure=True, engine="local")
    card = fs.reliability(place, engine="local", worst=0).document
    assert card["gaps"] == []
    found = {c["scorer"] for c in card["cells"] if c["metric"] == "average_precision" and c["model"] == "net"}
    assert found == {"msp", "energy", "entropy"}


def test_without_images_for_validation_nothing_is_recommended_and_the_card_says_so(tmp_path: Path) -> None:
    held = made.corpus(tmp_path / "made", images=8, models=1)
    place = str(made.collected(held, tmp_path / "study", shard_size=8))
    fs.label.import_(place, str(held.truth))
    fs.stress.holdout(place, classes=["car"])
    weights = np.random.default_rng(4).normal(size=(5, 3)).astype(np.float32)
    fs.predict(
        place, {"net": str(colour_network(tmp_path / "net.onnx", weights))}, scorer=["msp"], engine="local"
    )
    card = fs.reliability(place, engine="local", worst=0)
    assert [one["scorer"] for one in card.document["recommended"]] == [""]
    assert card.document["thresholds"] == []
    said = " ".join(repr(card).split())
    assert "no scorer is recommended for net: no set with anomalies is for validation" in said
