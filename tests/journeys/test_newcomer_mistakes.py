"""What a newcomer gets wrong in the first hour, and the one line that says how to go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from refusals import refused_line


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> Path:
    """A study of three models and no label."""
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(tmp_path / "study"), corpus.models, engine="local")
    return tmp_path / "study"


def jpegs(folder: Path, number: int = 3) -> Path:
    """A folder of maps that were saved as JPEG."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(number):
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / f"map {k}.jpg")
    return folder


def test_masks_saved_as_jpeg_and_masks_not_drawn_yet_are_two_messages(study: Path, tmp_path: Path) -> None:
    fs.compare(str(study), engine="local")
    fs.select(str(study))
    out = tmp_path / "to-label"
    fs.label.export(str(study), str(out), format="png")
    told = refused_line("label", "import", study, out)
    assert f"{out / 'labels'}: is empty; first draw a mask for each image in {out / 'images'}" in told
    jpegs(out / "labels", 1)
    assert "contains 1 JPEG file and no masks; JPEG changes class ids, so save masks as PNG" in refused_line(
        "label", "import", study, out
    )


def test_help_is_a_word_as_well_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    for words, options in ((["help"], ["--help"]), (["help", "rank"], ["rank", "--help"])):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert main(options) == 0
        assert said == capsys.readouterr().out


def test_another_class_list_is_refused_with_the_whole_line_that_takes_it(
    corpus: made.Corpus, study: Path
) -> None:
    told = refused_line("run", study, corpus.photos, "--classes", "voc")
    line = f"faultscape collect {study} --classes voc --replace-classes"
    assert f"`{line}`" in told
    assert main(line.split()[1:]) == 0


def test_a_map_with_255_says_how_to_count_it_as_void(corpus: made.Corpus, tmp_path: Path) -> None:
    classes = json.loads(corpus.classes.read_text())
    classes = {key: value for key, value in classes.items() if key not in ("void", "ignore_index")}
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    study, maps = tmp_path / "study", tmp_path / "maps"
    fs.collect(str(study), str(corpus.photos), classes=str(tmp_path / "classes.json"))
    shutil.copytree(corpus.models["model-0"], maps)
    for path in maps.rglob("*.png"):
        made.write(path, np.full((36, 48), 255, np.uint8))
    told = refused_line("predict", study, f"m={maps}")
    assert "holds the value 255" in told
    assert "if 255 is void, add it to `void` in study.toml" in told
    settings = (study / "study.toml").read_text()
    assert "\nvoid = []\n" in settings
    (study / "study.toml").write_text(settings.replace("\nvoid = []\n", "\nvoid = [255]\n"))
    assert main(["predict", str(study), f"m={maps}"]) == 0


def test_a_source_that_takes_the_place_of_another_says_how_to_go_back(
    corpus: made.Corpus, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = corpus.models["model-0"], corpus.models["model-1"]
    capsys.readouterr()
    assert main(["predict", str(study), f"model-0={new}", "--engine", "local"]) == 0
    assert f"note: model-0 was {old}; if you did not mean" in (said := capsys.readouterr().out)
    assert f"`faultscape predict {study} model-0={old}`" in said
    assert main(["predict", str(study), f"model-0={new}", "--engine", "local"]) == 0
    assert "note: model-0 was" not in capsys.readouterr().out


def test_a_class_list_that_no_map_uses_is_questioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shades = np.arange(24 * 36 * 48 * 3, dtype=np.uint32).reshape(24, 36, 48, 3)
    for k in range(24):
        photo = (shades[k] * 2654435761 >> 24).astype(np.uint8)
        made.write(tmp_path / "photos" / f"{k}.png", photo)
        for model in "ab":
            made.write(tmp_path / model / f"{k}.png", (photo[..., 0] % (8 if model == "a" else 9)))
    for name, told in (
        (
            "voc",
            "warning: the last 12 of 21 classes (chair, cow, diningtable ...) occur in no map of any model",
        ),
        ("9", ""),
    ):
        classes = name
        if name == "9":
            classes = str(tmp_path / "nine.txt")
            Path(classes).write_text("\n".join(f"class {k}" for k in range(9)))
        study = str(tmp_path / name)
        fs.collect(study, str(tmp_path / "photos"), classes=classes)
        fs.predict(study, {model: str(tmp_path / model) for model in "ab"}, engine="local")
        capsys.readouterr()
        assert main(["compare", study, "--engine", "local"]) == 0
        said = capsys.readouterr().out
        assert (told in said) if told else ("occur in no map" not in said)


def test_masks_in_the_wrong_place_are_found(study: Path, tmp_path: Path) -> None:
    fs.compare(str(study), engine="local")
    fs.select(str(study))
    out = tmp_path / "to-label"
    fs.label.export(str(study), str(out), format="png")
    image = next((out / "images").rglob("*.png"))
    mask = Image.fromarray(np.zeros((8, 8), np.uint8))
    mask.save(image)
    told = refused_line("label", "import", study, out)
    assert (
        f"1 file has no colour pixels in {out / 'images'}: if masks were saved over the images, move" in told
    )
    mask.save(out / image.name)
    told = refused_line("label", "import", study, out)
    assert f"is empty; 1 file lies in {out}: move the masks to {out / 'labels'}" in told


def test_a_model_under_a_mistyped_name_is_to_be_renamed(study: Path, corpus: made.Corpus) -> None:
    source = corpus.models["model-0"]
    fs.predict(str(study), {"segfromer": source}, engine="local")
    said = refused_line("predict", study, f"segformer={source}")
    line = f"`faultscape predict {study} --rename segfromer=segformer`"
    assert f"model segfromer has this source already; to give it this name: {line}" in said
    assert main(["predict", str(study), "--rename", "segfromer=segformer"]) == 0
    fs.predict(str(study), {"other": source}, engine="local")  # a name that is not alike is meant


def test_where_one_selection_is_there_it_needs_no_name(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.compare(str(study), engine="local")
    fs.select(str(study), selector="random", budget=4)
    out = tmp_path / "to-label"
    fs.label.export(str(study), str(out))
    assert len([*(out / "images").rglob("*.png")]) == 4
    fs.label.import_(str(study), str(corpus.truth))
    fs.rank(str(study), engine="local")
    fs.report(str(study))
    assert (study / "standings-random.json").exists()
    assert (study / "report-random.html").exists()
    assert len(fs.show(str(study), images=True).chosen) == 4
    assert fs.Study(study).standings().models == fs.Study(study).models
    fs.select(str(study), selector="random", budget=2, as_="other")
    assert "there is no selection 'main'; available: other, random" in refused_line("rank", study)
