"""A model whose source is replaced keeps what it has until all of the new is made: a line that fails, or is
killed, costs nothing.
"""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

import children
import faultscape as fs
import made
from faultscape.errors import FaultscapeError, ModelError
from faultscape.prediction import catalogue
from faultscape.study.tables import label_maps
from golden import STUDY, Goldens, copied
from networks_of_tests import colour_network
from refusals import refused

WEIGHTS = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
CODE = """
import os, signal
from pathlib import Path
import numpy as np

LEFT = Path(__file__).with_name("left")

def takes_one():
    for token in LEFT.iterdir():
        try:
            return token.unlink() is None
        except FileNotFoundError:  # another thread took it
            continue
    return False

def ones(photo):
    if LEFT.exists() and not takes_one():
        os.kill(os.getpid(), signal.SIGKILL)
    return np.ones(photo.shape[:2], np.uint8)
"""
RUN = "import sys, faultscape as fs; fs.predict(sys.argv[1], {'m': sys.argv[2]}, engine='local')"


def _of_two(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=8, models=3)
    root = str(made.collected(corpus, folder / STUDY, shard_size=2))
    fs.predict(root, {"m": corpus.models["model-0"], "other": corpus.models["model-1"]}, engine="local")
    fs.compare(root, engine="local")
    return corpus


