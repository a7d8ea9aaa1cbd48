"""A small corpus, a study that has collected it, one with maps of models, one whose labels are answers, and
one in which a network was trained, for journeys that begin there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made
import made_answers
import made_training
from golden import STUDY, copied


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=3)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return str(made.collected(corpus, tmp_path / "study", shard_size=4))


def _unlabelled(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=10, models=3)
    made.predicted(str(made.collected(corpus, folder / STUDY, 1024)), corpus.models)
    return corpus


@pytest.fixture
def unlabelled(tmp_path: Path) -> tuple[str, made.Corpus]:
    """A study of ten images with the maps of three models and no label, and what is true of it."""
    return copied("unlabelled", _unlabelled, tmp_path / "study")


@pytest.fixture
def answers(tmp_path: Path) -> made_answers.Answers:
    return made_answers.study(tmp_path)


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> made_training.Trained:
    return made_training.train_plain(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def trained(trained_once: made_training.Trained, tmp_path: Path) -> made_training.Trained:
    return made_training.copy_of(trained_once, tmp_path / "trained")


@pytest.fixture
def predicted(trained: made_training.Trained) -> made_training.Trained:
    """The study with the network predicted under its own name."""
    fs.predict(trained.study, {"plain": trained.source}, engine="local")
    return trained


@pytest.fixture(scope="session")
def blended_once(
    trained_once: made_training.Trained, tmp_path_factory: pytest.TempPathFactory
) -> made_training.Trained:
    """The study with unknown objects in its training images, and its network predicted."""
    made = made_training.copy_of(trained_once, tmp_path_factory.mktemp("blended") / "trained")
    for name in ("train", "val"):
        fs.stress.blend(  # with this seed, every image has room for its object
            made.study,
            preset="fishyscapes-v2",
            set_=name,
            seed=2,
            blending=fs.options.Blending(smallest=8),
            engine="local",
        )
    fs.predict(made.study, {"plain": made.source}, engine="local")
    return made


@pytest.fixture
def blended(blended_once: made_training.Trained, tmp_path: Path) -> made_training.Trained:
    return made_training.copy_of(blended_once, tmp_path / "blended")
