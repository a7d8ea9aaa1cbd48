"""Parts in a store: which, how little of them is read, and what an address means."""

from __future__ import annotations

import errno
import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import loopback
from faultscape.errors import StudyChangedError, StudyError
from faultscape.study import parts, store
from faultscape.study.part_folders import made
from refusals import refused

TABLE = pa.table(
    {"id": [f"image {k}" for k in range(300)], "runs": [bytes([k % 256]) * (k * 7) for k in range(300)]}
)


def test_only_the_four_rooms_of_parts_lie_in_a_store(bucket: loopback.Bucket, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'store = "{bucket.uri}/x"\n')
    inside = [
        tmp_path / "pairs" / "m",
        tmp_path / "truth" / "t",
        tmp_path / "measures" / "statistics" / "t" / "m",
    ]
    for folder in (*inside, tmp_path / "measured" / "statistics" / "t" / "m"):
        sha = parts.put_part(folder, "00000", TABLE)
        parts.write_manifest(folder, {"00000": parts.Part(sha, 300, "")})
    assert set(made(tmp_path)) == set(inside)
    assert {key.split("/")[1] for key in bucket.objects()} == {"pairs", "truth", "measures"}
    assert (tmp_path / "measured" / "statistics" / "t" / "m" / "manifest.json").exists()


def test_a_column_is_read_without_the_part_around_it(bucket: loopback.Bucket, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'store = "{bucket.uri}/x"\n')
    wide = pa.table({"id": ["a", "b"], "runs": [b"\1" * 2_000_000, b"\2" * 2_000_000], "photo": ["x", None]})
    folder = tmp_path / "predictions" / "m"
    part = parts.Part(parts.put_part(folder, "00000", wide), 2, "")
    assert parts.read_small(folder, "00000", part, ["id", "photo", "none"]).to_pydict() == {
        "id": ["a", "b"],
        "photo": ["x", None],
    }
    assert parts.read_schema(folder, "00000", part).names == ["id", "runs", "photo"]
    gone = parts.Part("0" * 64, 2, "")
    parts.write_manifest(folder, {"00000": gone})
    with refused(
        StudyError, r"s3://.*00000-.* is missing or damaged; delete it, if it is there, and run predict again"
    ):
        parts.read_schema(folder, "00000", gone)


def test_a_store_that_is_away_is_not_taken_for_an_empty_one(bucket: loopback.Bucket, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'store = "{bucket.uri}/x"\n')
    folder = tmp_path / "predictions" / "m"
    part = parts.Part(parts.put_part(folder, "00000", TABLE), 300, "")
    bucket.server.refusing = lambda _method, _path: "403 Forbidden"
    for ask in (
        lambda: parts.read_manifest(folder),
        lambda: parts.read_part(folder, "00000", part),
        lambda: parts.sweep(folder),
    ):
        with refused(StudyError, "rejected these credentials"):
            ask()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("s3://b/a/c.png", "b/a/c.png"),
        ("gs://b", "b"),
        ("s3://b/what?.png", "b/what?.png"),
        ("s3://b/a%20b#1?region=eu-west-1&scheme=http", "b/a%20b#1"),
        ("s3://anonymous@b/x/", "b/x"),
    ],
)
def test_an_address_is_taken_as_it_is_written(text: str, path: str) -> None:
    assert store.parse(text).path == path
    assert store.parse(str(store.parse(text))) == store.parse(text)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (OSError("AWS Error NO_SUCH_BUCKET during PutObject operation"), "bucket 'b' does not exist"),
        (
            OSError(
                "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 28, Timeout was reached"
            ),
            "cannot be reached",
        ),
        (
            OSError("AWS Error UNKNOWN (HTTP status 301) during HeadObject operation: No response body."),
            "another region",
        ),
        (OSError("AWS Error INVALID_ACCESS_KEY_ID during GetObject"), "AWS_PROFILE"),
        (FileNotFoundError("Path does not exist 'b/x'"), "no such object"),
        (OSError("something\nelse"), "s3://b/x: something else"),
    ],
)
def test_what_goes_wrong_in_a_store_is_a_sentence(fault: Exception, words: str) -> None:
    said = store.sentence(store.parse("s3://b/x"), fault)
    assert words in said
    assert "\n" not in said


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
SHA = st.text("0123456789abcdef", max_size=9)
ENTRIES = st.builds(
    parts.Part, SHA, st.integers(0, 9), WORDS, st.lists(st.tuples(WORDS, WORDS), max_size=2).map(tuple)
)


