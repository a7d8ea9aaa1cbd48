"""An image that kills the process is found, and is one failure: all others of its shard get the maps that
they would have without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.engine.tasks import Ledger
from faultscape.prediction.batches import Row, unrecord
from faultscape.prediction.inference import Inference
from faultscape.prediction.inputs import Inputs
from faultscape.prediction.networks import OpenNetwork
from faultscape.prediction.source import Part
from faultscape.prediction.sources.network import Answer, Network
from faultscape.study.settings import read_settings
from faultscape.study.spool import Spool
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, read_corpus, shards
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.predict.work import DEADLY, fill

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
    photo = fs.formats.read_rgb(corpus.photos / "part0/photo 004.png").copy()
    photo[0, 0] = (1, 2, 3)
    made.write(corpus.photos / "part0/photo 004.png", photo)
    made.collected(corpus, tmp_path / "study", 6)
    return tmp_path / "study"


@pytest.mark.slow
def test_a_worker_that_dies_over_one_image_each_time_loses_that_image_alone(
    study: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    assert fs.predict(study, {"mine": f"{tmp_path / 'mine.py'}:segment"}, workers=2).models["mine"] == (
        9,
        1,
    )
    (failure,) = read_failures(study)
    assert (failure.stage, failure.image, failure.reason) == ("predict", "part0/photo 004", DEADLY)
    for number, rows in shards(read_corpus(study)).items():
        stored = label_maps.read_maps(label_maps.predictions(study, "mine"), number)
        for image in rows:
            if image.id != failure.image:
                assert (
                    fs.maps.decode(stored[image.id]) == fs.formats.read_rgb(image.source)[..., 0] // 52
                ).all()
    assert not list(study.rglob(".spool-*"))


class Died(BaseException):
    """A process that ends, seen from outside."""


class Deadly(Network):
    """A network of batches of some pictures that remembers how many it was shown at once; ``fate`` may end
    its process.
    """

    name, class_names, channels = "deadly", [], 5
    dead = False

    def __init__(self, batch: int, fate: Callable[[np.ndarray, int], bool]) -> None:
        self.batch, self.fate = batch, fate
        self.seen: list[int] = []

    def prepare(self, photo: np.ndarray, target: tuple[int, int], size: tuple[int, int] | None) -> np.ndarray:
        return Inputs(whole=True).prepare(photo, target, size)

    def run(self, block: np.ndarray, embeddings: Sequence[str]) -> list[Answer]:
        del embeddings
        if not self.dead:
            self.seen.append(len(block))
            self.dead = self.fate(block, len(self.seen))
        if self.dead:
            raise Died
        return [Answer(labels=picture[0] // 52) for picture in block]


def worked(study: Path, rows: list[Image], network: Any, lost: int = 0) -> tuple[list[Row], list[int]]:
    """Do a shard as the engine would, with workers that die; ``lost`` of them before they began. Returns its
    rows, and each attempt's number.
    """
    model = OpenNetwork(Inference(network), read_settings(study), {})
    ledger, attempts = Ledger([{}], lambda _: None), []
    for _ in range(lost):
        ledger.hear(0, {"died": True})

    def tick(items: int) -> None:
        ledger.hear(0, {"tick": items})

    while True:
        network.dead = False
        attempts.append(ledger.accounts[0].attempt)
        spool = Spool(study / "predictions" / "x" / ".spool-0", "key")
        try:
            fill(spool, model, rows, Part(), tick, attempts[-1])
            return [row for code in spool for row in unrecord(code).rows], attempts
        except Died:
            ledger.hear(0, {"died": True})
        finally:
            spool.close()


def right(rows: list[Image], found: list[Row]) -> bool:
    """Whether all images are there, in order, each with the map that it would have alone, or a problem."""
    maps = {row.id: fs.maps.decode(row.runs) for row in found if row.runs is not None}
    good = all(
        (maps[i.id] == fs.formats.read_rgb(i.source)[..., 0] // 52).all() for i in rows if i.id in maps
    )
    return good and [row.id for row in found] == [image.id for image in rows]


@pytest.mark.parametrize("place", [0, 3])
def test_a_batch_is_split_after_two_deaths_and_an_image_is_blamed_after_two_more(
    study: Path, place: int
) -> None:
    rows: list[Image] = shards(read_corpus(study))[0]
    deadly = next(k for k, image in enumerate(rows) if image.id == "part0/photo 004")
    rows = [*rows[deadly - place :], *rows[: deadly - place]]  # in the first batch, at this place of it
    network = Deadly(4, lambda block, _: any((picture[:, 0, 0] == (1, 2, 3)).all() for picture in block))
    found, attempts = worked(study, rows, network)
    assert network.seen == [4, 4, *[1] * place, 1, 1, *[1] * (3 - place), 2]
    assert len(attempts) == 5
    assert [(row.id, row.problem) for row in found if row.problem] == [("part0/photo 004", DEADLY)]
    assert right(rows, found)
    assert not [*study.rglob(".writing-*")]


def test_workers_lost_at_unrelated_places_blame_no_image_and_split_no_batch(study: Path) -> None:
    rows: list[Image] = shards(read_corpus(study))[0]
    network = Deadly(2, lambda _, run: run in (1, 3, 5))  # once over each of three batches
    found, attempts = worked(study, rows, network)
    assert attempts == [0, 1, 1, 1]
    assert network.seen == [2] * 6
    assert not [row for row in found if row.problem]
    assert right(rows, found)


def test_an_image_that_was_under_way_once_when_a_worker_was_lost_is_done(study: Path) -> None:
    rows: list[Image] = shards(read_corpus(study))[0]
    network = Deadly(4, lambda _, run: run == 2)  # the second of those that are tried alone
    found, attempts = worked(study, rows, network, lost=2)
    assert attempts == [2, 1]
    assert network.seen == [1, 1, 1, 1, 1, 2]  # a batch that was begun image by image is ended so
    assert not [row for row in found if row.problem]
    assert right(rows, found)
