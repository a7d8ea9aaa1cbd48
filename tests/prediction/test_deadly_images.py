"""An image that kills the process is found, and is one failure: all others of its shard get the maps that they would have without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.prediction.batches import unrecord
from faultscape.prediction.inference import Inference
from faultscape.prediction.inputs import Inputs
from faultscape.prediction.network import Answer
from faultscape.prediction.shard_work import DEADLY, Work
from faultscape.study import label_maps
from faultscape.study.corpus import Image, read_corpus, shards
from faultscape.study.settings import read_settings
from faultscape.study.spool import Spool
from faultscape.study.tables import read_failures

FUNCTION = """
import os, signal
import numpy as np

def segment(photo):
    if (photo[0, 0] == (1, 2, 3)).all():
        os.kill(os.getpid(), signal.SIGKILL)
    return photo[..., 0] // 52
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    corpus = made.corpus(tmp_path / "corpus", images=10, models=1)
    photo = fs.corpus.read_rgb(corpus.photos / "part0/photo 004.png").copy()
    photo[0, 0] = (1, 2, 3)
    made.write(corpus.photos / "part0/photo 004.png", photo)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes), shard_size=6)
    return tmp_path / "study"


def test_a_worker_that_dies_over_one_image_each_time_loses_that_image_alone(study: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    assert fs.predict(str(study), {"mine": f"{tmp_path / 'mine.py'}:segment"}, workers=2).models["mine"] == (9, 1)
    (failure,) = read_failures(study)
    assert (failure.stage, failure.image, failure.reason) == ("predict", "part0/photo 004", DEADLY)
    for number, rows in shards(read_corpus(study)).items():
        stored = label_maps.read_maps(label_maps.predictions(study, "mine"), number)
        for image in rows:
            if image.id != failure.image:
                assert (fs.maps.decode(stored[image.id]) == fs.corpus.read_rgb(image.source)[..., 0] // 52).all()
    assert not list(study.rglob(".spool-*"))


class Died(BaseException):
    """A process that ends, seen from outside."""


class Deadly:
    """A network of batches of four that dies over one picture, and remembers what it was shown."""

    name, batch, device, class_names, channels, marginal, notes = "deadly", 4, "cpu", [], 5, False, ()

    def __init__(self) -> None:
        self.seen: list[int] = []

    def prepare(self, photo: np.ndarray, target: tuple[int, int], size: tuple[int, int] | None) -> np.ndarray:
        return Inputs(whole=True).prepare(photo, target, size)

    def run(self, block: np.ndarray, embeddings: Sequence[str]) -> list[Answer]:
        del embeddings
        self.seen.append(len(block))
        if any((picture[:, 0, 0] == (1, 2, 3)).all() for picture in block):
            raise Died
        return [Answer(labels=picture[0] // 52) for picture in block]


def test_a_batch_is_split_after_two_deaths_and_only_then(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Deadly()
    monkeypatch.setattr("faultscape.prediction.opening.held_model", lambda *_: Inference(network))
    rows: list[Image] = shards(read_corpus(study))[0]
    deadly = next(k for k, image in enumerate(rows) if image.id == "part0/photo 004")
    model: dict[str, Any] = {"kind": "onnx", "source": "x", "options": {}, "labels": {}, "device": "", "digest": ""}
    ticks: list[int] = []
    ends = []
    for attempt in range(4):
        spool = Spool(tmp_path / "spool", "key")
        try:
            Work(read_settings(study), model, {}).fill(spool, rows, ticks.append, attempt)
            ends.append("done")
        except Died:
            ends.append("died")
        found = [row for code in spool for row in unrecord(code).rows]
        spool.close()
    assert ends == ["died", "died", "died", "done"]
    assert deadly < 4  # in the first batch
    assert (
        network.seen.count(4) == 2
    )  # whole in the first two attempts, one by one in the third; the deadly one is not shown again
    assert network.seen.count(1) == 4
    assert [row.id for row in found] == [image.id for image in rows]
    assert [row.problem for row in found if row.runs is None] == [DEADLY]
    whole = {row.id: fs.maps.decode(row.runs) for row in found if row.runs is not None}
    assert all((whole[image.id] == fs.corpus.read_rgb(image.source)[..., 0] // 52).all() for image in rows if image.id in whole)
