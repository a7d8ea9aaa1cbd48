"""select --discrepancy expected: uncalibrated without labels, calibrated by them, and the same again when it
is extended.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from faultscape.comparison import fit_temperature
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.collect import collect
from faultscape.verbs.label import import_
from faultscape.verbs.predict import predict
from faultscape.verbs.report import report
from faultscape.verbs.select import select
from faultscape.verbs.verb import group_options

CLASSES, IMAGES = ("cat", "dog", "car", "boat"), [f"p{k:02d}" for k in range(60)]
WAY = {"discrepancy": "expected", "confidence": 0.0, "cap": 60, "distance": "01"}


def said(model: int) -> np.ndarray:
    rng = np.random.default_rng(model)
    return rng.dirichlet(np.full(4, 0.7), 60).astype(np.float32)


def table(path: Path, model: int) -> str:
    lines = ["image,label,probability,label_2,probability_2,label_3,probability_3"]
    for image, row in zip(IMAGES, said(model), strict=True):
        named = [f"{CLASSES[k]},{row[k]:.6f}" for k in np.argsort(-row)[:3]]
        lines.append(",".join([image, *named]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def label(study: Path, path: Path, images: range) -> None:
    path.write_text("image,label\n" + "".join(f"{IMAGES[k]},{CLASSES[k % 4]}\n" for k in images))
    import_(str(study), str(path))


def rows(study: Path, name: str) -> list[tuple]:
    return [(r.model_a, r.model_b, r.place, r.image, r.distance) for r in read_selection(study, name)[0].rows]


@pytest.mark.slow
def test_labels_calibrate_what_is_chosen_and_later_ones_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    tables = {f"m{m}": table(tmp_path / f"{m}.csv", m) for m in range(3)}
    collect(str(study), tables["m0"], task="classification", classes=str(_classes(tmp_path)))
    predict(str(study), {m: tables[m] for m in ("m0", "m1")}, engine="local")

    label(study, tmp_path / "few.csv", range(19))
    capsys.readouterr()
    select(str(study), top=50, **group_options(select, {"spares": 0, **WAY}))
    assert (
        "expected discrepancy: not calibrated: m0, m1; calibration needs 20 labelled images"
        in capsys.readouterr().out
    )
    assert read_selection(study)[0].definition["temperatures"] == {"m0": "uncalibrated", "m1": "uncalibrated"}

    label(study, tmp_path / "more.csv", range(19, 40))
    (tmp_path / "discard.csv").write_text(f"image,reason\n{IMAGES[7]},no photo\n")
    import_(str(study), str(tmp_path / "discard.csv"))
    known = [k for k in range(40) if k != 7]
    select(str(study), as_="later", top=50, **group_options(select, {"spares": 0, **WAY}))
    fitted = read_selection(study, "later")[0].definition["temperatures"]
    for m in range(2):
        order = np.argsort(-said(m), axis=1)[known, :3]
        shares = np.round(np.take_along_axis(said(m)[known].astype(float), order, 1), 6).astype(np.float32)
        assert fitted[f"m{m}"] == pytest.approx(
            fit_temperature(order, shares, [{k % 4} for k in known], 4), rel=1e-5
        )
    assert (
        f"calibrated by labels, with temperatures m0 {fitted['m0']:.3g}, m1 {fitted['m1']:.3g}"
        in capsys.readouterr().out
    )
    assert rows(study, "later") != rows(study, "main")
    page = Path(report(str(study), selection="later").path).read_text()
    assert f"<dt>temperatures</dt><dd>m0 {fitted['m0']}, m1 {fitted['m1']}</dd>" in page
    assert any(r.label_a == r.label_b for r in read_selection(study, "later")[0].rows)

    label(study, tmp_path / "all.csv", range(40, 60))
    predict(str(study), {"m2": tables["m2"]}, engine="local")
    select(str(study), as_="later", top=60)
    select(str(study), as_="fresh", top=60, **group_options(select, {"spares": 0, **WAY}))
    now = read_selection(study, "later")[0].definition["temperatures"]
    assert {m: now[m] for m in fitted} == fitted
    anew = read_selection(study, "fresh")[0].definition["temperatures"]
    assert now["m2"] == anew["m2"]
    assert anew["m0"] != fitted["m0"]
    assert rows(study, "fresh") != rows(study, "later")

    predict(str(study), rename={"m0": "zero"}, engine="local")
    select(str(study), as_="later", top=70)
    assert read_selection(study, "later")[0].definition["temperatures"] == {
        "zero": now["m0"],
        "m1": now["m1"],
        "m2": now["m2"],
    }


def test_an_earlier_selection_is_extended_as_it_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    tables = {f"m{m}": table(tmp_path / f"{m}.csv", m) for m in range(2)}
    collect(str(study), tables["m0"], task="classification", classes=str(_classes(tmp_path)))
    predict(str(study), tables, engine="local")
    label(study, tmp_path / "labels.csv", range(40))
    select(str(study), top=3, **group_options(select, {"spares": 0, **WAY}))
    path = study / "selection.json"
    held = json.loads(path.read_text())
    del held["definition"]["temperatures"]
    path.write_text(json.dumps(held))
    capsys.readouterr()
    select(str(study), top=60)
    slots = read_selection(study)[0]
    assert "temperatures" not in slots.definition
    assert "calibrated" not in capsys.readouterr().out
    assert all(row.label_a != row.label_b for row in slots.rows if row.round == 2)


def _classes(root: Path) -> Path:
    (root / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    return root / "classes.txt"
