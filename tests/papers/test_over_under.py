"""S1 on real networks: the recipe, its Table I, its sentences, and the curves of Fig. 5 on the CamVid test
split.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import figure_3
import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.recipes import over_under
from faultscape.reporting.measure.leaders import standings
from faultscape.reporting.measure.views import disagreements
from faultscape.verbs.verb import group_options

pytestmark = pytest.mark.slow

MODELS = ("fcn", "unet-drop", "pixel")


@pytest.fixture(scope="module")
def measured(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    zoo, camvid = data / "camvid-zoo", data / "camvid"
    sure = {name: str(zoo / name / "confidence") for name in ("fcn", "unet-drop")}
    out = str(tmp_path_factory.mktemp("s1"))
    return over_under.table_1(
        str(camvid / "testannot"),
        str(camvid / "classes.json"),
        {n: str(zoo / n) for n in MODELS},
        sure,
        output=out,
    )


def test_pixel_metrics_are_those_the_networks_came_with(measured: Any, data: Path) -> None:
    import json

    published = json.loads((data / "camvid-zoo" / "results.json").read_text())
    for name in MODELS:
        assert measured.models[name]["miou"]["value"] == pytest.approx(published[name]["test_mIoU"], abs=6e-5)
        assert measured.models[name]["pixel_accuracy"]["value"] == pytest.approx(
            published[name]["test_pixel_accuracy"], abs=6e-5
        )
        classes = list(measured.models[name]["miou"]["per_class"].values())
        assert classes == pytest.approx(published[name]["test_IoU"], abs=6e-5)


def test_table_1_holds_every_row_as_an_error(measured: Any) -> None:
    rows = dict(over_under.rows_of_table_1(measured.models))
    assert tuple(rows) == over_under.TABLE_1
    assert all(0 <= value <= 1 for row in rows.values() for value in row.values())
    assert rows["miou"]["pixel"] > rows["miou"]["fcn"]  # local colour alone is the worst network
    assert rows["rom"]["pixel"] > 3 * rows["rom"]["fcn"]  # and it tears everything apart


def test_the_curves_of_figure_5_fall_as_regions_become_unknown(measured: Any) -> None:
    assert set(over_under.areas(measured.document)) == {"fcn", "unet-drop"}
    for name in ("fcn", "unet-drop"):
        curve = measured.document["curves"][name]["confidence"]
        assert (curve["frames"], curve["without"]) == (59, 174)
        assert curve["rom"][0] > curve["rom"][60] > curve["rom"][80]
        assert curve["rum"][0] > curve["rum"][80]
        assert curve["iou"][0] > curve["iou"][95]
        assert curve["area"] > 0


def test_a_sentence_says_where_the_worst_network_loses(measured: Any) -> None:
    said = over_under.explained(measured.document, "pixel")
    gaps = [gap for gap in measured.document["gaps"] if gap["model"] == "pixel"]
    assert gaps[0]["low"] > 0
    assert gaps[0]["class"] in said
    assert gaps[0]["best"] in said
    assert "pixel" in over_under.shown("camvid", measured.document)


def test_a_network_that_hardly_says_pedestrian_trails_until_both_are_looked_at_where_both_have_a_value(
    data: Path, tmp_path: Path
) -> None:
    """RUM of pedestrians is small: unet has it in 197 images and unet-drop in 16, so that unet's mean is
    smaller without a region more kept apart.
    """
    camvid, models = (
        data / "camvid",
        {name: str(data / "camvid-zoo" / name) for name in ("unet", "unet-drop")},
    )
    options = {"classes": str(camvid / "classes.json"), "output": str(tmp_path / "out")}
    found = fs.measure(
        camvid / "testannot", models, worst=0, **group_options(fs.measure, {**options, "boundaries": False})
    ).document
    row = next(r for r in found["paired"] if r["metric"] == "rum")
    assert row["difference_all"] == pytest.approx(-0.0105, abs=6e-5)
    assert row["high_all"] < 0
    assert row["difference"] == pytest.approx(0.0041, abs=6e-5)
    assert row["low"] < 0 < row["high"]
    said = (
        "RUM: unet leads unet-drop by 0.0105 over all that each has, and unet-drop leads unet by 0.0041 where"
        " both have a value."
    )
    assert said in disagreements(found, "rum")
    assert standings(found, "rum") == {"unet-drop": "best", "unet": "tie"}


def test_who_never_says_a_hard_class_leads_only_over_all_that_each_has(tmp_path: Path) -> None:
    """Class 2 is run together by the one network that says it; where both have a value that network is the
    better.
    """
    for k in range(8):
        truth = np.zeros((8, 24), np.uint8)
        for left in (2, 8, 14, 20):
            truth[1:4, left : left + 3] = 1
        truth[5:7, 2:8], truth[5:7, 10:22] = 2, 2
        says, never = truth.copy(), np.where(truth == 2, 0, truth).astype(np.uint8)
        says[5:7, 8:10] = 2
        if k % 3:
            never[2, 2:11] = 1  # two of four
        for name, label_map in (("truth", truth), ("says", says), ("never", never)):
            made.write(tmp_path / name / f"{k}.png", label_map)
    models = {name: str(tmp_path / name) for name in ("says", "never")}
    out = str(tmp_path / "out")
    found = fs.measure(
        tmp_path / "truth",
        models,
        classes=3,
        output=out,
        worst=0,
        definitions=fs.options.Definitions(boundaries=False),
    ).document
    row = next(r for r in found["paired"] if r["metric"] == "rum")
    assert (row["first"], row["second"]) == ("says", "never")
    assert row["low_all"] > 0 > row["high"]
    assert standings(found, "rum") == {"says": "best"}
    assert [text for text in disagreements(found, "rum") if text.startswith("RUM: never leads says by")]


def test_the_terms_of_the_equations_are_those_of_figure_3() -> None:
    terms = over_under.equations(*figure_3.panels()["h"], 2, background=0)
    assert [int(terms[sign][1]) for sign in ("N", "M", "G_O", "S_O", "m_o")] == [2, 3, 1, 3, 2]
    assert terms["ROM"][1] == pytest.approx(np.tanh(terms["ROR"][1] * terms["m_o"][1]))


def test_ten_networks_are_ordered_alike_by_the_rooms_on_arrays(data: Path) -> None:
    """A tenth of the frames, straight from arrays: ROM and RUM of the verb are those of the room."""
    from faultscape.classes.class_lists import resolve
    from faultscape.formats.label_maps import read_map

    classes = resolve(str(data / "camvid" / "classes.json"))
    files = sorted((data / "camvid-zoo" / "fcn" / "labels").glob("*.png"))[::23]
    truth = [read_map(data / "camvid" / "testannot" / f.name) for f in files]
    for name in ("fcn", "psp"):
        found = fs.metrics.regions(
            truth, [read_map(data / "camvid-zoo" / name / "labels" / f.name) for f in files], classes
        )
        assert 0 < found.rom < found.rum < 1
