"""Labels go out to labelling tools and come back, as a user types it: masks pixel by pixel, one truth a
person, choices of pairs, answers, and issues of a review.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.labelling import FORMATS
from faultscape.maps import runs
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_ids
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.label import model_copies
from refusals import refused

MASKS = [form.name for form in FORMATS if form.kind in ("masks", "bundle")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, made.Corpus]:
    folder = tmp_path_factory.mktemp("tools")
    corpus = made.corpus(folder / "corpus", images=8, models=3)
    study = made.compared_study(corpus, folder / "study", shard_size=4)
    fs.select(study, per_class=1)
    return study, corpus


@pytest.fixture
def study(world: tuple[str, made.Corpus], tmp_path: Path) -> str:
    shutil.copytree(world[0], tmp_path / "study")
    return str(tmp_path / "study")


def codes(study: str, truth: str) -> dict[str, bytes]:
    where = label_maps.truth(Path(study), truth)
    return {id_: code for shard in (0, 1) for id_, code in label_maps.read_maps(where, shard).items()}


def told_drawn(folder: Path, by: str = "ann") -> None:
    """Let what a model filled in be what somebody drew: Label Studio keeps both, and predictions are no
    labels.
    """
    for path in folder.glob("tasks.json"):
        tasks = json.loads(path.read_text())
        for task in tasks:
            (held,) = task.pop("predictions")
            task["annotations"] = [
                {
                    "id": task["id"],
                    "completed_by": {"email": by},
                    "result": held["result"],
                    "was_cancelled": False,
                }
            ]
        path.write_text(json.dumps(tasks))


@pytest.mark.parametrize("name", MASKS)
def test_masks_go_out_and_come_back_pixel_by_pixel(
    study: str, world: tuple[str, made.Corpus], tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    said = repr(fs.label.export(study, str(out), format=name, prefill="model-1"))
    told_drawn(out)
    kinds = set[np.dtype]()

    def decode_as_told(code: bytes, table: np.ndarray) -> np.ndarray:
        kinds.add(table.dtype)
        return runs.decode(code, table)

    monkeypatch.setattr(model_copies, "runs", SimpleNamespace(decode=decode_as_told))
    taken = fs.label.import_(study, str(out))
    assert kinds == {np.dtype(np.uint8)}  # as everywhere: for each type a kernel is compiled
    truth = "labels-ann" if name.startswith("label-studio") else "labels"
    number = int(re.match(r"\d+", said)[0])
    assert (taken.truth, taken.new, taken.failures) == (truth, number, 0)
    assert (
        repr(taken)
        .partition("\nnext: ")[0]
        .endswith(f"\n{number} of {number} labels are exactly model-1's maps: were they corrected?")
    )
    found, corpus = codes(study, truth), world[1]
    assert len(found) == number
    for image, code in found.items():
        assert (runs.decode(code, np.arange(256)) == corpus.maps["model-1"][corpus.ids.index(image)]).all()
    assert fs.label.import_(study, str(out)).unchanged == number  # the same again


@pytest.mark.parametrize("name", ["png", "png-index", "png-colours"])
def test_masks_leave_the_study_and_come_back_pixel_by_pixel(
    study: str, world: tuple[str, made.Corpus], tmp_path: Path, name: str
) -> None:
    corpus, drawn, out = world[1], tmp_path / "drawn", tmp_path / "done"
    wanted = {}
    for number, image in enumerate(corpus.ids[:5]):  # also of images that no selection chose
        ids = corpus.maps["model-1"][number].copy()
        ids[:3] = 255
        wanted[image] = ids
        (drawn / image).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(ids).save(drawn / f"{image}.png")
    fs.label.import_(study, str(drawn))
    held = fs.labels(study)
    assert sorted(held) == sorted(wanted)
    for image, ids in wanted.items():
        assert np.array_equal(held[image], ids)
    told = fs.label.export(study, str(out), format=name, done=True)
    assert repr(told).startswith(f"{out / 'labels'}: 5 masks of truth labels ({name})")
    assert {path.relative_to(out).parts[0] for path in out.rglob("*.*")} == {"labels", "classes.json"}
    assert fs.label.import_(study, str(out)).unchanged == 5
    fs.label.export(study, str(out), format=name, done=True)  # the same again
    masks = sorted((out / "labels").rglob("*.png"))
    masks[0].write_bytes(masks[1].read_bytes())
    with refused(LabellingError, "already exists with other contents and is never overwritten"):
        fs.label.export(study, str(out), format=name, done=True)


def test_where_nothing_is_labelled_there_are_no_labels_to_read(study: str) -> None:
    with refused(StudyError, "there are no labels yet"):
        fs.labels(study)


def test_labels_of_classifiers_are_classes(tmp_path: Path) -> None:
    made_ = made_answers.study(tmp_path / "answers", images=6)
    study, names = made_.study, read_settings(Path(made_.study)).classes.names
    ids = sorted(read_ids(Path(study)))
    (tmp_path / "labels.csv").write_text(
        f"image,label\n{ids[0]},{names[2]}\n{ids[1]},{names[1]}|{names[0]}\n{ids[2]},none\n"
    )
    rows = [(ids[3], names[1], "yes"), (ids[4], names[1], "no"), (ids[5], names[0], "unsure")]
    asked = "".join(f"{image},{name},ann,{answer}\n" for image, name, answer in rows)
    (tmp_path / "answers.csv").write_text(f"image,class,annotator,answer\n{asked}")
    for table in ("labels.csv", "answers.csv"):
        fs.label.import_(study, str(tmp_path / table))
    both = "|".join(name for name in names if name in names[:2])
    assert fs.labels(study) == {ids[0]: names[2], ids[1]: both, ids[2]: "none", ids[3]: names[1]}
    with refused(OptionError, "--done writes masks; .* label answers"):
        fs.label.export(study, str(tmp_path / "out"), done=True)


def test_the_tool_knows_every_name_that_its_labels_may_have(study: str, tmp_path: Path) -> None:
    fs.label.export(study, str(tmp_path / "out"), format="labelme")
    names = (tmp_path / "out" / "labels.txt").read_text().splitlines()
    assert names == [*read_settings(Path(study)).classes.names, "void"]


@pytest.mark.parametrize("name", [f.name for f in FORMATS if f.kind != "questions" and f.outlines])
def test_outlines_say_by_how_many_pixels_they_differ(study: str, tmp_path: Path, name: str) -> None:
    said = fs.label.export(study, str(tmp_path / "out"), format=name, prefill="model-1", outlines=True)
    assert said.differing is not None
    assert said.differing[0] == 0
    assert "outlines differ" not in repr(said)  # nothing to tell
    off = replace(said, differing=(3, 1728))
    assert "outlines differ from the maps on 3 of 1,728 pixels (0.17 %)" in repr(off)
    with refused(OptionError, "--outlines needs --prefill and a format with polygons"):
        fs.label.export(study, str(tmp_path / "other"), format=name, outlines=True)


def test_each_persons_labels_are_a_truth_of_their_own(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for who, model in (("ann", "model-0"), ("ben@x.org", "model-2")):
        fs.label.export(study, str(tmp_path / who), format="label-studio", prefill=model)
        told_drawn(tmp_path / who, who)
    one, other = (json.loads((tmp_path / who / "tasks.json").read_text()) for who in ("ann", "ben@x.org"))
    for task, more in zip(one, other, strict=True):
        task["annotations"].append(more["annotations"][0] | {"id": 1000 + task["id"]})
    (tmp_path / "both.json").write_text(json.dumps(one))
    assert main(["label", "import", study, str(tmp_path / "both.json")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 annotators: ")
    assert f"labels-ann: {len(one)}, labels-ben-x.org: {len(one)}" in out
    assert codes(study, "labels-ann") != codes(study, "labels-ben-x.org")
    assert set(label_maps.truths(Path(study))) == {"labels-ann", "labels-ben-x.org"}


def test_labels_most_of_which_somebody_corrected_are_no_models(
    study: str, world: tuple[str, made.Corpus], tmp_path: Path
) -> None:
    number = fs.label.export(study, str(tmp_path / "out"), format="png", prefill="model-1").images
    masks = sorted((tmp_path / "out" / "labels").rglob("*.png"))
    for count, mask in enumerate(masks, 1):
        ids = np.array(Image.open(mask))
        ids[0, 0] = (ids[0, 0] + 1) % 3
        made.write(mask, ids)
        rows = repr(fs.label.import_(study, str(tmp_path / "out"))).split("\n")
        said = "\n".join(rows[1:-1])  # the last is the next line
        left = number - count
        assert said == (
            f"{left} of {number} labels are exactly model-1's maps: were they corrected?"
            if 2 * left > number
            else ""
        )
    assert "exactly" not in repr(fs.label.import_(study, str(world[1].truth)))


def test_one_wrong_image_costs_itself_alone(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    number = fs.label.export(study, str(out), format="cvat", prefill="model-0").images
    xml = (out / "annotations.xml").read_text()
    (out / "annotations.xml").write_text(re.sub(r'<mask label="[^"]*"', '<mask label="zebra"', xml, count=1))
    taken = fs.label.import_(study, str(out))
    assert (taken.new, taken.failures) == (number - 1, 1)
    (failure,) = [f for f in read_failures(Path(study)) if f.stage == "label"]
    assert "annotations.xml" in failure.reason
    assert "zebra" in failure.reason


def test_work_that_is_there_is_never_written_over(study: str, tmp_path: Path) -> None:
    fs.label.export(study, str(tmp_path / "out"), format="cvat", prefill="model-0")
    fs.label.export(study, str(tmp_path / "out"), format="cvat", prefill="model-0")  # the same bytes
    with refused(LabellingError, "annotations.xml: already exists with other contents"):
        fs.label.export(study, str(tmp_path / "out"), format="cvat", prefill="model-1")


def test_check_says_whether_a_tool_will_take_a_file(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), format="cvat", prefill="model-0")
    assert main(["label", "check", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: CVAT for images 1.1 will accept it\n"
    xml = (out / "annotations.xml").read_text()
    (out / "annotations.xml").write_text(re.sub(r'<mask label="[^"]*"', '<mask label="zebra"', xml, count=1))
    said = repr(fs.label.check(str(out / "annotations.xml")))
    assert "1 problem that CVAT for images 1.1 will reject or show differently:" in said
    assert "zebra" in said
    assert main(["label", "check", str(out)]) == 1


@pytest.mark.parametrize(
    "form", ["labelme", "cvat", "cvat-masks", "label-studio", "label-studio-bitmask", "coco-panoptic", "coco"]
)
def test_check_looks_at_the_photos_that_lie_beside_a_file(study: str, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    fs.label.export(study, str(out), format=form, prefill="model-0")
    before = fs.label.check(str(out), format=form).problems
    assert not re.search("photo .*not there|is not a photo|pixels", "\n".join(before))
    wide, gone = sorted(out.rglob("*photo *.png") if form == "labelme" else (out / "images").rglob("*.png"))[
        :2
    ]
    with Image.open(wide) as photo:
        photo.resize((photo.width + 1, photo.height)).save(wide)
    gone.unlink()
    said = "\n".join(set(fs.label.check(str(out), format=form).problems) - {*before})
    assert re.search(
        rf"{wide.name}: is \d+ x \d+ pixels, but in |its image \d+ x \d+; LabelMe refuses it", said
    )
    assert re.search(rf"image '.*{gone.stem}.*' not found", said)
    assert len(said.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "beside", "title"),
    [
        ("tasks.json", "label_config.xml", "Label Studio"),
        ("instances_val.json", "", "COCO"),
        ("panoptic.json", "", "COCO panoptic"),
        ("street.json", "street.png", "LabelMe"),
    ],
)
def test_damaged_json_is_of_the_tool_that_its_place_shows(
    tmp_path: Path, name: str, beside: str, title: str
) -> None:
    (tmp_path / name).write_text('[{"id": 1, "da')
    if beside:
        (tmp_path / beside).write_text("<View/>")
    for path in (tmp_path, tmp_path / name):
        found = fs.label.check(str(path))
        assert found.format == title
        assert len(found.problems) == 1


def test_damaged_json_of_which_nothing_shows_the_tool_is_blamed_on_none(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text('[{"id": 1, "da')
    with refused(
        LabellingError,
        "export.json: is not valid JSON .Unterminated string.*; if you know its format, name it with"
        " --format",
    ):
        fs.label.check(str(tmp_path))
    assert fs.label.check(str(tmp_path), format="labelme").format == "LabelMe"
