"""`reliability --submission`: a program is run, checked, judged, and stands on the card with what it could
see, what it declares and what became of its claims.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from submitted_programs import ANSWERS, pixels, writes

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.metrics import detection
from faultscape.reporting.reliability.document import Card, find_cell
from faultscape.study.settings import read_settings
from faultscape.study.tables import outputs
from faultscape.study.tables.logs import read_failures
from made_blends import blended, corpus_with_void, few_objects, maps_of, rows, squares
from refusals import refused, refused_line, typed

SET = "fishyscapes-v2-2026-01"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("submissions")


@pytest.fixture(scope="module")
def study(folder: Path) -> str:
    """A study with two editions, that judged a submission called red once."""
    corpus = corpus_with_void(folder)
    place = str(made.collected(corpus, folder / "study", shard_size=8))
    fs.label.import_(place, str(corpus.truth))
    cutouts = squares(folder / "cutouts", "bird", "horse")
    for _ in few_objects():
        blended(place, objects=str(cutouts), edition="2026-01")
        blended(place, objects=str(cutouts), edition="2026-06", seed=5)
    submission = fs.options.Submission(
        f"exec:{pixels(folder)}", "red", ood_data="COCO", publication="https://example.org/red"
    )
    fs.reliability(place, engine="local", submission=submission)
    return place


def card(study: str, out: str = "reliability") -> Card:
    return json.loads(Path(study, out, "reliability.json").read_text())


def value(study: str, metric: str, out: str = "reliability") -> float:
    cell = find_cell(card(study, out), "red", SET, metric, "submitted")
    assert cell is not None
    assert cell["value"] is not None
    return cell["value"]


@pytest.mark.slow
def test_its_numbers_are_those_of_its_own_scores(study: str) -> None:
    anomalies = maps_of(study, SET, "anomaly")
    assert len(anomalies) == 5
    stored = [
        outputs.read_kept(Path(study), "red", "doubt-submitted", n)
        for n in sorted({row.shard for row in rows(study, SET)})
    ]
    scores = {id_: values for of_shard in stored for id_, (values,) in of_shard if id_ in anomalies}
    found = detection(np.stack([scores[id_] for id_ in anomalies]), np.stack([*anomalies.values()]))
    assert value(study, "average_precision") == pytest.approx(found.average_precision, abs=1e-3)
    assert value(study, "fpr95") == pytest.approx(found.fpr95, abs=1e-3)
    assert find_cell(card(study), "red", "main", "error_auroc", "submitted") is not None
    assert find_cell(card(study), "red", "main", "miou") is not None


def test_the_entry_and_the_card_say_what_it_declares_and_what_it_could_see(study: str) -> None:
    options = read_settings(Path(study)).models["red"].options
    assert (options["ood_data"], options["publication"]) == ("COCO", "https://example.org/red")
    (model,) = [model for model in card(study)["models"] if model["name"] == "red"]
    assert model["flags"][:1] == ["trained-with-ood (declared)"]
    assert (model["declared"], model["publication"]) == ("COCO", "https://example.org/red")
    assert (model["hidden"], model["open"]) == (options["hidden"], options["open"])
    assert model["open"][-1] == "other files of this machine"
    assert not card(study)["gaps"]


def test_claims_are_confirmed_or_end_the_line_with_status_2(
    study: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ap, fpr = value(study, "average_precision"), value(study, "fpr95")
    line = typed(
        "reliability {study} --engine local --submission exec:{place} --submission-name red",
        study=study,
        place=pixels(folder),
    )
    monkeypatch.setattr(
        "faultscape.process.child_process.run", lambda *_, **__: pytest.fail("its answers are there already")
    )
    assert main([*line, "--claims", f"{SET}:{ap + 0.01:.9f}:{fpr - 0.01:.9f}"]) == 0
    told = capsys.readouterr().out
    assert (
        f"red: claims AP {ap + 0.01:.4f} (measured {ap:.4f}) and FPR95 {fpr - 0.01:.4f} (measured {fpr:.4f})"
        f" on {SET}: confirmed" in told
    )
    assert "red: declares unknown objects in training: COCO; https://example.org/red" in told
    assert main([*line, "--claims", f"{SET}:{ap}:{fpr + 0.0101}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("faultscape: red does not meet its claims: it claims AP")
    assert said.endswith(f"on {SET}: not within 0.01; the card is in {Path(study, 'reliability')}\n")
    assert main(["reliability", study, "--engine", "local"]) == 0  # nothing is claimed on this line
    (model,) = [model for model in card(study)["models"] if model["name"] == "red"]
    assert "claims not confirmed" in model["flags"]
    (claim,) = model["claims"]
    assert (claim["accepted"], claim["condition"], claim["measured_fpr95"]) == (False, SET, fpr)


@pytest.mark.slow
def test_a_claim_of_images_that_it_left_out_is_not_confirmed(study: str, folder: Path) -> None:
    one = "if len(shown) == 5: os.remove(outward + '/0003_anomaly.npy')\n"
    picky = fs.options.Submission(
        f"exec:{writes(folder / 'picky', ANSWERS + one)}", "picky", ood_data="None", claims=[f"{SET}:0:1"]
    )
    with refused(fs.errors.RefusedError, f"claims AP .* on {SET}: it left out 1 image; the card is in"):
        fs.reliability(study, engine="local", models=["picky"], submission=picky)
    assert {failure.name for failure in read_failures(Path(study))} == {"picky"}
    assert card(study)["models"][0]["flags"] == ["claims not confirmed"]
    fs.predict(study, remove=["picky"])


def test_a_refused_submission_leaves_no_model_and_no_card(study: str, folder: Path) -> None:
    bad = f"exec:{writes(folder / 'bad', ANSWERS + 'sys.exit(7)')}"
    assert "is refused: it exited with status 7" in refused_line(
        "reliability", study, "--submission", bad, "--output", str(folder / "out")
    )
    assert "submission" not in read_settings(Path(study)).models
    assert not (folder / "out").exists()


def test_editions_make_a_leaderboard_which_goes_with_them(study: str, folder: Path) -> None:
    fs.reliability(study, engine="local", output=str(folder / "board"))
    page = (folder / "board" / "leaderboard.html").read_text()
    assert "red, submitted, trained with unknown objects" in page
    assert f"<td>{value(study, 'average_precision', str(folder / 'board')):.3f}</td>" in page
    fs.collect(study, remove=["fishyscapes-v2-2026-06/*"])
    fs.reliability(study, engine="local", output=str(folder / "board"))
    assert not (folder / "board" / "leaderboard.html").exists()
