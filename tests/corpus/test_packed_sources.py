"""Images and masks within tars, folders that `datasets` saved, and columns of Parquet and Arrow files: the same
images, under the ids that both have, and nothing of what a hostile file asks for.

The layout of folders is that of datasets 5.2.0, the names in tars are those of webdataset 1.0.2.
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
from faultscape.corpus import packed_sources, photos
from faultscape.corpus.sources import IMAGE_ENDINGS, MAP_ENDINGS, find
from faultscape.errors import CorpusError, ImageError, LabelMapError, ModelError
from faultscape.formats.packed import tables, tars
from faultscape.formats.packed.places import file_of, packed_of
from faultscape.prediction import catalogue
from refusals import refused

IMAGES = [np.full((6, 8, 3), 40 * k, np.uint8) for k in range(5)]
MASKS = [np.full((6, 8), k, np.uint8) for k in range(5)]
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def cells(pictures: list[np.ndarray], names: list[str] | None = None) -> pa.Array:
    rows = [{"bytes": png(p), "path": names[k] if names else None} for k, p in enumerate(pictures)]
    return pa.array(rows, IMAGE)


def table(names: list[str] | None = None, image: str = "image") -> pa.Table:
    return pa.table(
        {image: cells(IMAGES, names), "mask": cells(MASKS), "text": ["a"] * 5, "size": [[6, 8]] * 5}
    )


def saved(folder: Path, held: pa.Table, files: int = 1) -> Path:
    """A folder as save_to_disk writes it."""
    folder.mkdir(parents=True)
    names = [f"data-{k:05d}-of-{files:05d}.arrow" for k in range(files)]
    share = -(-len(held) // files)
    for k, name in enumerate(names):
        part = held.slice(k * share, share)
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, part.schema) as writer:
            writer.write_table(part, max_chunksize=2)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def tar(path: Path, *files: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in files:
            about = tarfile.TarInfo(name)
            about.size = len(data) if kind == tarfile.REGTYPE else 0
            about.type = kind
            about.linkname = "/etc/passwd"
            archive.addfile(about, io.BytesIO(data))
    return path


def shard(path: Path) -> Path:
    files = [
        (f"drive/{k}.{ending}", data)
        for k in range(5)
        for ending, data in (("jpg.txt", b"no"), ("png", png(IMAGES[k])), ("seg.png", png(MASKS[k])))
    ]
    return tar(path, *files)


def found(argument: object, *, maps: bool = False) -> dict[str, str]:
    rows = find(
        [str(argument)],
        endings=MAP_ENDINGS if maps else IMAGE_ENDINGS,
        stores=not maps,
        strip=False,
        say=lambda _: None,
    )
    return {row.id: row.path for row in rows}


def test_rows_of_a_saved_data_set_are_numbered_over_its_files(tmp_path: Path) -> None:
    one = saved(tmp_path / "one", table())
    many = saved(tmp_path / "many", table(), files=3)
    assert [*found(one)] == [*found(many)] == [f"{k:09d}" for k in range(5)]
    assert found(many)["000000002"] == f"{many}/data-00001-of-00003.arrow:image#0"
    for source, image in zip(found(many).values(), IMAGES, strict=True):
        assert (photos.read_source(source) == image).all()


def test_splits_begin_the_ids(tmp_path: Path) -> None:
    for split in ("train", "test"):
        saved(tmp_path / "all" / split, table([f"{k}.png" for k in range(5)]))
    (tmp_path / "all" / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    ids = {f"{split}/{k}" for split in ("train", "test") for k in range(5)}
    assert found(tmp_path / "all").keys() == ids
    assert found(tmp_path / "all" / "test").keys() == {str(k) for k in range(5)}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_mask_has_the_id_of_its_image(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    held = table([f"drive/{k}.jpg" for k in range(5)])
    if ending == "parquet":
        pq.write_table(held, path, row_group_size=2)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, held.schema) as writer:
            writer.write_table(held)
    masks = found(f"{path}:mask", maps=True)
    assert [*masks] == [*found(f"{path}:image")] == [f"drive/{k}" for k in range(5)]
    for source, mask in reversed([*zip(masks.values(), MASKS, strict=True)]):
        assert (fs.formats.read_map(source) == mask).all()
    with refused(CorpusError, "name the column of label maps after a colon: .*:image or .*:mask"):
        found(path, maps=True)


def test_ids_are_those_of_a_column_of_ids(tmp_path: Path) -> None:
    pq.write_table(
        table(image="pixels").append_column("key", [["a", "b", "c", "../d", "e"]]), tmp_path / "a.pq"
    )
    assert [*found(f"{tmp_path}/a.pq:pixels")] == ["a", "a/000000003", "b", "c", "e"]
    with refused(CorpusError, r"name another column of bytes after a colon \(.*a.pq:COLUMN\)"):
        found(tmp_path / "a.pq")


def test_a_key_of_a_tar_ends_at_its_first_dot(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar")
    assert found(path) == {f"drive/{k}": f"{path}#drive/{k}.png" for k in range(5)}
    assert found(f"{tmp_path}/*.tar:seg.png", maps=True) == {
        f"drive/{k}": f"{path}#drive/{k}.seg.png" for k in range(5)
    }
    with refused(
        CorpusError, "several kinds of label maps; name one after a colon: a.tar:png or a.tar:seg.png"
    ):
        found(path, maps=True)
    assert (photos.read_source(f"{path}#drive/3.png") == IMAGES[3]).all()
    assert (fs.formats.read_map(f"{path}#drive/3.seg.png") == MASKS[3]).all()


def test_several_tars_are_one_corpus_and_a_repeated_key_is_refused(tmp_path: Path) -> None:
    for k in range(2):
        tar(tmp_path / f"{k}.tar", (f"{k}.png", png(IMAGES[k])))
    assert [*found(f"{tmp_path}/*.tar")] == ["0", "1"]
    tar(tmp_path / "2.tar", ("0.png", png(IMAGES[2])))
    with refused(CorpusError, "two files have the id '0'"):
        found(f"{tmp_path}/*.tar")


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        (
            "../a.png",
            tarfile.REGTYPE,
            "refused, because the name of its file '../a.png' leads out of a folder",
        ),
        ("/a.png", tarfile.REGTYPE, "leads out of a folder"),
        ("a/\n.png", tarfile.REGTYPE, "leads out of a folder"),
        ("a.png", tarfile.SYMTYPE, "refused, because its file 'a.png' is a link"),
        ("a.png", tarfile.LNKTYPE, "is a link"),
        ("a.png", tarfile.FIFOTYPE, "is not a plain file"),
        ("a.png", tarfile.CHRTYPE, "is not a plain file"),
    ],
)
def test_hostile_tars_are_refused_as_a_whole(tmp_path: Path, name: str, kind: bytes, says: str) -> None:
    path = tar(tmp_path / "a.tar", (name, png(IMAGES[0])), kind=kind)
    with refused(CorpusError, says):
        found(path)


def test_damaged_tars_are_refused(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar")
    sources = found(path)
    whole = path.read_bytes()
    (tmp_path / "b.tar").write_bytes(whole[: 15 * 512 + 100])
    with refused(CorpusError, "ends within its file|cannot be read as a tar"):
        found(tmp_path / "b.tar")
    (tmp_path / "c.tar").write_bytes(b"no tar at all" * 99)
    with refused(CorpusError, "cannot be read as a tar"):
        found(tmp_path / "c.tar")
    for name in ("d.tar", "d.tar.gz", "d.tgz"):
        packed = tar(tmp_path / name, ("a.png", b"x"), mode="w:gz")
        with refused(CorpusError, "is compressed, so its files cannot be found; unpack it first: gunzip"):
            found(packed)
    tar(path, ("drive/0.png", png(IMAGES[0])))
    with refused(ImageError, "the tar has no such file; it has changed, so run collect again"):
        photos.read_source(sources["drive/1"])
    path.unlink()
    with refused(ImageError, "a.tar: No such file"):
        photos.read_source(sources["drive/0"])


def test_a_folder_of_tars_or_tables_says_how_to_name_them(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(table(), tmp_path / "data" / "train-00000.parquet")
    with refused(CorpusError, r"its images are within files: give '.*/data/\*\.parquet'"):
        found(tmp_path)


def test_a_folder_may_be_named_like_a_tar(tmp_path: Path) -> None:
    (tmp_path / "photos.tar").mkdir()
    (tmp_path / "photos.tar" / "a.png").write_bytes(png(IMAGES[0]))
    assert [*found(tmp_path / "photos.tar")] == ["a"]


def test_headers_of_a_tar_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shard(tmp_path / "a.tar")
    sources = found(path)
    monkeypatch.setattr(tars, "_read", None)
    for source in sources.values():
        photos.read_source(source)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (
            "{}:text",
            "column 'text' holds string; expected images or masks as bytes: with `datasets`, cast_column",
        ),
        ("{}:size", r"column 'size' holds list<"),
        ("{}:none", "has no column 'none'; it has 'image', 'mask', 'text', 'size'"),
    ],
)
def test_columns_without_images_are_refused(tmp_path: Path, argument: str, says: str) -> None:
    folder = saved(tmp_path / "saved", table())
    with refused(CorpusError, says):
        found(argument.format(folder))


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            {"_data_files": [{"filename": "../a.arrow"}]},
            r"names the file '\.\./a.arrow', which is not in its fol",
        ),
        ({"_data_files": [{"filename": "/etc/passwd"}]}, "which is not in its folder"),
        ({"_data_files": [3]}, "names the file 'None'"),
        ({"_data_files": []}, "names no files; save the data set again with save_to_disk"),
        ([], "does not describe a data set"),
    ],
)
def test_a_saved_data_set_names_no_file_outside_of_it(tmp_path: Path, state: object, says: str) -> None:
    folder = saved(tmp_path / "saved", table())
    (folder / "state.json").write_text(json.dumps(state))
    with refused(CorpusError, says):
        found(folder)


def test_damaged_arrow_files_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", table())
    sources = [*found(folder).values()]
    path = folder / "data-00000-of-00001.arrow"
    whole = path.read_bytes()
    for data in (b"", b"ARROW1", whole[:40], whole[: len(whole) // 2]):
        path.write_bytes(data)
        with refused(CorpusError, "cannot be read"):
            found(folder)
        with refused(ImageError, "cannot be read"):
            photos.read_source(sources[4])
    path.write_bytes(whole)
    plain = pa.record_batch({"image": pa.array([b"x" * 4711, b"y"])})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, plain.schema) as writer:
        writer.write_batch(plain)
    wild = out.getvalue().replace((4711).to_bytes(4, "little"), (2**31 - 1).to_bytes(4, "little"))
    assert wild != out.getvalue()
    (tmp_path / "a.arrow").write_bytes(wild)
    tables.forget()
    with refused(LabelMapError, "a.arrow:image#0: cannot be read"):
        fs.formats.read_map(f"{tmp_path}/a.arrow:image#0")
    with refused(ImageError, "the file has only 5 rows; it has changed, so run collect again"):
        photos.read_source(f"{path}:image#5")


def test_maps_of_a_model_may_be_within_a_tar(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar")
    kind = catalogue.source_of("m", f"{path}:seg.png")
    assert kind.name == "folder"
    assert kind.kept_as(f"{path}:seg.png") == f"{path}:seg.png"
    with refused(ModelError, "there is no such folder or file"):
        catalogue.source_of("m", f"{tmp_path}/b.tar:seg.png")


def test_a_file_that_is_named_like_a_place_in_another_is_that_file(tmp_path: Path) -> None:
    shard(tmp_path / "a.tar")
    inside = tmp_path / "a.tar#b.png"
    assert packed_of(str(inside)) is not None
    assert file_of(str(inside)) == str(tmp_path / "a.tar")
    inside.write_bytes(png(MASKS[1]))
    assert packed_of(str(inside)) is None
    assert (fs.formats.read_map(inside) == MASKS[1]).all()
    assert packed_sources.split_column(str(inside)) == (str(inside), "")
