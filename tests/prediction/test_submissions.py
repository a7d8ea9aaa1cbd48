"""Programs that are handed in: what they see, what they write, and that nothing of one counts that writes
what it should not.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import four_photos
import numpy as np
import pytest
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo
from submitted_programs import ANSWERS, pixels, writes

import faultscape as fs
import made
from faultscape.classes.class_lists import allowed, table
from faultscape.cli import main
from faultscape.errors import ModelError, RefusedError
from faultscape.formats.npy import read_npy
from faultscape.prediction.sources import isolation
from faultscape.prediction.sources.submissions import Answers, Shown
from faultscape.study.settings import read_settings
from faultscape.study.tables import outputs
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.predict.pixel_counts import counting_of
from refusals import refused

SHAPE = (4, 6)
CLASSES = fs.nouns.Classes(("road", "car"), (7, 26), ((1, 2, 3), (4, 5, 6)), (255,))
LABELS = {"0": "road", "1": "car", "2": "void"}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return four_photos.collected(tmp_path)


def predicted(study: Path, command: str, **more: object) -> tuple[int, int]:
    return fs.predict(str(study), {"sub": f"submission:{command}"}, engine="local", **more).models["sub"]


def answers(folder: Path) -> Answers:
    shown = [Shown("0000", SHAPE, "a"), Shown("0001", SHAPE, "b")]
    return Answers(folder, shown, table(CLASSES, LABELS), allowed(CLASSES, LABELS))


def whole(folder: Path) -> None:
    for number in ("0000", "0001"):
        np.save(folder / f"{number}_anomaly.npy", np.full(SHAPE, 0.25, np.float32))
        np.save(folder / f"{number}_segmentation.npy", np.ones(SHAPE, np.uint8))


def bytes_of(folder: Path, header: bytes, numbers: bytes) -> None:
    head = header.ljust(117) + b"\n"
    (folder / "0001_anomaly.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + numbers
    )


def anomaly(values: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "0001_anomaly.npy", values)


def segmentation(values: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "0001_segmentation.npy", values)


def linked(folder: Path) -> None:
    (folder / "0001_anomaly.npy").rename(folder.parent / "elsewhere.npy")
    (folder / "0001_anomaly.npy").symlink_to(folder.parent / "elsewhere.npy")


def waiting(folder: Path) -> None:
    (folder / "0001_anomaly.npy").unlink()
    os.mkfifo(folder / "0001_anomaly.npy")


ONES = np.ones(SHAPE)
BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "NaN": (
        anomaly(np.where(np.eye(4, 6) > 0, np.nan, 1)),
        "0001_anomaly.npy, of b, holds 4 of 24 scores that are NaN",
    ),
    "infinite": (
        anomaly(np.where(np.eye(4, 6) > 0, np.inf, 1)),
        "0001_anomaly.npy, of b, holds 4 of 24 scores that are NaN or infinite",
    ),
    "beyond float32": (
        anomaly(ONES * 1e300),
        "0001_anomaly.npy, of b, holds 24 scores beyond what float32 holds",
    ),
    "whole numbers": (
        anomaly(np.ones(SHAPE, int)),
        "0001_anomaly.npy, of b, holds whole numbers; expected floats",
    ),
    "another size": (anomaly(np.ones((6, 4))), "0001_anomaly.npy, of b, has the shape 6 x 4; expected 4 x 6"),
    "a channel more": (
        anomaly(np.ones((1, 4, 6))),
        "0001_anomaly.npy, of b, has the shape 1 x 4 x 6; expected 4 x 6",
    ),
    "objects": (anomaly(np.full(SHAPE, {})), "0001_anomaly.npy, of b, holds Python objects; expected floats"),
    "no file of NumPy": (
        lambda f: (f / "0001_anomaly.npy").write_text("0.5"),
        "0001_anomaly.npy, of b, is not a NumPy .npy file",
    ),
    "code in the header": (
        lambda f: bytes_of(f, b"__import__('os').abort()", b""),
        "0001_anomaly.npy, of b, is not a NumPy .npy file",
    ),
    "a header that promises": (
        lambda f: bytes_of(f, b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}", b""),
        "0001_anomaly.npy, of b, has the shape 1000000 x 1000000; expected 4 x 6",
    ),
    "fewer numbers than promised": (
        lambda f: bytes_of(f, b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6)}", b"1234"),
        "0001_anomaly.npy, of b, has 4 bytes of numbers; expected 96",
    ),
    "too long": (
        anomaly(np.ones((80, 80))),
        "0001_anomaly.npy, of b, has 51,328 bytes; at most 4,288 are read",
    ),
    "a link": (linked, "0001_anomaly.npy, of b, is a link, which is not followed"),
    "a pipe": (waiting, "0001_anomaly.npy, of b, is not a regular file"),
    "a class too far": (
        segmentation(np.full(SHAPE, 3)),
        "0001_segmentation.npy, of b, holds the value 3; allowed are 0-1, 255 .void.",
    ),
    "below zero": (
        segmentation(np.full(SHAPE, -1)),
        "0001_segmentation.npy, of b, holds the value -1; allowed are 0-1, 255 .void.",
    ),
    "beyond 16 bits": (
        segmentation(np.full(SHAPE, 1 << 20)),
        "0001_segmentation.npy, of b, holds the value 1048576; allowed are 0-1, 255 .void.",
    ),
    "fractions": (segmentation(ONES), "0001_segmentation.npy, of b, holds floats; expected whole numbers"),
    "other names": (
        lambda f: (f / "0001_anomaly.npy").rename(f / "b_anomaly.npy"),
        "b_anomaly.npy is not a valid answer file name",
    ),
    "a folder more": (lambda f: (f / "logs").mkdir(), "logs is not a valid answer file name"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_of_the_first_file(what: str, tmp_path: Path) -> None:
    (folder := tmp_path / "output").mkdir()
    whole(folder)
    assert not answers(folder).lacking
    BAD[what][0](folder)
    with refused(
        RefusedError, f"1 file of {len(list(folder.iterdir()))} cannot be used; the first: {BAD[what][1]}"
    ):
        answers(folder)


def test_all_wrong_files_are_counted_and_a_folder_that_is_another_is_not_read(tmp_path: Path) -> None:
    (folder := tmp_path / "output").mkdir()
    whole(folder)
    anomaly(ONES * np.nan)(folder)
    np.save(folder / "0000_segmentation.npy", np.full(SHAPE, 9))
    with refused(
        RefusedError, "2 files of 4 cannot be used; the first: 0000_segmentation.npy, of a, holds the value 9"
    ):
        answers(folder)
    folder.rename(tmp_path / "other")
    folder.symlink_to(tmp_path / "other")
    with refused(RefusedError, "it removed its output folder"):
        answers(folder)


def test_any_kind_of_float_and_whole_number_is_read_as_it_is(tmp_path: Path) -> None:
    (folder := tmp_path / "output").mkdir()
    score = np.arange(24).reshape(SHAPE) / 8
    for kind in ("f2", ">f8", "f4"):
        whole(folder)
        np.save(folder / "0000_anomaly.npy", np.asfortranarray(score.astype(kind)))
        np.save(
            folder / "0000_segmentation.npy",
            np.asfortranarray((np.arange(24).reshape(SHAPE) % 3).astype(">i8")),
        )
        assert read_npy(folder / "0000_segmentation.npy", ModelError, shape=SHAPE, kinds="iu").dtype.isnative
        said = answers(folder).read(Shown("0000", SHAPE, "a"))
        assert said.anomaly.dtype == np.float32
        assert said.anomaly.tolist() == score.tolist()
        assert said.segmentation.tolist() == (np.arange(24).reshape(SHAPE) % 3).tolist()


def test_its_answers_enter_the_study(study: Path, tmp_path: Path) -> None:
    assert predicted(study, pixels(tmp_path)) == (4, 0)
    assert {id_: label_map.tolist() for id_, label_map in four_photos.stored(study, "sub").items()} == {
        id_: label_map.tolist() for id_, label_map in four_photos.red(study).items()
    }
    doubt = {id_: values for id_, (values,) in outputs.read_kept(study, "sub", "doubt-submitted", 0)}
    for id_, score in doubt.items():
        photo = fs.formats.read_rgb(study.parent / "photos" / f"{id_}.png").astype(float)
        assert score.dtype == np.float32
        assert (score == (photo[..., 0] / 3 - photo[..., 1]).astype(np.float32)).all()
    assert len(doubt) == 4
    options = read_settings(study).models["sub"].options
    median = np.median(doubt[min(read_corpus(study), key=lambda image: image.key).id])
    assert options["offsets"] == {"submitted": pytest.approx(float(median))}
    assert options["hidden"] == list(isolation.available())
    assert options["open"][-1] == "other files of this machine"


def test_values_are_places_of_the_class_list_and_maps_are_kept_at_the_working_size(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    made.classes_with(corpus, {name: {"index": 10 * k + 3} for k, name in enumerate(made.NAMES)})
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes), size="24x18")
    code = "for number, size in shown.items(): answer(number, *size, label=4 if int(number) else 5)\n"
    assert predicted(study, writes(tmp_path / "program", code)) == (2, 0)
    about = read_settings(study).models["sub"]
    assert about.labels == dict(zip("012345", [*made.NAMES, "void"], strict=True))
    assert about.options["between"] == [0.0, 1.0]
    assert sorted(int(label_map[0, 0]) for label_map in four_photos.stored(study, "sub").values()) == [4, 5]
    assert {label_map.shape for label_map in four_photos.stored(study, "sub").values()} == {(18, 24)}
    assert {values.shape for _, (values,) in outputs.read_kept(study, "sub", "doubt-submitted", 0)} == {
        (18, 24)
    }


def test_images_come_under_numbers_that_say_nothing_in_an_order_of_their_bytes(tmp_path: Path) -> None:
    about = PngInfo()
    about.add_text("Comment", "val/fog-3/000001")
    for k in range(4):
        pixels_of = np.random.default_rng(k).integers(0, 256, (20, 24, 3), np.uint8)
        (tmp_path / "photos").mkdir(exist_ok=True)
        Pillow.fromarray(pixels_of).save(tmp_path / "photos" / f"p{k}.png", pnginfo=about)
    study, seen = tmp_path / "study", tmp_path / "seen"
    fs.collect(str(study), str(tmp_path / "photos"), classes=5)
    code = f"{ANSWERS}import shutil\nif len(shown) > 1: shutil.copytree(inward, {str(seen)!r})\n"
    predicted(study, writes(tmp_path / "program", code))
    order = sorted(read_corpus(study), key=lambda image: made.tie(image.key))
    assert [image.id for image in order] != [image.id for image in read_corpus(study)]
    for number, image in enumerate(order):
        with Pillow.open(seen / f"{number:04d}.png") as shown, Pillow.open(image.source) as photo:
            assert np.array_equal(np.asarray(shown), np.asarray(photo))
            assert (shown.info, "Comment" in photo.info) == ({}, True)
        assert (seen / f"{number:04d}.png").stat().st_mtime == 0
    doubt = {
        id_: float(values[0, 0]) for id_, (values,) in outputs.read_kept(study, "sub", "doubt-submitted", 0)
    }
    assert doubt == {image.id: number for number, image in enumerate(order)}


def test_an_image_that_it_leaves_out_is_a_failure_of_that_image(study: Path, tmp_path: Path) -> None:
    code = (
        f"{ANSWERS}if len(shown) > 1: os.remove(outward + '/0001_anomaly.npy'); os.remove(outward +"
        " '/0003_anomaly.npy'); os.remove(outward + '/0003_segmentation.npy')\n"
    )
    assert predicted(study, writes(tmp_path / "program", code)) == (2, 2)
    order = [image.id for image in sorted(read_corpus(study), key=lambda image: made.tie(image.key))]
    assert {failure.image: failure.reason for failure in read_failures(study)} == {
        order[1]: "the submission wrote no anomaly of it",
        order[3]: "the submission wrote no anomaly and no segmentation of it",
    }


WRONG = {
    "sys.exit('no weights')": "it exited with status 1: no weights",
    "print('I saw', len(shown), file=sys.stderr)": "it wrote nothing of 4 images; it said: I saw 4",
    ANSWERS + "sys.exit(3)": "it exited with status 3",
    ANSWERS + "put('0002_anomaly.npy', '<f4', shown['0002'], bytes([0, 0, 192, 127]) * 480)": (
        "1 file of 8 cannot be used; the first: 0002_anomaly.npy, of p"
    ),
    ANSWERS + "os.rename(outward + '/0000_anomaly.npy', outward + '/p0.npy')": (
        "1 file of 8 cannot be used; the first: p0.npy is not a valid answer file name"
    ),
    ANSWERS + "os.rename(outward, outward + '-'); os.symlink('/etc', outward)": (
        "it removed its output folder"
    ),
    ANSWERS
    + "os.remove(outward + '/../said'); os.symlink('/etc/passwd', outward + '/../said'); sys.exit(4)": (
        "it exited with status 4$"
    ),
}


@pytest.mark.parametrize("code", WRONG, ids=WRONG.values())
def test_it_is_refused_whole_in_one_line(code: str, study: Path, tmp_path: Path) -> None:
    first = "if len(shown) == 1:\n    answer('0000', *shown['0000'])\n    sys.exit()\n"  # it passes its trial
    with refused(RefusedError, f"^submission:.* way is refused: {WRONG[code]}") as caught:
        predicted(study, writes(tmp_path / "program", first + code))
    assert "\n" not in str(caught.value)
    assert not read_settings(study).models
    assert not (study / "predictions" / "sub").exists()


def test_it_is_refused_on_its_trial_before_the_study_knows_it(study: Path, tmp_path: Path) -> None:
    before = made.bytes_under(study, "*")
    with refused(RefusedError, "1 file of 2 cannot be used; the first: 0000_segmentation.npy, of p"):
        predicted(study, writes(tmp_path / "program", ANSWERS.replace("score=", "label=6, score=")))
    assert made.bytes_under(study, "*") == before


@pytest.mark.slow
def test_a_part_that_was_good_goes_with_one_that_is_refused_and_what_it_was_to_replace_stays(
    tmp_path: Path,
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=1)
    study = made.collected(corpus, tmp_path / "study", shard_size=2)
    once = (
        "import pathlib\nmark = pathlib.Path(__file__).parent / 'runs'\nn = len(mark.read_text()) if"
        " mark.exists() else 0\nmark.write_text('x' * (n + 1))\n"
    )
    command = writes(
        tmp_path / "program", f"{ANSWERS}{once.replace('__file__', 'sys.argv[0]')}if n == 2: sys.exit(9)\n"
    )
    with refused(RefusedError, "is refused: it exited with status 9"):
        predicted(study, command)
    assert not read_settings(study).models
    assert predicted(study, command) == (4, 0)  # its fourth run and those after
    before = made.bytes_under(study, "predictions", "study.toml")
    with refused(RefusedError, "status 5.*; sub keeps its maps from submission:"):
        predicted(study, writes(tmp_path / "other", f"{ANSWERS}if len(shown) > 1: sys.exit(5)\n"))
    assert made.bytes_under(study, "predictions", "study.toml") == before


def test_a_program_of_other_files_is_another_whose_scores_are_counted_anew(
    study: Path, tmp_path: Path
) -> None:
    command, file = writes(tmp_path / "program", ANSWERS), tmp_path / "program" / "program.py"
    predicted(study, command)
    options = read_settings(study).models["sub"].options
    assert (options.get("between"), options.get("offsets")) == ([0.0, 1.0], None)
    assert counting_of(read_settings(study), "sub", "", ["submitted"]).scorers["doubt-submitted"][:2] == (
        "submitted",
        None,
    )
    file.write_text(file.read_text().replace('struct.pack("<f", score)', 'struct.pack("<f", score + 9)'))
    predicted(study, command)
    options = read_settings(study).models["sub"].options
    assert (options.get("between"), options.get("offsets")) == (None, {"submitted": 9.0})
    assert counting_of(read_settings(study), "sub", "", ["submitted"]).scorers["doubt-submitted"][:2] == (
        "submitted",
        9.0,
    )


PEEKS = """
import json, socket
def tried(what):
    try:
        return what()
    except OSError as error:
        return type(error).__name__
