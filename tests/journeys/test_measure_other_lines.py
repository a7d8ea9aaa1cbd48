"""Another line into the same folder: measure.json is what a fresh folder would have got, whatever was
measured there before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import made
from faultscape.cli import main
from refusals import refused_line


def into(out: Path, *words: object) -> bytes:
    assert main(["measure", *map(str, words), "-o", str(out), "--resamples", "20", "--engine", "local"]) == 0
    return (out / "measure.json").read_bytes()


def test_scores_under_a_name_that_had_maps_take_nothing_from_them(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=1)
    rng = np.random.default_rng(2)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        made.write(tmp_path / "masks" / f"{id_}.png", (truth == 2).astype(np.uint8))
        (tmp_path / "scores" / id_).parent.mkdir(parents=True, exist_ok=True)
        np.save(
            tmp_path / "scores" / f"{id_}.npy", (rng.random(truth.shape) + (truth == 2)).astype(np.float32)
        )
    (
        corpus.models["model-0"] / f"{corpus.ids[0]}.png"
    ).unlink()  # a failure of the maps is none of the scores
    of_maps = (
        corpus.truth,
        f"model-0={corpus.models['model-0']}",
        "--classes",
        corpus.classes,
        "--no-boundaries",
    )
    of_scores = (tmp_path / "masks", "--anomaly", f"model-0={tmp_path / 'scores'}")
    first = into(tmp_path / "out", *of_maps)
    assert into(tmp_path / "out", *of_scores) == into(tmp_path / "fresh", *of_scores)
    assert into(tmp_path / "out", *of_maps) == first


def test_damaged_findings_of_scores_are_told_and_made_again_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    for k in range(3):
        mask = (rng.random((9, 8)) < 0.3).astype(np.uint8)
        made.write(tmp_path / "masks" / f"{k}.png", mask)
        made.write(tmp_path / "scores" / f"{k}.png", rng.integers(0, 65535, mask.shape, np.uint16))
    words = (tmp_path / "masks", "--anomaly", f"a={tmp_path / 'scores'}")
    first = into(tmp_path / "out", *words)
    (found,) = (tmp_path / "out" / "statistics").rglob("scores-*.npz")
    for data in (found.read_bytes()[:-99], b"", b"junk"):
        found.write_bytes(data)
        capsys.readouterr()
        said = refused_line("measure", *map(str, words), "-o", str(tmp_path / "out"))
        assert said.count("\n") == 1
        assert "is damaged; delete it and run the same line again" in said
    found.unlink()
    assert into(tmp_path / "out", *words) == first
