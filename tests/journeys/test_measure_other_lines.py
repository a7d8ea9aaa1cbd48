"""Another line into the same folder: measure.json is what a fresh folder would have got, whatever was measured there before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import made
from faultscape.cli import main


def into(out: Path, *words: object) -> bytes:
    assert main(["measure", *map(str, words), "-o", str(out), "--resamples", "20", "--engine", "local"]) == 0
    return (out / "measure.json").read_bytes()


def test_scores_under_a_name_that_had_maps_take_nothing_from_them(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=1)
    rng = np.random.default_rng(2)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        made.write(tmp_path / "masks" / f"{id_}.png", (truth == 2).astype(np.uint8))
        (tmp_path / "scores" / id_).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "scores" / f"{id_}.npy", (rng.random(truth.shape) + (truth == 2)).astype(np.float32))
    (corpus.models["model-0"] / f"{corpus.ids[0]}.png").unlink()  # a failure of the maps is none of the scores
    of_maps = (corpus.truth, f"model-0={corpus.models['model-0']}", "--classes", corpus.classes, "--no-boundaries")
    of_scores = (tmp_path / "masks", "--anomaly", f"model-0={tmp_path / 'scores'}")
    first = into(tmp_path / "out", *of_maps)
    assert into(tmp_path / "out", *of_scores) == into(tmp_path / "fresh", *of_scores)
    assert into(tmp_path / "out", *of_maps) == first
