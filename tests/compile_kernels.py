"""Compile the kernels that most tests use, before several workers would each compile them for themselves;
numba keeps them beside the package.

Run as ``compile_kernels.py line`` (a study from images to a ranking), ``scores`` (measuring maps and scores)
or ``stress`` (corrupting and blending): they share few kernels.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import faultscape as fs
import made
from faultscape.verbs.verb import group_options


def line(corpus: made.Corpus) -> None:
    study, network = (
        str(corpus.root / "study"),
        Path(fs.__file__).parent / "prediction" / "networks" / "mobile.onnx",
    )
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, corpus.models, engine="local")
    fs.predict(study, {"net": str(network)}, engine="local", unmapped="void", keep=["probabilities"])
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, engine="local", resamples=10)


def scores(corpus: made.Corpus) -> None:
    rng = np.random.default_rng(0)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        (corpus.root / "sure" / id_).parent.mkdir(parents=True, exist_ok=True)
        np.save(corpus.root / "sure" / f"{id_}.npy", rng.random(truth.shape, np.float32))
    models, sure = (
        [f"{name}={path}" for name, path in corpus.models.items()],
        f"model-1={corpus.root / 'sure'}",
    )
    words = {
        "classes": str(corpus.classes),
        "confidence": sure,
        "doubt": sure,
        "output": str(corpus.root / "measured"),
    }
    fs.measure(str(corpus.truth), *models, engine="local", resamples=10, **group_options(fs.measure, words))


def stress(corpus: made.Corpus) -> None:
    study = str(corpus.root / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.label.import_(study, str(corpus.truth))
    fs.stress.corrupt(study, preset="hendrycks19", severities="3", engine="local", write=corpus.root / "out")
    fs.stress.blend(study, preset="fishyscapes-v2", engine="local", blending=fs.options.Blending(fog=1.0))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        {"line": line, "scores": scores, "stress": stress}[sys.argv[1]](
            made.corpus(Path(folder), images=4, models=2)
        )
