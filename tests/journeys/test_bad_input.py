"""What goes wrong is told in one line, ends with status 2 and loses nothing; what cannot be used stands in
failures.csv.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import StudyError
from refusals import refused, refused_line


def failures(study: Path) -> list[dict[str, str]]:
    with (study / "failures.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        return list(csv.DictReader(file))


def test_pictures_that_cannot_be_read_are_rows_in_failures(corpus: made.Corpus, tmp_path: Path) -> None:
    whole = (corpus.photos / "part0" / "photo 000.png").read_bytes()
    (corpus.photos / "torn.png").write_bytes(whole[: len(whole) // 2])
    (corpus.photos / "text.jpg").write_text("no picture")
    (corpus.photos / "empty.png").write_bytes(b"")
    study = tmp_path / "study"
    found = fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    assert (found.images, found.failures) == (6, 3)
    assert {Path(row["image"]).name for row in failures(study)} == {"torn.png", "text.jpg", "empty.png"}
    (corpus.photos / "torn.png").write_bytes(whole)
    assert fs.collect(str(study), str(corpus.photos)).images == 7
    assert {Path(row["image"]).name for row in failures(study)} == {"text.jpg", "empty.png"}


def test_a_decompression_bomb_is_refused_unread(corpus: made.Corpus, tmp_path: Path) -> None:
    import struct
    import zlib

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(10_000)))
        + chunk(b"IEND", b"")
    )
    (corpus.photos / "bomb.png").write_bytes(bomb)
    (corpus.models["model-0"] / "part0" / "photo 000.png").write_bytes(bomb)
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(study), corpus.models, engine="local")
    reasons = [row["reason"] for row in failures(study)]
    assert len(reasons) == 2
    assert all("pixels, the most that is read" in reason for reason in reasons), reasons


def test_label_maps_of_a_wrong_kind_name_the_file_the_value_and_what_is_allowed(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    bad = corpus.models["model-1"]
    made.write(bad / "part0" / "photo 000.png", np.full((36, 48), 77, np.uint8))
    made.write(bad / "part0" / "photo 002.png", np.zeros((20, 48), np.uint8))
    made.write(bad / "part0" / "photo 004.png", np.full((36, 48, 3), 99, np.uint8))
    Image.fromarray(np.zeros((36, 48), np.uint8)).save(bad / "part1" / "photo 001.png", format="JPEG")
    (bad / "part1" / "photo 003.png").unlink()
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    made_ = fs.predict(str(study), corpus.models, engine="local")
    assert made_.models["model-1"] == (1, 5)
    reason = {row["image"]: row["reason"] for row in failures(study)}
    assert "photo 000.png: holds the value 77; allowed are 0-4, 255 (void)" in reason["part0/photo 000"]
    assert "is 48 x 20 pixels, its image 48 x 36" in reason["part0/photo 002"]
    assert "has three channels and the colour (99, 99, 99)" in reason["part0/photo 004"]
    assert "JPEG changes label values" in reason["part1/photo 001"]
    assert "no map found for this image" in reason["part1/photo 003"]
    fs.compare(str(study), engine="local")
    slots = fs.select(
        str(study), maps=fs.MapRules(constraints="none"), per_class=6, sampling=fs.Sampling(spares=0)
    )
    for other in ("model-0", "model-2"):
        seen = {r.image for r in slots.rows if {r.defender, r.attacker} == {other, "model-1"}}
        assert seen == {"part1/photo 005"}  # the image leaves that model's pairs only
    assert len({r.image for r in slots.rows if {r.defender, r.attacker} == {"model-0", "model-2"}}) == 6


def test_every_mistake_is_one_line_and_status_2(corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert "is not a study" in refused_line("predict", study, "a=b")
    assert "no such folder or file" in refused_line(
        "collect", study, tmp_path / "nowhere", "--classes", corpus.classes
    )
    (tmp_path / "empty").mkdir()
    assert "no images found" in refused_line(
        "collect", study, tmp_path / "empty", "--classes", corpus.classes
    )
    assert "Did you mean 'camvid'" in refused_line("collect", study, corpus.photos, "--classes", "camvit")
    assert "needs its class list" in refused_line("collect", study, corpus.photos)
    assert "is invalid" in refused_line(
        "collect", study, corpus.photos, "--classes", corpus.classes, "--size", "big"
    )
    assert not study.exists()
    assert main(["collect", str(study), str(corpus.photos), "--classes", str(corpus.classes)]) == 0
    assert "the size cannot change" in refused_line("collect", study, corpus.photos, "--shard-size", "7")
    assert "is not NAME=SOURCE" in refused_line("predict", study, "unet")
    assert "two models are named 'a'" in refused_line(
        "predict", study, f"a={corpus.models['model-0']}", f"a={corpus.models['model-1']}"
    )
    for name in ("../up", ".hidden", "-dash", "a b", "a/b"):
        assert (
            "cannot name a model" in refused_line("predict", study, f"{name}={corpus.models['model-0']}")
            or name == "-dash"
        )
    assert "no such folder or file" in refused_line("predict", study, "a=missing")
    assert "comparing needs two models" in refused_line("compare", study)
    assert main(["predict", str(study), f"one={corpus.models['model-0']}", "--engine", "local"]) == 0
    assert "comparing needs two models; the study has one" in refused_line("compare", study)
    assert main(["predict", str(study), f"two={corpus.models['model-1']}", "--engine", "local"]) == 0
    assert "run `faultscape compare" in refused_line("select", study)
    assert "engine 'spark' is not known" in refused_line("compare", study, "--engine", "spark")
    assert main(["compare", str(study), "--engine", "local"]) == 0
    assert "Did you mean 'miou'" in refused_line("select", study, "--concordance", "moiu")
    assert "need the quartiles" in refused_line("select", study, "--constraints", "class+scale")
    assert "make one with" in refused_line("label", "export", study, tmp_path / "out")
    assert main(["select", str(study)]) == 0
    assert "per-class must be at least 1" in refused_line("select", study, "--per-class", "0")
    assert "its definition is fixed" in refused_line("select", study, "--concordance", "fwiou")
    assert "there are no labels yet" in refused_line("rank", study)
    assert "no such file or folder" in refused_line("label", "import", study, tmp_path / "none")
    assert "format 'bmp'" in refused_line("label", "export", study, tmp_path / "out", "--format", "bmp")
    assert "unknown verb 'selekt'. Did you mean 'select'? Available: collect, predict" in refused_line(
        "selekt", study
    )
    assert "selections" not in refused_line("select", study, "--nonsense", "1")


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([("a", 0, "#000001"), ("a", 1, "#000002")], "two classes have the name 'a'"),
        ([("a", 0, "#000001"), ("b", 0, "#000002")], "two classes have the id 0"),
        ([("a", 0, "#000001"), ("b", 1, "#000001")], "two classes have the colour"),
        ([("a", -1, "#000001")], "ids are whole numbers"),
        ([("a", 0, "red")], "must be three numbers"),
        ([], "expected a list"),
    ],
)
def test_a_wrong_class_file_says_what_is_wrong(
    corpus: made.Corpus, tmp_path: Path, entries: list, why: str
) -> None:
    path = tmp_path / "classes.json"
    path.write_text(json.dumps({"classes": [{"name": n, "id": i, "colour": c} for n, i, c in entries]}))
    assert why in refused_line("collect", tmp_path / "study", corpus.photos, "--classes", path)


def test_two_files_of_one_id_are_an_error(corpus: made.Corpus, tmp_path: Path) -> None:
    made.write(corpus.photos / "part0" / "photo 000.bmp", np.zeros((4, 4, 3), np.uint8))
    assert "two files have the id 'part0/photo 000'" in refused_line(
        "collect", tmp_path / "s", corpus.photos, "--classes", corpus.classes
    )


@pytest.mark.slow
def test_names_with_anything_the_file_system_allows_work(tmp_path: Path) -> None:
    names = [
        "a b",
        "ü",
        "quote'\"",
        "new\nline",
        "comma,semi;",
        "<b>&",
        "back\\slash",
        "-dash",
        "汉字",
        os.fsdecode(b"caf\xe9"),
        "$(x)",
        "100%",
    ]
    rng = np.random.default_rng(0)
    for name in names:
        truth = made.blobs(rng, (16, 20))
        made.write(tmp_path / "photos" / f"{name}.png", rng.integers(0, 255, (16, 20, 3), np.uint8))
        made.write(tmp_path / "truth" / f"{name}.png", truth)
        for m in range(2):
            made.write(tmp_path / "maps" / str(m) / f"{name}.png", made.disturbed(rng, truth, 2 + m))
    study = str(tmp_path / "study")
    assert fs.collect(study, str(tmp_path / "photos"), classes=str(_five(tmp_path))).images == len(names)
    fs.predict(
        study, {"a": tmp_path / "maps" / "0", "b": tmp_path / "maps" / "1"}, engine="processes", workers=2
    )
    fs.compare(study, engine="local")
    slots = fs.select(
        study,
        maps=fs.MapRules(constraints="none"),
        per_class=len(names),
        sampling=fs.Sampling(spares=0, keep_duplicates=True),
    )
    assert len(slots.images) == len(names)
    fs.label.export(study, str(tmp_path / "out"))
    assert fs.label.import_(study, str(tmp_path / "truth")).new == len(names)
    assert fs.rank(study, resamples=20, engine="local").labels["used"] == len(names)


def _five(root: Path) -> Path:
    path = root / "classes.json"
    path.write_text(json.dumps({"classes": list(made.NAMES)}))
    return path


def test_a_read_only_study_says_so(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = made.bytes_under(study, "*.parquet", "*.toml")
    err = refused_line("predict", study, f"one={corpus.models['model-0']}", "--engine", "local")
    assert "No space left on device" in err
    assert made.bytes_under(study, "*.parquet", "*.toml") == before
    monkeypatch.undo()
    assert main(["predict", str(study), f"one={corpus.models['model-0']}", "--engine", "local"]) == 0


def test_labels_of_the_wrong_size_are_failures_and_the_rest_is_kept(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    made.write(corpus.truth / "part0" / "photo 000.png", np.zeros((18, 24), np.uint8))
    result = fs.label.import_(study, str(corpus.truth))
    assert (result.new, result.failures) == (5, 1)
    assert "both must have the same size" in failures(Path(study))[0]["reason"]


def test_a_damaged_part_is_noticed(corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    fs.predict(str(study), corpus.models, engine="local")
    part = next((study / "predictions" / "model-0").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    assert "is missing or damaged" in refused_line("compare", study, "--engine", "local")


def test_names_that_differ_in_case_alone_are_refused(study: str, corpus: made.Corpus, tmp_path: Path) -> None:
    maps, others = list(corpus.models.values())[:2]
    with refused(StudyError, "model 'Q' and model 'q' differ only in upper and lower case"):
        fs.predict(study, {"q": str(maps), "Q": str(maps)}, engine="local")
    fs.predict(study, {"q": str(maps), "other": str(others)}, engine="local")
    with refused(StudyError, "model 'Q' and model 'q' differ only"):
        fs.predict(study, {"Q": str(maps)}, engine="local")
    with refused(StudyError, "model 'Q' and model 'q' differ only"):
        fs.predict(study, rename={"other": "Q"})
    fs.predict(study, rename={"q": "Q"})
    with refused(StudyError, "model 'b' and model 'B' differ only"):
        fs.measure(
            str(corpus.truth),
            {"B": str(maps), "b": str(maps)},
            classes=str(corpus.classes),
            output=str(tmp_path / "out"),
        )
    fs.compare(study, engine="local")
    fs.select(study, as_="Mine", engine="local")
    with refused(StudyError, "selection 'mine' and selection 'Mine' differ only"):
        fs.select(study, as_="mine", engine="local")
    fs.label.import_(study, str(corpus.truth), truth="people")
    with refused(StudyError, "truth 'People' and truth 'people' differ only"):
        fs.label.import_(study, str(corpus.truth), truth="People")
