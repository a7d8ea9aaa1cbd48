"""A study whose pictures and parts lie in Google Cloud Storage, here one on loopback, is the local study,
byte for byte.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import faultscape as fs
import made
from faultscape.errors import CorpusError, StudyError
from faultscape.study import store
from faultscape.verbs.verb import group_options
from refusals import refused

SERVER = Path(__file__).parents[1] / "google_store.py"
ROOMS = ("predictions", "truth", "pairs", "measures/statistics")


class Bucket:
    """A bucket of a service on this machine; its addresses end with ``options``."""

    def __init__(self, address: str) -> None:
        self._service = f"http://{address}/storage/v1/b/bucket/o"
        self.options = f"?scheme=http&endpoint_override={address}"

    def at(self, key: str) -> str:
        return f"gs://anonymous@bucket/{key}{self.options}"

    def upload(self, folder: Path, prefix: str) -> None:
        for path in filter(Path.is_file, folder.rglob("*")):
            store.put(
                store.parse(self.at(f"{prefix}/{path.relative_to(folder).as_posix()}")), path.read_bytes()
            )

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Everything under a prefix that is not the mark of a study, as the service itself tells it."""
        listed = json.loads(self._ask(f"?prefix={quote(prefix)}"))["items"]
        names = [entry["name"] for entry in listed if not entry["name"].endswith("/.faultscape")]
        return {name.removeprefix(prefix): self._ask(f"/{quote(name, safe='')}?alt=media") for name in names}

    def _ask(self, words: str) -> bytes:
        with urllib.request.urlopen(self._service + words) as answer:
            return answer.read()


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with subprocess.Popen(
        [sys.executable, str(SERVER), "bucket"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        yield Bucket(service.stdout.readline().strip())
        service.kill()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=6, models=3)


def line(root: Path, images: str, corpus: made.Corpus, **options: object) -> Path:
    """A competition up to its standings, and what is measured."""
    study = str(root)
    fs.collect(
        study, images, classes=corpus.classes, **group_options(fs.collect, {"shard_size": 4, **options})
    )
    fs.run(study, corpus.models, goal="failures", engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.run(study, engine="local")  # now that labels are there
    fs.measure(study, engine="local", resamples=20, worst=1)
    return root


def bytes_of(study: Path) -> dict[str, bytes]:
    """What of a local study would lie in a store."""
    return {name: data for name, data in made.bytes_under(study, *ROOMS).items() if not name.endswith(".npz")}


@pytest.mark.slow
def test_a_study_in_google_cloud_storage_is_the_local_one_byte_for_byte(
    corpus: made.Corpus, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.upload(corpus.photos, "photos")
    here = line(tmp_path / "here", str(corpus.photos), corpus)
    far = line(tmp_path / "far", bucket.at("photos"), corpus, store=bucket.at("studies/far"), probe=True)
    assert {name.split("/")[0] for name in bytes_of(here)} == {"predictions", "truth", "pairs", "measures"}
    assert bucket.objects("studies/far/") == bytes_of(here)
    assert not list(far.rglob("*/*-????????????????.parquet"))
    for study in (here, far):
        fs.predict(str(study), rename={"model-0": "first"}, remove=["model-1"])
    assert bucket.objects("studies/far/") == bytes_of(here)
    assert {name.split("/")[1] for name in bytes_of(here) if name.startswith("predictions/")} == {
        "first",
        "model-2",
    }
    for study in (here, far):
        fs.compare(str(study), engine="local")
    assert bucket.objects("studies/far/") == bytes_of(here)


def test_folders_are_seen_that_are_no_objects_themselves(bucket: Bucket) -> None:
    place = store.parse(bucket.at("some"))
    for name in ("a/one", "a/b/two", "three"):
        store.put(place / name, b"data")
    assert store.listed(place, folders=True) == ["a"]
    assert store.listed(place) == ["three"]
    assert store.listed(place, deep=True) == ["a/b/two", "a/one", "three"]
    for _ in range(2):  # that it is gone already is not an error
        store.delete_folder(place / "a")
        assert store.listed(place, deep=True) == ["three"]
    assert store.listed(place, folders=True) == []


def test_what_is_not_there_is_one_sentence(corpus: made.Corpus, bucket: Bucket, tmp_path: Path) -> None:
    with refused(CorpusError, r"^gs://anonymous@bucket/nothing\?.*: no images found; expected files"):
        fs.collect(str(tmp_path / "a"), bucket.at("nothing"), classes=str(corpus.classes))
    with refused(StudyError, r"^gs://anonymous@none/parts.*: bucket 'none' does not exist"):
        fs.collect(
            tmp_path / "b",
            corpus.photos,
            classes=corpus.classes,
            storage=fs.options.Storage(store=bucket.at("parts").replace("bucket", "none", 1)),
        )
