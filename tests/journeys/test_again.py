"""A verb run again: what was said of a model holds, what changed is done anew, and what is stale is said."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import CorpusError, ModelError, SelectionError
from faultscape.maps import runs
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import read_failures
from refusals import refused, refused_line


def test_maps_refused_for_their_size_are_read_again_with_resize_maps_which_then_holds(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    for id_ in corpus.ids:
        made.write(small / f"{id_}.png", np.zeros((20, 12), np.uint8))
    with refused(ModelError, "--resize-maps"):
        fs.predict(study, {"small": small}, engine="local")
    assert fs.predict(study, {"small": small}, resize_maps=True, engine="local").models == {"small": (6, 0)}
    assert fs.predict(study, {"small": small}, engine="local").models == {"small": (6, 0)}
    assert read_settings(Path(study)).models["small"].options == {"resize_maps": True}


def test_maps_refused_for_their_values_are_read_again_once_a_mapping_says_what_they_mean(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    for id_ in corpus.ids:
        made.write(other / f"{id_}.png", np.full((36, 48), 77, np.uint8))
    with refused(ModelError, "value 77"):
        fs.predict(study, {"other": other}, engine="local")
    (tmp_path / "labels.json").write_text('{"77": "sky"}')
    assert fs.predict(study, {"other": other}, labels=str(tmp_path / "labels.json"), engine="local").models[
        "other"
    ] == (6, 0)
    assert not [f for f in read_failures(Path(study)) if f.name == "other"]


def test_the_same_source_by_another_path_or_moved_is_not_read_again(
    corpus: made.Corpus,
    study: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fs.predict(study, {"m": corpus.models["model-0"]}, engine="local")
    monkeypatch.chdir(corpus.models["model-0"].parent)
    fs.predict(study, {"m": "./model-0"}, engine="local")
    shutil.move(corpus.models["model-0"], tmp_path / "moved")
    fs.predict(study, {"m": tmp_path / "moved"}, engine="local")
    assert "predicted again" not in capsys.readouterr().out


def test_run_goes_on_from_stored_maps_when_a_source_is_gone(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    shutil.rmtree(corpus.models["model-1"])
    ran = fs.run(study, engine="local")
    assert not any("source" in line for line in ran.done)  # nothing is asked of it
    assert "selection-order.csv" in {path.name for path in Path(study).iterdir()}
    next((Path(study) / "predictions" / "model-1").glob("00001*.parquet")).unlink()
    ran = fs.run(study, engine="local")
    assert "model-1: the source is no longer there; the stored maps are used" in ran.done


def test_maps_in_class_colours_keep_their_classes_when_ids_change(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    colours = np.array([[40 * k, 255 - 40 * k, 7 * k] for k in range(5)], np.uint8)
    for k, id_ in enumerate(corpus.ids):
        made.write(tmp_path / "rgb" / f"{id_}.png", colours[corpus.maps["model-0"][k]])
    fs.predict(study, {"rgb": tmp_path / "rgb", "b": corpus.models["model-1"]}, engine="local")

    def pixels_of_sky() -> int:
        settings = read_settings(Path(study))
        places = fs.classes.class_lists.table(settings.class_list, settings.models["rgb"].labels)
        stored = label_maps.read_maps(label_maps.predictions(Path(study), "rgb"), 0)
        sky = settings.classes.names.index("sky")
        return sum(int((runs.decode(code, places) == sky).sum()) for code in stored.values())

    before = pixels_of_sky()
    swapped = made.classes_with(corpus, {"sky": {"index": 1}, "road": {"index": 0}})
    fs.collect(study, str(corpus.photos), classes=str(swapped))
    assert pixels_of_sky() == before
    fs.predict(study, {"rgb": tmp_path / "rgb"}, engine="local")
    assert pixels_of_sky() == before


def test_a_renamed_class_is_found_by_mappings_under_its_new_name(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    (tmp_path / "labels.json").write_text(json.dumps({str(k): name for k, name in enumerate(made.NAMES)}))
    fs.predict(study, corpus.models, labels=str(tmp_path / "labels.json"), engine="local")
    fs.collect(study, corpus.photos, classes=str(made.classes_with(corpus, {"road": {"name": "street"}})))
    assert fs.compare(study, engine="local").parts_made > 0


def test_another_file_of_the_same_id_is_refused_while_the_first_is_there(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    made.write(other / f"{corpus.ids[0]}.png", np.zeros((36, 48, 3), np.uint8))
    with refused(CorpusError, r"two files have the id 'part0/photo 000'.*which is in the study"):
        fs.collect(study, str(other))
    shutil.rmtree(corpus.photos)
    assert fs.collect(study, str(other)).images == 6


def test_roles_and_not_in_hold_for_images_that_the_study_has(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    listed = tmp_path / "corpus" / "photos" / "some.txt"
    listed.write_text(f"{corpus.ids[0]}.png\n")
    fs.collect(study, str(listed), role="train")
    roles = {image.id: image.role for image in fs.study.tables.corpus.read_corpus(Path(study))}
    assert roles == {id_: "train" if id_ == corpus.ids[0] else "pool" for id_ in corpus.ids}
    fs.collect(study, str(corpus.photos))
    assert {image.id: image.role for image in fs.study.tables.corpus.read_corpus(Path(study))} == roles
    assert corpus.ids[0] not in fs.select(study).images
    banned = tmp_path / "banned"
    shutil.copytree(corpus.photos / "part1", banned)
    left = fs.collect(study, str(corpus.photos), not_in=[str(banned)])
    assert left.images == 3
    assert len([f for f in read_failures(Path(study)) if f.stage == "collect"]) == 3
    assert set(fs.select(study, as_="less").images) <= {id_ for id_ in corpus.ids if id_.startswith("part0")}


def test_near_duplicates_of_an_image_outside_the_pool_are_one_family(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    photo = rng.integers(0, 256, (9, 12, 3), np.uint8).repeat(4, 0).repeat(4, 1)
    made.write(tmp_path / "train" / "t.png", photo)
    for name in ("one", "two"):
        made.write(tmp_path / "pool" / f"{name}.png", photo)
        for model in ("a", "b"):
            made.write(tmp_path / model / f"{name}.png", rng.integers(0, 2, (36, 48), np.uint8))
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "train"), classes=2, set_="tr", role="train")
    fs.collect(study, str(tmp_path / "pool"))
    fs.predict(study, {"a": tmp_path / "a", "b": tmp_path / "b"}, engine="local")
    fs.compare(study, engine="local")
    cells: dict[tuple[str, str, str], int] = {}
    for row in fs.select(study, maps=fs.options.MapRules(constraints="class")).rows:
        key = (row.defender, row.attacker, row.class_)
        cells[key] = cells.get(key, 0) + 1
    assert set(cells.values()) == {1}
    assert len(
        fs.select(
            study,
            as_="all",
            maps=fs.options.MapRules(constraints="class"),
            sampling=fs.options.Sampling(keep_duplicates=True),
        ).rows
    ) == 2 * len(cells)


def test_a_selection_never_shrinks_and_that_is_said(
    corpus: made.Corpus, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    wide = fs.select(study, per_class=2)
    assert fs.select(study, per_class=1).rows == wide.rows
    assert "per_class stays 2" in capsys.readouterr().out


def test_a_changed_function_is_another_definition(corpus: made.Corpus, study: str, tmp_path: Path) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    own = tmp_path / "own.py"
    own.write_text("def share(both, rows, columns, *, over):\n    return both.sum(-1) / rows.sum(-1)\n")
    fs.select(study, as_="mine", maps=fs.options.MapRules(concordance=f"{own}:share"))
    own.write_text("def share(both, rows, columns, *, over):\n    return -both.sum(-1) / rows.sum(-1)\n")
    with refused(SelectionError, "which has changed since"):
        fs.select(study, as_="mine", per_class=2)
    own.write_text('def share(both, rows, columns, *, over):\n    return both.sum(-1) * 0 + float("inf")\n')
    with refused(SelectionError, "no image satisfies"):
        fs.select(study, as_="infinite", maps=fs.options.MapRules(concordance=f"{own}:share"))
    own.write_text("def share(both, rows, columns, *, over):\n    return nothing\n")
    refused_line("select", study, "--as", "broken", "--concordance", f"{own}:share")


def test_sixteen_bit_colour_and_palette_maps_make_the_same_selection_file(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    files = []
    colours = np.array([[40 * k, 255 - 40 * k, 7 * k] for k in range(5)], np.uint8)
    for form in ("grey", "wide", "colour"):
        for name, stack in corpus.maps.items():
            for id_, m in zip(corpus.ids, stack, strict=True):
                values = {"grey": m, "wide": m.astype(np.uint16), "colour": colours[m]}[form]
                made.write(tmp_path / form / name / f"{id_}.png", values)
        study = str(tmp_path / f"study-{form}")
        fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
        fs.predict(study, {name: tmp_path / form / name for name in corpus.maps}, engine="local")
        fs.compare(study, engine="local")
        fs.select(study)
        files.append(made.bytes_under(Path(study), "selection*", "predictions", "pairs"))
    assert files[0] == files[1] == files[2]
    with Image.open(tmp_path / "colour" / "model-0" / f"{corpus.ids[0]}.png") as picture:
        assert picture.mode == "RGB"


def test_another_folder_is_read_though_its_files_look_the_same_from_outside(
    corpus: made.Corpus, study: str, tmp_path: Path
) -> None:
    for name, value in (("first", 1), ("second", 2)):
        for id_ in corpus.ids:
            (tmp_path / name / id_).parent.mkdir(parents=True, exist_ok=True)
            # of one size, whatever they hold
            np.save(tmp_path / name / f"{id_}.npy", np.full((36, 48), value, np.uint8))
            os.utime(tmp_path / name / f"{id_}.npy", (1e9, 1e9))
    fs.predict(study, {"m": tmp_path / "first"}, engine="local")
    fs.predict(study, {"m": tmp_path / "second"}, engine="local")
    stored = label_maps.read_maps(label_maps.predictions(Path(study), "m"), 0)
    assert {tuple(runs.labels(code).tolist()) for code in stored.values()} == {(2,)}


def test_options_that_a_new_source_does_not_take_over_are_named(
    corpus: made.Corpus, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labels.json").write_text(json.dumps({str(k): name for k, name in enumerate(made.NAMES)}))
    fs.predict(study, {"m": corpus.models["model-0"]}, labels=str(tmp_path / "labels.json"), engine="local")
    fs.predict(study, {"m": corpus.models["model-1"]}, engine="local")
    assert "source changed; options set for the old source were dropped: --labels" in capsys.readouterr().out
    labels = str(tmp_path / "labels.json")
    fs.predict(study, {"m": corpus.models["model-0"]}, labels=labels, engine="local")
    capsys.readouterr()
    fs.predict(study, {"m": corpus.models["model-1"]}, labels=labels, engine="local")  # given anew
    assert "were dropped" not in capsys.readouterr().out


def test_a_file_that_the_study_has_keeps_its_id_when_a_list_grows(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lists").mkdir()
    listed, study = tmp_path / "lists" / "some.txt", str(tmp_path / "grown")
    first, second, third = (corpus.photos / f"{corpus.ids[k]}.png" for k in (0, 2, 1))
    listed.write_text(f"{first}\n{second}\n")
    fs.collect(study, str(listed), classes=str(corpus.classes))
    listed.write_text(f"{first}\n{second}\n{third}\n")
    assert fs.collect(study, str(listed)).images == 3
    assert "keep their ids: " in capsys.readouterr().out