seen = {
    "environment": sorted(os.environ), "home": os.environ["HOME"] == os.getcwd() == os.environ["TMPDIR"],
    "relative": [os.path.exists(path) for path in ("../study", "../../study", "study", "truth", "../truth")],
    "study": tried(lambda: sorted(os.listdir(%(study)r))), "photos": tried(lambda: os.listdir(%(photos)r)),
    "network": tried(lambda: socket.create_connection(("127.0.0.1", %(port)d), 2) and "reached"),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")) < 9,
    "parent": tried(lambda: os.listdir("/proc/1/root" + %(study)r)),
    "undone": os.system("umount " + %(study)r + " 2>/dev/null") == 0 and os.listdir(%(study)r) != [],
}
sys.exit(json.dumps(seen))
"""


def peeked(study: Path, folder: Path, port: int) -> dict:
    code = PEEKS % {"study": str(study), "photos": str(study.parent / "photos"), "port": port}
    code = code.replace(
        "sys.exit(json.dumps(seen))",
        f"open({str(folder / 'seen.json')!r}, 'w').write(json.dumps(seen))\n{ANSWERS}",
    )
    predicted(study, writes(folder / "program", code))
    return json.loads((folder / "seen.json").read_text())


@pytest.fixture
def port() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_truth_the_network_and_our_environment_are_out_of_its_reach(
    study: Path, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespaces = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--mount-proc")
    line = ["unshare", *namespaces, "true"]
    if not shutil.which("unshare") or subprocess.run(line, check=False, capture_output=True).returncode:
        pytest.skip("this machine gives no namespaces to who asks")
    assert len(isolation.available()) == 3
    monkeypatch.setenv("FAULTSCAPE_DATA", str(study))
    monkeypatch.setenv("STUDY", str(study))
    (study / "truth").mkdir()
    monkeypatch.chdir(study)
    seen = peeked(study, tmp_path, port)
    assert set(seen.pop("environment")) <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "LD_LIBRARY_PATH",
        "HOME",
        "TMPDIR",
        "PWD",
        "USER",
        "LOGNAME",
    }
    assert seen == {
        "home": True,
        "relative": [False] * 5,
        "study": [],
        "photos": [],
        "network": "OSError",
        "processes": True,
        "parent": "PermissionError",
        "undone": False,
    }


def test_where_nothing_can_be_had_it_is_said_and_paths_lead_nowhere(
    study: Path,
    tmp_path: Path,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(isolation, "available", lambda: ())
    seen = peeked(study, tmp_path, port)
    assert (seen["home"], seen["relative"], seen["network"]) == (True, [False] * 5, "reached")
    assert "study.toml" in seen["study"]  # which shows that the look of the test above can find something
    assert "photos" in seen
    assert len(seen["photos"]) == 4
    told = (
        "with access to everything but the environment; within its reach: the network, other processes,"
        " the study and its images, other files of this machine"
    )
    assert told in capsys.readouterr().out
    options = read_settings(study).models["sub"].options
    assert (options["hidden"], len(options["open"])) == ([], 4)


@pytest.mark.skipif(isolation.FILES not in isolation.available(), reason="files cannot be hidden here")
def test_what_labels_were_imported_from_is_hidden_too(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(2):
        made.write(tmp_path / "masks" / f"p{k}.png", np.zeros((20, 24), np.uint8))
    outline = {"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "segmentation": [[1, 1, 9, 1, 9, 9]]}
    coco = {
        "images": [{"id": 1, "file_name": "p1.png", "width": 24, "height": 20}],
        "categories": [{"id": 1, "name": "road"}],
        "annotations": [outline | {"area": 32, "bbox": [1, 1, 8, 8]}],
    }
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    monkeypatch.chdir(tmp_path)
    fs.label.import_(str(study), "masks")  # a relative path
    fs.label.import_(str(study), "coco.json", truth="second")
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path / "kept")
    code = f"""{ANSWERS}
