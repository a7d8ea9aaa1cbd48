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
from refusals import refused_line


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
        study,
        maps=fs.options.MapRules(constraints="none"),
        per_class=6,
        sampling=fs.options.Sampling(spares=0),
    )
    for other in ("model-0", "model-2"):
        seen = {r.image for r in slots.rows if {r.defender, r.attacker} == {other, "model-1"}}
        assert seen == {"part1/photo 005"}  # the image leaves that model's pairs only
    assert len({r.image for r in slots.rows if {r.defender, r.attacker} == {"model-0", "model-2"}}) == 6


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
        maps=fs.options.MapRules(constraints="none"),
        per_class=len(names),
        sampling=fs.options.Sampling(spares=0, keep_duplicates=True),
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


def test_a_model_may_be_given_its_own_name_in_another_case(study: str, corpus: made.Corpus) -> None:
    fs.predict(study, {"q": str(corpus.models["model-0"])}, engine="local")
    fs.predict(study, rename={"q": "Q"})
    assert fs.Study(study).models == ("Q",)