@pytest.fixture
def corpus() -> made.Corpus:
    return Goldens.made("of two", _of_two)[1]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study in which all is done as far as labels, with the model m of four shards."""
    return Path(copied("of two", _of_two, tmp_path / "study")[0])


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def counting(root: Path) -> dict[str, bytes]:
    """All that counts in a study: neither its log, times and receipts nor what waits beside the parts that
    manifests name.
    """
    named = {
        root / "study.toml",
        root / "failures.csv",
        *root.glob("p*/*/manifest.json"),
        *root.glob("p*/*/.stamps.json"),
    }
    for folder in [*root.glob("predictions/*"), *root.glob("pairs/*")]:
        named |= {
            folder / f"{name}-{part.sha256[:16]}.parquet"
            for name, part in label_maps.read_manifest(folder).items()
        }
    return {str(path.relative_to(root)): path.read_bytes() for path in named if path.exists()}


def of_model(root: Path) -> dict[str, bytes]:
    return {
        name: data
        for name, data in counting(root).items()
        if name.startswith("predictions/m/") and not name.endswith(".stamps.json")
    }


def refused_maps(folder: Path, corpus: made.Corpus) -> str:
    for id_ in corpus.ids:
        made.write(folder / f"{id_}.png", np.full((36, 48), 77, np.uint8))
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("nowhere", "m=nowhere: there is no such folder or file; m keeps its maps from .*model-0"),
        ("cannot open", "net.onnx.*; m keeps its maps from .*model-0"),
        ("first batch", "net.onnx: its files changed while this line ran.*; m keeps its maps from .*model-0"),
        (
            "every image",
            (
                "no map of m=.*bad could be used: 8 images without one; part.*77.*; m keeps its maps from"
                " .*model-0"
            ),
        ),
    ],
)
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_source_that_fails_leaves_the_maps_and_says_so(
    case: str,
    words: str,
    engine: str,
    study: Path,
    corpus: made.Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, release = tmp_path / "net.onnx", catalogue.release
    if case == "cannot open":
        network.write_bytes(b"no network")
    if case == "first batch":
        colour_network(network, WEIGHTS)
        monkeypatch.setattr(catalogue, "release", lambda: (release(), colour_network(network, -WEIGHTS)))
    sources = {"nowhere": "nowhere", "every image": refused_maps(tmp_path / "bad", corpus)}
    before, state = counting(study), fs.status(str(study))
    with refused(FaultscapeError, words):
        fs.predict(str(study), {"m": sources.get(case, str(network))}, engine=engine)
    assert counting(study) == before
    assert fs.status(str(study)).stages == state.stages
    assert fs.status(str(study)).next == state.next


def test_a_model_beside_one_that_fails_is_stored(study: Path, corpus: made.Corpus, tmp_path: Path) -> None:
    line = {"m": refused_maps(tmp_path / "bad", corpus), "third": str(corpus.models["model-2"])}
    with refused(ModelError, r"no map of m=.*m keeps its maps from"):
        fs.predict(str(study), line, engine="local")
    assert fs.predict(study, {"third": corpus.models["model-2"]}, engine="local").models == {"third": (8, 0)}
    assert not list(study.glob(".made-*"))


def test_a_source_of_which_some_maps_can_be_used_takes_over(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    folder = refused_maps(tmp_path / "some", corpus)
    made.write(Path(folder) / f"{corpus.ids[0]}.png", np.ones((36, 48), np.uint8))
    assert fs.predict(str(study), {"m": folder}, engine="local").models == {"m": (1, 7)}
    assert made.states(str(study))["compare"] == "stale"


def killed(study: Path, source: str, code: Path, images: int) -> None:
    """Run a line that is killed when so many images are done."""
    left = code.with_name("left")
    left.mkdir()
    for token in range(images):
        (left / str(token)).touch()
    children.python("-c", RUN, study, source, status=-signal.SIGKILL)
    left.rmdir()


@pytest.mark.slow
def test_a_line_killed_half_way_changed_nothing_and_goes_on_where_it_was(
    study: Path, corpus: made.Corpus, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, state = counting(study), fs.status(str(study))
    killed(study, f"{code}:ones", code, 6)
    assert counting(study) == before
    assert (fs.status(str(study)).stages, fs.status(str(study)).next) == (state.stages, state.next)
    # another line costs it nothing
    fs.predict(str(study), {"third": corpus.models["model-2"]}, engine="local")
    made_now, put_maps = [], label_maps.put_maps
    monkeypatch.setattr(
        label_maps,
        "put_maps",
        lambda where, shard, maps: made_now.append(shard) or put_maps(where, shard, maps),
    )
    fs.predict(str(study), {"m": f"{code}:ones"}, engine="local")
    assert len(made_now) < 4
    assert 0 not in made_now
    fresh = made.collected(corpus, study.with_name("fresh"), shard_size=2)
    fs.predict(str(fresh), {"m": f"{code}:ones"}, engine="local")
    assert of_model(study) == of_model(fresh)
    assert not list(study.glob(".made-*"))


@pytest.mark.slow
def test_the_earlier_source_named_again_drops_what_was_made_of_another(
    study: Path, corpus: made.Corpus, code: Path
) -> None:
    before, parts = counting(study), made.bytes_under(study, "predictions/m")
    killed(study, f"{code}:ones", code, 6)
    assert len(made.bytes_under(study, "predictions/m")) > len(parts)
    fs.predict(str(study), {"m": corpus.models["model-0"]}, engine="local")
    fs.compare(str(study), engine="local")
    assert counting(study) == before
    assert made.bytes_under(study, "predictions/m") == parts
    assert not list(study.glob(".made-*"))
    assert not list(study.glob("predictions/m/.spool*"))


def test_jobs_of_an_array_take_over_with_the_first_that_is_done(
    study: Path, corpus: made.Corpus, tmp_path: Path
) -> None:
    bad = refused_maps(tmp_path / "bad", corpus)
    before = counting(study)
    with refused(ModelError, "m keeps its maps from"):
        fs.predict(str(study), {"m": bad}, shard="1/2", engine="local")
    assert counting(study) == before
    fs.predict(str(study), {"m": corpus.models["model-2"]}, shard="1/2", engine="local")
    # nothing of both sources
    assert sorted(label_maps.read_manifest(study / "predictions" / "m")) == ["00000", "00002"]
    fs.predict(str(study), {"m": corpus.models["model-2"]}, shard="2/2", engine="local")
    fresh = made.collected(corpus, tmp_path / "fresh", shard_size=2)
    fs.predict(str(fresh), {"m": corpus.models["model-2"]}, engine="local")
    assert of_model(study) == of_model(fresh)
