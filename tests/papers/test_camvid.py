"""S0 on real networks: the verbs' line on CamVid equals an implementation of eqs. 1-10 that shares no code
with it.
"""

from __future__ import annotations

import json
from pathlib import Path

import mad_reference as reference
import numpy as np
import pytest

import faultscape as fs
from faultscape.ranking.agreement import spearman
from faultscape.reading.study import Study

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("data")]


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    for name in ("camvid", "camvid-zoo"):
        if not (data / name).is_dir():
            pytest.skip(f"no {name} in {data}")
    root = tmp_path_factory.mktemp("camvid")
    study = str(root / "study")
    fs.collect(study, str(data / "camvid" / "test.txt"), classes="camvid")
    zoo = {p.name: str(p / "labels") for p in sorted((data / "camvid-zoo").iterdir()) if p.is_dir()}
    fs.predict(study, zoo)
    fs.compare(study)
    fs.scale(str(data / "camvid" / "trainannot"), classes="camvid", output=str(root / "scale.json"))
    for concordance in ("miou", "fwiou", "mpa"):
        fs.select(
            study,
            as_=concordance,
            maps=fs.options.MapRules(concordance=concordance, scale=str(root / "scale.json")),
            sampling=fs.options.Sampling(keep_duplicates=True),
        )
    fs.label.import_(study, str(data / "camvid" / "testannot"))
    return study


@pytest.fixture(scope="module")
def expected(data: Path) -> dict[str, dict]:
    maps, truth, names, scale = reference.camvid(data.resolve())
    counted = reference.tables(maps, truth, 11)
    return {
        name: (
            reference.competition(maps, truth, 11, scale, concordance=name, counted=counted)
            | {"names": names}
        )
        for name in ("miou", "fwiou", "mpa")
    }


@pytest.mark.parametrize("concordance", ["miou", "fwiou", "mpa"])
def test_slots_matrices_and_scores_equal_the_reference(
    study: str, expected: dict[str, dict], concordance: str
) -> None:
    from faultscape.study.tables.selections import read_selection

    theirs = expected[concordance]
    slots, _ = read_selection(Path(study), concordance)
    classes = fs.classes.resolve("camvid").names
    mine = {(r.defender, r.attacker, r.class_, r.image): r.concordance for r in slots.chosen}
    wanted = {
        (d, a, classes[y] if isinstance(y, int) else y, image): value
        for d, a, y, image, value in theirs["slots"]
    }
    assert mine.keys() == wanted.keys()
    assert all(abs(mine[key] - wanted[key]) < 1e-9 for key in mine)

    standings = fs.rank(study, selection=concordance)
    for key, name in (("A", "aggressiveness"), ("R", "resistance")):
        assert np.abs(np.array(standings.matrices[name]) - theirs[key]).max() < 1e-9
    for name, ranking in standings.rankings.items():
        want = theirs["scores"][name]
        want = want if isinstance(want, dict) else dict(zip(standings.models, want, strict=True))
        assert max(abs(want[m] - ranking.scores[m]) for m in standings.models) < 1e-6, name
    written = json.loads((Path(study) / f"standings-{concordance}.json").read_text())
    assert written["labels"]["used"] == len(slots.images)


def test_the_known_figures_of_this_data_are_reached(study: str) -> None:
    from faultscape.reading.evidence import accuracies
    from faultscape.study.tables.selections import read_selection

    slots, _ = read_selection(Path(study), "miou")
    assert len(slots.chosen) == 846
    assert len(slots.images) == 76
    assert 10 * 9 * 11 - 846 == 144
    standings = fs.rank(study, selection="miou", against=["fwiou", "mpa"])
    _, every = accuracies(Study(Path(study)), standings.models, "labels", slots.definition)
    assert every.shape == (10, 233)
    assert every.max() < 0.585  # no per-image mIoU exceeds it
    whole = every.mean(axis=1)
    found = {
        name: round(float(spearman([r.scores[m] for m in standings.models], whole)), 3)
        for name, r in standings.rankings.items()
    }
    assert found["reuse_mean"] == 0.988
    assert found["aggressiveness"] == 0.952
    assert found["resistance"] == 0.939
    assert 0.8 < standings.against["fwiou"].spearman["aggressiveness"] <= 1
    assert 0 < standings.against["mpa"].image_overlap < 1


def test_the_quartiles_of_the_voc_train_masks_equal_those_computed_elsewhere(data: Path) -> None:
    voc = data / "voc2012"
    if not voc.is_dir():
        pytest.skip(f"no voc2012 in {data}")
    ids = (voc / "ImageSets" / "Segmentation" / "train.txt").read_text().split()
    from faultscape.formats.label_maps import read_map

    made = fs.selection.scale(
        (read_map(voc / "SegmentationClass" / f"{id_}.png") for id_ in ids), classes="voc"
    )
    theirs = json.loads((voc / "scale_quartiles_train.json").read_text())["classes"]
    rows = {
        name: (n, a, b)
        for name, n, a, b in zip(made.names, made.n_images, made.t_min, made.t_max, strict=True)
    }
    assert len(theirs) == 20
    for name, entry in theirs.items():
        n, low, high = rows[name]
        assert (n, low, high) == (
            entry["n_images"],
            pytest.approx(entry["t_min"], abs=1e-12),
            pytest.approx(entry["t_max"], abs=1e-12),
        )
