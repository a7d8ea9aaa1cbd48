"""Models of the hub: what is cached is found without a network, its commit is recorded, and what cannot be
had is said at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import random_networks

import faultscape as fs
import made
from faultscape.errors import ModelError
from faultscape.prediction import catalogue
from faultscape.prediction.sources import huggingface as hub
from refusals import refused

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    fs.collect(str(tmp_path / "study"), str(corpus.photos), classes=str(corpus.classes))
    return tmp_path / "study"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, with no network to fill it."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(cache: Path, commit: str = COMMIT) -> Path:
    """Lay a model into the cache as the hub's own library does."""
    root = cache / "models--some--model"
    random_networks.save("segformer", root / "snapshots" / commit)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs" / "main").write_text(commit)
    return root / "snapshots" / commit


@pytest.mark.slow
def test_a_hub_that_cannot_be_reached_ends_at_once_with_the_reason_and_what_to_do(
    study: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "home")}
    environment.pop("HF_HUB_OFFLINE", None)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "faultscape", "predict", str(study), "m=hf:some/model"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert time.perf_counter() - start < 60  # some seconds, on a machine that does nothing else
    (line,) = done.stderr.strip().splitlines()
    assert "hf:some/model: the hub cannot be reached and the model is not in its cache (" in line
    assert (
        "on a machine with network access run `hf download some/model`, copy that folder here, and pass the folder instead of the model"
        in line
    )
    assert "m" not in fs.study.settings.read_settings(study).models


@pytest.mark.usefixtures("cache")
def test_offline_and_not_cached_says_so_too() -> None:
    with refused(
        ModelError, r"hf:some/model: the hub cannot be reached and the model is not in its cache \(.+\); on"
    ) as caught:
        hub.fetch("some/model")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "name", ["model/with/three", "a--b", "sp ace/model", "../../etc", "owner/", "x" * 200]
)
def test_a_name_that_none_can_have_is_told(name: str) -> None:
    with refused(ModelError, r"expected a hub model as OWNER/MODEL, for example hf:nvidia/segformer"):
        hub.fetch(name)


def test_what_is_cached_is_found_and_its_commit_is_recorded(cache: Path, study: Path) -> None:
    folder = put(cache)
    assert hub.fetch("some/model") == (str(folder), COMMIT)
    assert fs.predict(str(study), {"m": "hf:some/model"}, engine="local").models["m"] == (2, 0)
    said = fs.study.settings.read_settings(study).models["m"]
    assert (said.kind, said.source, said.options["revision"]) == ("hub", "hf:some/model", COMMIT)
    before = made.bytes_under(study, "predictions")
    shutil.copytree(folder, folder.parent / ("f" * 40))
    (cache / "models--some--model" / "refs" / "main").write_text("f" * 40)
    fs.predict(str(study), {"m": "hf:some/model"}, engine="local")
    # what was recorded holds
    assert fs.study.settings.read_settings(study).models["m"].options["revision"] == COMMIT
    assert made.bytes_under(study, "predictions") == before
    assert hub.revision_of("hf:some/model") == "f" * 40
    assert hub.fetch(f"some/model@{COMMIT}") == (str(folder), COMMIT)


def test_a_cached_model_and_its_folder_give_the_same_labels(cache: Path) -> None:
    import numpy as np

    folder = put(cache)
    photo = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    (one,), (two,) = (
        catalogue.open_model("hf:some/model").predict([photo]),
        catalogue.open_model(str(folder)).predict([photo]),
    )
    assert (one.labels == two.labels).all()
