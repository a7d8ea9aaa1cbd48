"""Corpora that are Parquet files: of pictures' bytes, and of where pictures lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faultscape as fs
import loopback
import made
from faultscape.corpus import parquet_rows, photos
from faultscape.errors import CorpusError, ImageError
from faultscape.formats.packed import tables
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.verb import group_options
from refusals import refused


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=2)


def data_of(corpus: made.Corpus) -> list[bytes]:
    return [(corpus.photos / f"{id_}.png").read_bytes() for id_ in corpus.ids]


def write(path: Path, columns: dict[str, Any], **options: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return str(path)


def collect(tmp_path: Path, corpus: made.Corpus, *arguments: str, **options: Any) -> dict[str, Any]:
    fs.collect(tmp_path / "study", *arguments, classes=corpus.classes, **group_options(fs.collect, options))
    return {image.id: image for image in read_corpus(tmp_path / "study")}


@pytest.mark.parametrize("shape", ["binary", "struct", "large", "jpg"])
def test_pictures_in_rows_are_those_of_files(corpus: made.Corpus, tmp_path: Path, shape: str) -> None:
    data = data_of(corpus)
    columns = {
        "binary": {"id": corpus.ids, "image": data},
        "struct": {
            "image": [{"bytes": d, "path": f"{i}.png"} for d, i in zip(data, corpus.ids, strict=True)]
        },
        "large": {"__key__": corpus.ids, "bytes": pa.array(data, pa.large_binary())},
        "jpg": {"key": corpus.ids, "label": [1] * 6, "jpg": data},
    }[shape]
    path = write(tmp_path / "rows.parquet", columns, row_group_size=4)
    rows = collect(tmp_path, corpus, path)
    fs.collect(str(tmp_path / "files"), str(corpus.photos), classes=str(corpus.classes))
    files = {image.id: image for image in read_corpus(tmp_path / "files")}
    assert rows.keys() == files.keys()
    for id_, image in rows.items():
        assert image.source == f"{path}#{corpus.ids.index(id_)}"
        assert (image.digest, image.dhash, image.width) == (
            files[id_].digest,
            files[id_].dhash,
            files[id_].width,
        )
        assert (photos.read_photo(image)[0] == fs.formats.read_rgb(files[id_].source)).all()
    assert fs.collect(str(tmp_path / "study"), path).new == 0


def test_ids_of_rows_that_say_none_are_file_and_row_and_several_files_are_one_corpus(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    data = data_of(corpus)
    write(tmp_path / "set" / "a.parquet", {"image": data[:4]})
    write(tmp_path / "set" / "b.parquet", {"image": data[4:]})
    assert list(collect(tmp_path, corpus, str(tmp_path / "set" / "*.parquet"))) == [
        *(f"a/00000000{k}" for k in range(4)),
        *(f"b/00000000{k}" for k in range(2)),
    ]


def test_a_file_that_grows_keeps_the_ids_of_its_rows(tmp_path: Path) -> None:
    short = write(tmp_path / "grows.parquet", {"image": [b"x"] * 9})
    before = [found.id for found in fs.corpus.find([short], stores=True)]
    write(tmp_path / "grows.parquet", {"image": [b"x"] * 1100})
    assert [found.id for found in fs.corpus.find([short], stores=True)][:9] == before


@pytest.mark.parametrize("column", ["uri", "path", "file_name", "image_path"])
def test_places_are_relative_to_the_file_and_ids_are_without_extension(
    corpus: made.Corpus, tmp_path: Path, column: str
) -> None:
    path = write(corpus.photos / "list.parquet", {column: [f"{i}.png" for i in corpus.ids]})
    assert collect(tmp_path, corpus, path).keys() == set(corpus.ids)
    away = write(
        tmp_path / "lists" / "away.parquet", {column: [f"../corpus/photos/{i}.png" for i in corpus.ids]}
    )
    assert {f.id for f in fs.corpus.find([away], stores=True)} == set(corpus.ids)
    absolute = write(
        tmp_path / "abs.parquet", {column: [str(corpus.photos / f"{i}.png") for i in corpus.ids]}
    )
    assert {f.id for f in fs.corpus.find([absolute], stores=True)} == set(corpus.ids)


def test_parquet_in_a_store_holds_bytes_or_addresses_of_it(
    corpus: made.Corpus, tmp_path: Path, bucket: loopback.Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.upload(corpus.photos, "photos/")
    inside = Path(write(tmp_path / "inside.parquet", {"id": corpus.ids, "image": data_of(corpus)}))
    beside = Path(write(tmp_path / "beside.parquet", {"path": [f"photos/{i}.png" for i in corpus.ids]}))
    whole = Path(
        write(tmp_path / "whole.parquet", {"uri": [f"{bucket.uri}/photos/{i}.png" for i in corpus.ids]})
    )
    for file in (inside, beside, whole):
        bucket.put(file.name, file.read_bytes())
    rows = collect(tmp_path, corpus, f"{bucket.uri}/inside.parquet", pattern="{id}.png")
    assert "--pattern does not apply to Parquet" in capsys.readouterr().out
    assert rows.keys() == set(corpus.ids)
    assert {i.source.split("#")[0] for i in rows.values()} == {f"{bucket.uri}/inside.parquet"}
    truth = fs.formats.read_rgb(corpus.photos / f"{corpus.ids[0]}.png")
    assert (photos.read_photo(rows[corpus.ids[0]])[0] == truth).all()
    for name, ids in (("beside", {f"photos/{i}" for i in corpus.ids}), ("whole", set(corpus.ids))):
        found = fs.corpus.find([f"{bucket.uri}/{name}.parquet"], stores=True)
        assert {f.id for f in found} == ids
        assert {f.path for f in found} == {f"{bucket.uri}/photos/{i}.png" for i in corpus.ids}


@pytest.mark.parametrize("place", ["{}", "file://{}", "file://photos/0.png", "../../../../other/0.png"])
def test_parquet_in_a_store_names_no_file_of_this_machine_and_no_other_bucket(
    corpus: made.Corpus, tmp_path: Path, bucket: loopback.Bucket, place: str
) -> None:
    photo = corpus.photos / f"{corpus.ids[0]}.png"
    local = Path(write(tmp_path / "local.parquet", {"path": [place.format(photo)]}))
    bucket.put("lists/local.parquet", local.read_bytes())
    with refused(CorpusError, r"local\.parquet, row 0: .* is on this machine or outside the bucket"):
        collect(tmp_path, corpus, f"{bucket.uri}/lists/local.parquet")
    assert not (tmp_path / "study" / "corpus.parquet").exists()


def test_parquet_in_a_store_names_no_server_that_would_be_shown_credentials(
    corpus: made.Corpus, tmp_path: Path, bucket: loopback.Bucket
) -> None:
    listed = Path(
        write(tmp_path / "own.parquet", {"path": ["s3://b/a.png?scheme=http&endpoint_override=example.org"]})
    )
    bucket.put("own.parquet", listed.read_bytes())
    with refused(CorpusError, r"own\.parquet, row 0: .* names its own server"):
        collect(tmp_path, corpus, f"{bucket.uri}/own.parquet")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were decoded, batch by batch."""
    taken: list[int] = []
    passing = parquet_rows.passing

    def counted(*words: Any) -> Any:
        for batch in passing(*words):
            taken.append(len(batch))
            yield batch

    monkeypatch.setattr(photos, "passing", counted)
    return taken


