"""What people do wrong with made sets, what they are told, and that what they are told to do works."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import lying_depth
import made
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.stress_sets import read_stress
from faultscape.verbs.graph import nodes
from made import states
from made_blends import squares
from refusals import refused, refused_line, typed


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("mistakes"), images=5, models=2)


@pytest.fixture(scope="module")
def labelled(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = made.collected(corpus, tmp_path_factory.mktemp("labelled") / "study", shard_size=4)
    fs.label.import_(str(place), str(corpus.truth))
    return place


@pytest.fixture
def study(labelled: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(labelled, tmp_path / "study"))


@pytest.fixture(scope="module")
def cutouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return squares(tmp_path_factory.mktemp("cutouts"), "horse")


def corrupted(study: str, **more: Any) -> Any:
    return fs.stress.corrupt(
        study, **{"corruption": ["contrast"], "severities": "1,2", "engine": "local", **more}
    )


def blended(study: str, **more: Any) -> Any:
    return fs.stress.blend(
        study,
        **{
            "preset": "fishyscapes-v2",
            "engine": "local",
            "blending": fs.options.Blending(smallest=20),
            **more,
        },
    )


def test_a_damaged_sets_json_is_deleted_and_the_same_lines_bring_it_back(study: str) -> None:
    corrupted(study)
    file, rows = Path(study) / "sets.json", read_corpus(Path(study))
    before = file.read_bytes()
    file.write_bytes(before[:50])
    assert "delete it and run the lines of `faultscape stress`" in refused_line("status", study)
    file.unlink()
    (row,) = [node for node in nodes(Study(Path(study))) if node.artefact == "sets"]
    assert (row.state, row.line) == ("missing", "")
    assert row.words.endswith(" and 1 more set: made images")
    assert row.in_the_way.startswith("sets.json no longer describes this set")
    assert "run that `faultscape stress` line again" in refused_line(
        "stress", "fog", study, "--set", "contrast-1"
    )
    assert corrupted(study).new == 0
    assert file.read_bytes() == before
    assert read_corpus(Path(study)) == rows
    assert states(study)["stress"] == "done"


def test_objects_that_a_set_has_are_not_switched_off_in_silence(
    study: str, cutouts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blended(study, objects=str(cutouts))
    about = json.loads((Path(study) / "sets.json").read_text())["sets"]["fishyscapes-v2"]
    digests = about["parameters"]["objects"]
    (tmp_path / "off.csv").write_text(f"object\n{digests[0]}\n")
    line = typed(
        "stress blend {study} --preset fishyscapes-v2 --objects {cutouts} --smallest 20 --engine local",
        study=study,
        cutouts=cutouts,
    )
    without = ("--without", str(tmp_path / "off.csv"))
    said = refused_line(*line, *without)
    assert "1 object in it is part of" in said
    assert main([*line, *without, "--edition", "2"]) == 0
    assert said.strip().endswith(f"faultscape collect {study} --remove 'fishyscapes-v2/*'")
    assert main(["collect", study, "--remove", "fishyscapes-v2/*"]) == 0
    assert main([*line, *without]) == 0
    sets = json.loads((Path(study) / "sets.json").read_text())["sets"]
    assert (
        sets["fishyscapes-v2"]["parameters"]["objects"]
        == digests[1:]
        == sets["fishyscapes-v2-2"]["parameters"]["objects"]
    )
    assert main([*line, *without]) == 0  # as status names it
    capsys.readouterr()
    assert (
        main(
            typed("stress blend {study} --preset fishyscapes-v2 --smallest 5000 --engine local", study=study)
        )
        == 0
    )
    assert "--smallest chooses objects, but the set exists and keeps its own" in capsys.readouterr().out
    for file, said in (
        ("none.csv", "No such file or directory; expected switched-off.csv"),
        ("bad.csv", "expected a column object"),
    ):
        (tmp_path / "bad.csv").write_text("thing\n1\n")
        assert said in refused_line(*line, "--edition", "3", "--without", str(tmp_path / file))


@pytest.mark.slow
def test_maps_of_labels_are_not_taken_for_depth_of_blends(study: str, corpus: made.Corpus) -> None:
    blend = typed("blend {study} --preset fishyscapes-v2 --smallest 20 --fog 1", study=study)
    assert "has no 16 bits; expected depth as a 16-bit grey PNG of metres" in refused_line(
        "stress", *blend, "--depth", corpus.truth
    )
    assert states(study).get("stress") is None


def test_what_is_made_is_told_in_whole_numbers_and_without_zeros(
    study: str, cutouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = blended(study, objects=str(cutouts), frames=7)
    anomalous, known, _ = found.pixels["fishyscapes-v2"]
    assert f"{anomalous:,} anomalous and {known:,} known pixels" in repr(found)
    assert "horse 4\n" in capsys.readouterr().out  # none was left out
    assert "(5 images, 2 removed)" in repr(blended(study, frames=5))


def test_removing_a_parent_says_that_made_sets_become_stale(study: str, corpus: made.Corpus) -> None:
    corrupted(study)
    for dry_run in (True, False):
        said = repr(fs.collect(study, remove=[corpus.ids[0]], dry_run=dry_run))
        assert "  stale  sets of contrast-1: images of its source set were added, changed or removed" in said
    assert states(study)["stress"] == "stale"


@pytest.mark.slow
def test_holdouts_and_the_ego_vehicle_follow_a_renamed_class(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.stress.holdout(study, classes="car,tree", as_="two")
    blended(study, blending=fs.options.Blending(smallest=20, ego="car"))
    fs.predict(study, {name: str(path) for name, path in corpus.models.items()}, engine="local")
    part = fs.options.StudyPart(holdout="two")
    before = fs.measure(study, part=part, resamples=0, engine="local").models
    (tmp_path / "classes.json").write_text(corpus.classes.read_text().replace('"car"', '"auto"'))
    fs.collect(study, classes=str(tmp_path / "classes.json"))
    after = fs.measure(study, part=part, resamples=0, engine="local").models
    assert {name: of["miou"]["value"] for name, of in after.items()} == {
        name: of["miou"]["value"] for name, of in before.items()
    }
    assert fs.stress.holdout(study, classes=["auto", "tree"], as_="two").classes == ("auto", "tree")
    assert blended(study, blending=fs.options.Blending(smallest=20, ego="auto")).changed == 0
    assert states(study)["stress"] == "done"


@pytest.mark.slow
def test_a_model_without_maps_of_a_set_is_left_out_and_where_all_lack_them_predict_is_named(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8')\n")
    net = {"dark": f"{tmp_path / 'mine.py'}:dark"}
    fs.predict(study, {"folder": str(corpus.models["model-0"]), **net}, engine="local")
    corrupted(study)
    said = refused_line("measure", study, "--set", "contrast-1")
    line = f"faultscape predict {study} dark={net['dark']} --set contrast-1"
    assert f"--set contrast-1: no model has maps of it yet; run `{line}` (a folder of maps needs" in said
    assert main(line.split()[1:]) == 0
    assert main(fs.status(study).next.split()[1:]) == 0  # the sets that the line did not name
    measured = fs.measure(
        study, part=fs.options.StudyPart(set_=["contrast-1", "main"]), resamples=0, engine="local"
    ).document["datasets"]
    assert list(measured["contrast-1"]["models"]) == ["dark"]
    assert any(
        note.startswith("folder: no map of set contrast-1; left out")
        for note in measured["contrast-1"]["notes"]
    )
    assert sorted(measured["main"]["models"]) == ["dark", "folder"]
    said = refused_line("measure", study, "--set", "contrast-3")
    assert "...." not in said


@pytest.mark.slow
def test_options_that_are_passed_over_are_said(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    blend = ("blend", "--preset", "fishyscapes-v2", "--smallest", "20", "--engine", "local")
    corrupt = ("corrupt", "--corruption", "contrast", "--severities", "1")
    capsys.readouterr()
    assert main(["stress", *corrupt[:1], study, *corrupt[1:], "--move-labels"]) == 0
    assert (
        "note: --move-labels has no effect: no corruption of this line moves pixels"
        in capsys.readouterr().out
    )
    for ego, says in (("99", True), ("1", False)):
        assert main(["stress", "blend", study, *blend[1:], "--ego", ego, "--edition", f"ego{ego}"]) == 0
        assert (
            f"note: --ego {ego} has no effect: no image of main shows it" in capsys.readouterr().out
        ) is says


def test_all_sets_that_stand_in_the_way_are_named_in_the_line_that_removes_them(study: str) -> None:
    corrupted(study)
    said = refused_line(
        "stress", "corrupt", study, "--corruption", "contrast", "--severities", "1-3", "--seed", "1"
    )
    assert "a set 'contrast-1' and 1 more made with another seed (0); remove them first" in said
    line = said.strip().partition("first: faultscape ")[2]
    assert main([word.strip("'") for word in line.split()]) == 0
    assert corrupted(study, seed=1).new == 10


def test_a_group_of_options_is_called_as_python_gives_it(study: str) -> None:
    with refused(says=r"^blending must be fs\.options\.Blending\("):
        fs.stress.blend(study, preset="fishyscapes-v2", blending={"ego": "car"})  # type: ignore[arg-type]


@pytest.mark.parametrize("case", lying_depth.CASES)
def test_what_is_no_depth_is_refused_wherever_it_lies(
    case: str, study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    values, says = lying_depth.CASES[case]
    for k, id_ in enumerate(corpus.ids):
        path = tmp_path / "depth" / f"{id_}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, values if k == len(corpus.ids) - 1 else np.full(lying_depth.SHAPE, 30.0))
    said = refused_line("stress", "fog", study, "--depth", str(tmp_path / "depth"))
    assert re.search(f"{re.escape(corpus.ids[-1])}.npy: .*{says}", said), said
    assert not read_stress(Path(study)).sets


def test_what_a_killed_line_left_beside_written_images_is_cleared_away(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    left = out / ".writing-00c0ffee-a.png"  # by a killed line
    left.write_bytes(b"half an image")
    for _ in range(2):  # the folder is ours the second time
        fs.stress.holdout(study, classes=["car"], write=str(out))
    assert not left.exists()


@pytest.mark.slow
def test_images_of_an_earlier_line_among_those_that_are_written_are_said(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blended(study, frames=7, write=str(tmp_path / "out"))
    assert "earlier line" not in capsys.readouterr().out
    blended(study, frames=5, write=str(tmp_path / "out"))
    said = capsys.readouterr().out
    assert f"{tmp_path}/out/fishyscapes-v2: 4 files of an earlier run do not belong to the set" in said
    assert "-draw1.png)" in said
