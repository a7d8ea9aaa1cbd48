"""A study whose parts lie in a store is the local study, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import loopback
import made
from faultscape.errors import CorpusError, StudyError
from faultscape.study.parts import read_manifest
from faultscape.verbs.verb import group_options
from refusals import refused

ROOMS = ("predictions", "truth", "pairs", "measures/statistics")


def line(root: Path, images: str, corpus: made.Corpus, **options: object) -> str:
    """A whole competition, up to its report; returns the study."""
    study = str(root)
    fs.collect(
        study, images, classes=corpus.classes, **group_options(fs.collect, {"shard_size": 4, **options})
    )
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, per_class=1)
    fs.label.export(study, str(root.parent / f"{root.name}-labels"))
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, resamples=20)
    fs.report(study)
    return study


@pytest.fixture
def stored(corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path) -> str:
    """A study of local images that has collected, with its store at s3://BUCKET/studies/one."""
    study = str(tmp_path / "stored")
    fs.collect(
        study,
        corpus.photos,
        classes=corpus.classes,
        storage=fs.options.Storage(shard_size=4, store=f"{bucket.uri}/studies/one"),
    )
    return study


@pytest.mark.slow
def test_a_study_in_a_store_is_the_local_one_byte_for_byte_and_ends_with_nothing_to_do(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    bucket.upload(corpus.photos, "photos/")
    line(tmp_path / "local", str(corpus.photos), corpus)
    study = line(
        tmp_path / "far", f"{bucket.uri}/photos", corpus, store=f"{bucket.uri}/studies/far", probe=True
    )
    for name in ("local", "far"):
        fs.measure(str(tmp_path / name), engine="local", resamples=20, worst=1)
    here = {
        path.relative_to(tmp_path / "local").as_posix(): path.read_bytes()
        for room in ROOMS
        for path in sorted((tmp_path / "local" / room).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    assert {name.split("/")[0] for name in here} == {"predictions", "truth", "pairs", "measures"}
    assert bucket.objects("studies/far/") == {
        name: data for name, data in here.items() if not name.endswith(".npz")
    }
    for name in ("selection.csv", "standings.json"):
        far, local = ((tmp_path / where / name).read_text().splitlines() for where in ("far", "local"))
        assert [
            (a, b) for a, b in zip(far, local, strict=True) if a != b and '"photos"' not in a
        ] == []  # a store tells photos apart by its own marks
    assert not list((tmp_path / "far").rglob("*/*-????????????????.parquet"))
    assert fs.status(study).next == ""
    assert "data:image" in (tmp_path / "far" / "report.html").read_text()
    exported = [
        {p.name: p.read_bytes() for p in (tmp_path / f"{n}-labels").rglob("*.png")} for n in ("local", "far")
    ]
    assert exported[0] == exported[1] != {}


def test_a_part_is_one_request_to_write_and_what_is_finished_is_not_written_again(
    corpus: made.Corpus, stored: str, bucket: loopback.Bucket
) -> None:
    with bucket.requests() as asked:
        fs.predict(stored, {"a": corpus.models["model-0"]}, engine="local")
    parts = [path for method, path, _ in asked if method in ("PUT", "POST") and path.endswith(".parquet")]
    assert len(parts) == len(set(parts)) == 2
    with bucket.requests() as asked:
        fs.predict(stored, {"a": corpus.models["model-0"]}, engine="local")
    assert not [entry for entry in asked if entry[0] in ("PUT", "POST")]


@pytest.mark.slow
def test_status_asks_as_often_for_many_parts_as_for_few_and_never_lists_the_bucket(
    bucket: loopback.Bucket, tmp_path: Path
) -> None:
    asked_of = {}
    for size in (6, 1):
        corpus, study = made.corpus(tmp_path / f"c{size}", images=6, models=2), str(tmp_path / f"s{size}")
        fs.collect(
            study,
            corpus.photos,
            classes=corpus.classes,
            storage=fs.options.Storage(shard_size=size, store=f"{bucket.uri}/s{size}"),
        )
        fs.predict(study, corpus.models, engine="local")
        fs.compare(study, engine="local")
        with bucket.requests() as asked:
            fs.status(study)
        asked_of[size] = asked
    assert len(asked_of[1]) == len(asked_of[6]) < 40
    listings = [query for method, path, query in asked_of[1] if method == "GET" and path == f"/{bucket.name}"]
    assert listings
    assert all("prefix=s1" in query for query in listings)


def test_a_kill_between_part_and_manifest_leaves_nothing_that_counts_and_the_next_line_clears_it_away(
    corpus: made.Corpus, stored: str, bucket: loopback.Bucket
) -> None:
    bucket.server.refusing = lambda method, path: (
        "403 Forbidden" if method == "PUT" and path.endswith("manifest.json") else None
    )
    with refused(StudyError, "rejected these credentials"):
        fs.predict(stored, {"a": corpus.models["model-0"]}, engine="local")
    bucket.server.refusing = None
    left = set(bucket.objects("studies/one/"))
    assert len(left) == 1
    assert read_manifest(Path(stored) / "predictions" / "a") == {}
    assert "a: 2 shards to do" in str(fs.status(stored))
    bucket.put("studies/one/predictions/a/00009-0123456789abcdef.parquet", b"half")
    bucket.put("studies/one/predictions/a/mine.parquet", b"somebody's own")
    fs.predict(stored, {"a": corpus.models["model-0"]}, engine="local")
    names = {name.split("/")[-1] for name in bucket.objects("studies/one/")}
    assert "mine.parquet" in names
    assert "00009-0123456789abcdef.parquet" not in names
    assert len([name for name in names if name.startswith("0000")]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_a_part_that_is_damaged_or_gone_is_told_with_what_to_do_and_made_again(
    corpus: made.Corpus, stored: str, bucket: loopback.Bucket, harm: str
) -> None:
    fs.predict(stored, dict(list(corpus.models.items())[:2]), engine="local")
    (key,) = [name for name in bucket.objects() if "model-0/00001" in name]
    bucket.put(key, b"PAR1 nothing of worth") if harm == "damaged" else bucket.delete(key)
    with refused(StudyError, rf"{bucket.uri}/{key} is missing or damaged; delete it.* run predict again"):
        fs.compare(stored, engine="local")
    bucket.delete(key)
    fs.predict(stored, {"model-0": corpus.models["model-0"]}, engine="local")
    assert fs.compare(stored, engine="local").parts_made > 0


@pytest.mark.slow
def test_workers_in_processes_write_the_same_bytes_to_a_store(
    corpus: made.Corpus, stored: str, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    fs.predict(stored, corpus.models, engine="processes", workers=2)
    local = str(tmp_path / "local")
    made.collected(corpus, local, 4)
    fs.predict(local, corpus.models, engine="local")
    assert bucket.objects("studies/one/predictions/") == made.bytes_under(
        Path(local) / "predictions", "*"
    ) | {k.removeprefix("predictions/"): v for k, v in made.bytes_under(Path(local), "predictions").items()}


def test_a_store_is_fixed_once_parts_lie_in_it_and_belongs_to_one_study(
    corpus: made.Corpus, stored: str, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    # nothing lies in it yet
    fs.collect(stored, str(corpus.photos), storage=fs.options.Storage(store=f"{bucket.uri}/studies/two"))
    fs.predict(stored, {"a": corpus.models["model-0"]}, engine="local")
    fs.collect(stored, str(corpus.photos), storage=fs.options.Storage(store=f"{bucket.uri}/studies/two"))
    with refused(
        StudyError,
        r"are stored in s3://.*/studies/two, and --store does not move them.*store = .*or create a new study",
    ):
        fs.collect(stored, str(corpus.photos), storage=fs.options.Storage(store=f"{bucket.uri}/elsewhere"))
    with refused(StudyError, "contains the parts of another study"):
        fs.collect(
            tmp_path / "other",
            corpus.photos,
            classes="voc",
            storage=fs.options.Storage(store=f"{bucket.uri}/studies/two"),
        )


@pytest.mark.slow
@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("s3://", "is not a store address"),
        ("http://bucket/x", "is not a store address"),
        ("s3://key:secret@bucket/x", "credentials must not be part of an address"),
        ("s3://no-such-bucket-here/x", "bucket 'no-such-bucket-here' does not exist"),
        ("s3://bucket/x?endpoint_override=127.0.0.1:9&scheme=http", "the store cannot be reached"),
    ],
)
def test_a_wrong_store_is_one_sentence_and_no_study(
    corpus: made.Corpus, tmp_path: Path, uri: str, words: str
) -> None:
    with refused(StudyError, words) as caught:
        fs.collect(
            tmp_path / "new", corpus.photos, classes=corpus.classes, storage=fs.options.Storage(store=uri)
        )
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "new" / "study.toml").exists()


def test_wrong_credentials_are_one_sentence_that_says_where_to_give_others(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    bucket.server.refusing = lambda _method, _path: "403 Forbidden"
    with refused(StudyError, r"rejected these credentials; set others with AWS_ACCESS_KEY_ID"):
        fs.collect(
            tmp_path / "new",
            corpus.photos,
            classes=corpus.classes,
            storage=fs.options.Storage(store=f"{bucket.uri}/x"),
        )
    with refused(CorpusError, r"rejected these credentials"):
        fs.collect(str(tmp_path / "new"), f"{bucket.uri}/photos", classes=str(corpus.classes))


def test_the_endpoint_may_stand_in_the_address(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    end = f"?scheme=http&endpoint_override={bucket.server.url.removeprefix('http://')}"
    bucket.upload(corpus.photos, "photos/")
    study = str(tmp_path / "s")
    fs.collect(
        study,
        f"{bucket.uri}/photos{end}",
        classes=corpus.classes,
        storage=fs.options.Storage(store=f"{bucket.uri}/parts{end}"),
    )
    fs.predict(study, {"a": corpus.models["model-0"]}, engine="processes", workers=2)
    assert "manifest.json" in bucket.objects("parts/predictions/a/")
    assert len(fs.study.tables.corpus.read_corpus(Path(study))) == 6