def test_a_file_whose_rows_say_no_ids_is_read_once_in_corpus_order(tmp_path: Path, taken: list[int]) -> None:
    path = write(
        tmp_path / "many.parquet", {"image": [bytes([k % 251]) for k in range(1200)]}, row_group_size=1200
    )
    said: list[str] = []
    rows = photos.Rows()
    read = [
        rows.read(*parquet_rows.row_of(f.path) or ("", 0))
        for f in fs.corpus.find([path], stores=True, say=said.append)
    ]
    assert read == [bytes([k % 251]) for k in range(1200)]
    assert sum(taken) == 1200
    assert said == []


def test_a_file_whose_ids_sort_otherwise_than_its_rows_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "shuffled.parquet", {"id": [9, 10, 11], "image": [b"x"] * 3})
    said: list[str] = []
    fs.corpus.find([path], stores=True, say=said.append)
    assert len(said) == 1
    assert "its rows are not sorted by id" in said[0]


def test_rows_in_the_order_of_the_file_are_read_once_whatever_the_size_of_a_row_group(
    tmp_path: Path, taken: list[int]
) -> None:
    path = write(
        tmp_path / "many.parquet",
        {"image": [bytes([k % 251]) * 100 for k in range(1000)]},
        row_group_size=400,
    )
    rows, most = photos.Rows(), 0
    for k in range(1000):
        assert rows.read(path, k) == bytes([k % 251]) * 100
        most = max(most, sum(len(batch) for group in rows._groups.values() for batch in group._kept.values()))
    assert sum(taken) == 1000
    assert most <= 3 * tables._BATCHES * photos._BUFFER
    taken.clear()
    for k in (901, 899, 905, 870):  # nearly in order
        rows.read(path, k)
    assert sum(taken) == 80  # only the row passed long ago has its row group begun again
    assert rows.read(path, 3) == bytes([3]) * 100