print(os.listdir({str(tmp_path / "masks")!r}), os.path.getsize({str(tmp_path / "coco.json")!r}))
sys.exit(len(shown) > 1)
"""
    with refused(RefusedError, r"it exited with status 1: \[\] 0$"):
        predicted(study, writes(tmp_path / "program", code))


@pytest.mark.slow
@pytest.mark.skipif(isolation.FILES not in isolation.available(), reason="files cannot be hidden here")
def test_labels_whose_place_is_not_recorded_are_said_to_be_within_reach(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    within = "files of labels whose place is not recorded"
    note = "note: sub: labels of this study (labels) were imported from a place that is not recorded"
    log = study / "log.jsonl"

    def told() -> tuple[bool, bool]:
        """Whether a new program is said to have them within its reach, by the note and in study.toml."""
        fs.predict(str(study), remove="sub")
        capsys.readouterr()
        predicted(study, writes(tmp_path / "program", ANSWERS))
        return note in capsys.readouterr().out, within in read_settings(study).models["sub"].options["open"]

    predicted(study, writes(tmp_path / "program", ANSWERS))
    assert within not in read_settings(study).models["sub"].options["open"]  # nothing was imported
    for k in range(2):
        made.write(tmp_path / "masks" / f"p{k}.png", np.zeros((20, 24), np.uint8))
    fs.label.import_(str(study), str(tmp_path / "masks"))
    assert told() == (False, False)
    whole = log.read_text()
    log.write_text(whole.replace(str(tmp_path / "masks"), "masks"))  # as an earlier version wrote it
    assert told() == (True, True)
    log.unlink()
    assert told() == (True, True)
    log.write_text(whole.replace(str(tmp_path / "masks"), "masks"))
    fs.label.import_(str(study), str(tmp_path / "masks"))
    predicted(study, writes(tmp_path / "program", ANSWERS))
    assert within in read_settings(study).models["sub"].options["open"]  # as it was when it answered
    assert told() == (False, False)


def test_what_was_promised_and_cannot_be_had_is_no_refusal(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "available", lambda: (isolation.NETWORK,))
    said = f"{isolation.CANNOT}the network: unshare: Operation not permitted"
    # of another machine
    monkeypatch.setattr(isolation, "line_of", lambda *_: ["sh", "-c", f"echo {said}; exit 126"])
    with refused(
        ModelError, f"{said}, as it was where this line began; run it on a machine where it can be isolated"
    ) as caught:
        predicted(study, writes(tmp_path / "program", ANSWERS))
    assert not isinstance(caught.value, RefusedError)


def test_a_program_in_the_study_is_refused_and_one_among_the_images_is_said_to_see_them(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with refused(ModelError, "lies in the study, which a submission may not see; put it elsewhere"):
        predicted(study, writes(study / "program", ANSWERS))
    predicted(study, writes(tmp_path / "photos" / "program", ANSWERS))
    if isolation.FILES in isolation.available():
        assert (
            "within its reach: folders of images or labels in which the program lies itself, other files"
            in capsys.readouterr().out
        )


def test_a_command_may_be_typed_anywhere(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes(tmp_path / "program", ANSWERS)
    monkeypatch.chdir(tmp_path / "program")
    python = writes(tmp_path / "program", ANSWERS).split()[0]
    assert (
        main(
            [
                "predict",
                str(study),
                f"sub=submission:{python} -I -S program.py way {{input}} {{output}}",
                "--engine",
                "local",
            ]
        )
        == 0
    )
    assert read_settings(study).models["sub"].source.split()[3] == str(tmp_path / "program" / "program.py")