@given(st.dictionaries(st.sampled_from(["00000", "00001.models", "00001.truth-ä"]), ENTRIES))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_manifest_is_json_that_people_can_read_and_says_what_was_said(
    tmp_path: Path, entries: dict[str, parts.Part]
) -> None:
    folder = tmp_path / "pairs" / "m"
    parts.write_manifest(folder, entries)
    plain = {name: asdict(entries[name]) for name in sorted(entries)}
    assert (folder / "manifest.json").read_bytes() == (
        json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    ).encode()
    assert parts.read_manifest(folder) == entries


def test_what_a_reader_does_with_a_manifest_is_not_seen_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "pairs" / "m"
    parts.write_manifest(folder, {"00000": parts.Part("a", 1, "k")})
    parts.read_manifest(folder).clear()
    assert parts.read_manifest(folder) == {"00000": parts.Part("a", 1, "k")}
    parts.write_manifest(folder, {"00000": parts.Part("b", 1, "k")})
    assert parts.read_manifest(folder)["00000"].sha256 == "b"


def replaced_while_read(monkeypatch: pytest.MonkeyPatch, folder: Path, ids: list[str]) -> parts.Part:
    """A part that a writer replaces between a reader's look at the manifest and at the file; returns the new
    one.
    """
    table = pa.table({"id": ids, "runs": [b"x"] * len(ids)})
    new = parts.Part(parts.put_part(folder, "00000", table), len(ids), "")
    first_look = parts.read_manifest

    def look(where: Path) -> dict[str, parts.Part]:
        found = first_look(where)
        monkeypatch.setattr(parts, "read_manifest", first_look)
        parts.write_manifest(folder, {"00000": new})
        return found

    monkeypatch.setattr(parts, "read_manifest", look)
    return new


@pytest.mark.parametrize("only", [None, ["00000"]])
def test_a_part_that_is_replaced_while_it_is_looked_for_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only: list[str] | None
) -> None:
    parts.write_manifest(tmp_path, {"00000": parts.Part(parts.put_part(tmp_path, "00000", TABLE), 300, "")})
    new = replaced_while_read(monkeypatch, tmp_path, ["a"])
    assert parts.there(tmp_path, only) == {"00000": new}


def test_a_part_that_is_replaced_while_it_is_read_is_no_damage(tmp_path: Path) -> None:
    old = parts.Part(parts.put_part(tmp_path, "00000", TABLE), 300, "")
    new = parts.Part(parts.put_part(tmp_path, "00000", TABLE.slice(1)), 299, "")
    parts.write_manifest(tmp_path, {"00000": old})
    parts.write_manifest(tmp_path, {"00000": new})
    reads = (parts.read_part, parts.read_schema, lambda *part: parts.read_small(*part, ["id"]))
    for read in reads:
        with refused(StudyChangedError, f"{tmp_path} changed while it was read; run the command again"):
            read(tmp_path, "00000", old)
    (tmp_path / f"00000-{new.sha256[:16]}.parquet").write_bytes(b"PAR1")
    for read in reads:
        with refused(
            StudyError, "is missing or damaged; delete it, if it is there, and run the same line again"
        ):
            read(tmp_path, "00000", new)


def test_a_disk_or_a_store_that_fails_in_the_middle_is_not_damage(
    bucket: loopback.Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = parts.Part(parts.put_part(tmp_path / "pairs" / "m", "00000", TABLE), 300, "")

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", fails)
        with refused(StudyError, r"00000-.*: cannot be read: Input/output error"):
            parts.read_part(tmp_path / "pairs" / "m", "00000", part)
    (tmp_path / "study.toml").write_text(f'store = "{bucket.uri}/x"\n')
    folder = tmp_path / "predictions" / "m"
    part = parts.Part(parts.put_part(folder, "00000", TABLE), 300, "")
    parts.write_manifest(folder, {"00000": part})
    monkeypatch.setattr(store, "read", lambda _address: fails())
    with refused(StudyError, r"s3://.*00000-.*Input/output error"):
        parts.read_part(folder, "00000", part)