def test_rows_without_a_picture_are_failures_and_the_rest_is_collected(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    data = [*data_of(corpus)[:2], None, b"", b"\0\0\0 no picture"]
    path = write(tmp_path / "some.parquet", {"id": ["a", "b", "c", "d", "e"], "image": data})
    assert collect(tmp_path, corpus, path).keys() == {"a", "b"}
    reasons = {f.image.split("#")[-1]: f.reason for f in read_failures(tmp_path / "study")}
    assert set(reasons) == {"2", "3", "4"}
    assert "holds no image bytes" in reasons["2"]
    listed = write(
        corpus.photos / "l.parquet", {"path": [f"{corpus.ids[0]}.png", None, "a\0b.png", "../../../none.png"]}
    )
    fs.collect(str(tmp_path / "listed"), listed, classes="voc")
    assert len(read_corpus(tmp_path / "listed")) == 1
    assert len(read_failures(tmp_path / "listed")) == 3


def test_ids_that_lead_out_of_a_folder_are_not_taken(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = ["../../x", "/etc/x", "a//b", "", "a\nb", None]
    path = write(tmp_path / "bad.parquet", {"id": bad, "image": data_of(corpus)})
    assert sorted(collect(tmp_path, corpus, path)) == [f"bad/{k:09}" for k in range(6)]
    assert "5 of its ids cannot be file names" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"image": [1, 2]}, "column 'image' holds int64; expected image bytes"),
        ({"pixels": [b"x"]}, "has no image column, only pixels; expected bytes in image"),
        (
            {"url": ["https://example.org/a.jpg"]},
            r"row 0: https://example.org/a.jpg is on the web; `faultscape collect STUDY --urls FILE`",
        ),
        ({"uri": ["ftp://host/a.jpg"]}, "is neither a path nor an s3:// or gs:// address"),
        ({"uri": ["s3://key:word@bucket/a.jpg"]}, "credentials must not be part of an address"),
        ({"image": pa.array([], pa.binary())}, "has no rows"),
        ({"id": ["a", "a"], "image": [b"x", b"y"]}, "two files have the id 'a'"),
    ],
)
def test_a_file_that_is_no_corpus_is_one_sentence(
    tmp_path: Path, columns: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "wrong.parquet", columns)
    with refused(CorpusError, words) as caught:
        fs.collect(str(tmp_path / "study"), path, classes="voc")
    assert "\n" not in str(caught.value)
    assert "word" not in str(caught.value).split("://")[-1]


def test_a_damaged_file_is_one_sentence_and_damage_found_later_is_a_failure_of_each_row(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    (tmp_path / "text.parquet").write_bytes(b"PAR1 this is not a table PAR1")
    for name in ("text", "none"):
        with refused(CorpusError, rf"{name}\.parquet: "):
            fs.collect(str(tmp_path / "study"), str(tmp_path / f"{name}.parquet"), classes="voc")
    path = write(
        tmp_path / "torn.parquet",
        {"id": corpus.ids, "image": data_of(corpus)},
        compression="zstd",
        use_dictionary=False,
    )
    image = next(iter(collect(tmp_path, corpus, path).values()))
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:100] + bytes(400) + whole[500:])
    photos.forget()
    with refused(ImageError, r"torn\.parquet#0"):
        photos.read_photo(image)
    write(tmp_path / "torn.parquet", {"id": corpus.ids, "image": data_of(corpus)[::-1]})
    photos.forget()
    with refused(ImageError, "changed since it was collected"):
        photos.read_photo(image)
    assert fs.collect(str(tmp_path / "study"), path).new == 0
    assert (
        photos.read_photo(read_corpus(tmp_path / "study")[0])[0]
        == fs.formats.read_rgb(corpus.photos / f"{corpus.ids[5]}.png")
    ).all()
