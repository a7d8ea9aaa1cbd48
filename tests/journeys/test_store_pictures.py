"""Pictures that lie in a store: what collect reads of them, and how a picture that changed is noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import loopback
import made
from faultscape.corpus.photos import read_photo
from faultscape.errors import CorpusError, ImageError
from faultscape.study.parts import Part, read_manifest, write_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.logs import read_failures
from refusals import refused


def jpeg(path: Path, size: tuple[int, int], seed: int = 0, **options: object) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)).save(
        path, **options
    )
    return path.read_bytes()


@pytest.fixture
def far(corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path) -> str:
    bucket.upload(corpus.photos, "photos/")
    study = str(tmp_path / "far")
    fs.collect(
        study, f"{bucket.uri}/photos", classes=corpus.classes, storage=fs.options.Storage(shard_size=4)
    )
    return study


def test_collect_reads_the_beginning_of_each_picture_and_has_the_ids_and_sizes_of_local_files(
    corpus: made.Corpus,
    study: str,
    bucket: loopback.Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bucket.upload(corpus.photos, "photos/")
    large = jpeg(tmp_path / "large.jpg", (800, 600), quality=95)
    assert len(large) > 1 << 17
    bucket.put("photos/part0/large.jpg", large)
    with bucket.requests() as asked:
        fs.collect(
            tmp_path / "far",
            f"{bucket.uri}/photos",
            classes=corpus.classes,
            storage=fs.options.Storage(shard_size=4),
        )
    assert "7 images not searched for near-duplicates; add --probe" in capsys.readouterr().out
    assert len([1 for method, path, _ in asked if method == "GET" and path.endswith("large.jpg")]) == 1
    assert bucket.server.ranges[f"/{bucket.name}/photos/part0/large.jpg"] == "bytes=0-65535"
    here, there = ({i.id: i for i in read_corpus(Path(s))} for s in (study, str(tmp_path / "far")))
    assert set(there) == {*here, "part0/large"}
    assert all((there[i].width, there[i].height) == (here[i].width, here[i].height) for i in here)
    assert (there["part0/large"].width, there["part0/large"].height) == (800, 600)
    assert all(
        i.digest.startswith("etag:") and i.dhash is None and i.near_duplicate_of == i.id
        for i in there.values()
    )
    assert there["part0/large"].digest == f"etag:{hashlib.md5(large).hexdigest()}"
    assert there["part0/large"].source == f"{bucket.uri}/photos/part0/large.jpg"


def test_a_picture_whose_beginning_does_not_say_its_size_is_read_whole_and_what_is_none_is_a_failure(
    far: str, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    padded = jpeg(
        tmp_path / "wide.jpg", (30, 20), exif=b"Exif\0\0" + b"\0" * 65000, icc_profile=b"\0" * 65000
    )
    assert padded.index(b"\xff\xc0") > 1 << 16
    bucket.put("photos/wide.jpg", padded)
    bucket.put("photos/text.jpg", b"not a picture" * 10)
    bucket.put("photos/empty.png", b"")
    fs.collect(far, f"{bucket.uri}/photos")
    by_id = {i.id: i for i in read_corpus(Path(far))}
    assert (by_id["wide"].width, by_id["wide"].height) == (30, 20)
    reasons = {f.image.split("/")[-1]: f.reason for f in read_failures(Path(far))}
    assert set(reasons) == {"text.jpg", "empty.png"}
    assert "not a readable image" in reasons["text.jpg"]


def test_probe_reads_each_picture_whole_and_finds_the_near_duplicates_of_local_files(
    corpus: made.Corpus, far: str, bucket: loopback.Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    first = (corpus.photos / f"{corpus.ids[0]}.png").read_bytes()
    bucket.put("photos/twin.png", first)
    with refused(CorpusError, "--not-in must decode each image; add --probe"):
        fs.collect(far, f"{bucket.uri}/photos", not_in=[str(corpus.photos / "part1")])
    capsys.readouterr()
    assert (
        fs.collect(far, f"{bucket.uri}/photos", storage=fs.options.Storage(probe=True)).near_duplicates == 1
    )
    assert "not searched for near-duplicates" not in capsys.readouterr().out
    with bucket.requests() as asked:
        again = fs.collect(far, f"{bucket.uri}/photos", storage=fs.options.Storage(probe=True))
    assert again.near_duplicates == 1
    assert not [1 for method, path, _ in asked if method == "GET" and path.endswith(".png")]
    assert (
        fs.collect(
            far,
            f"{bucket.uri}/photos",
            storage=fs.options.Storage(probe=True),
            not_in=[str(corpus.photos / "part1")],
        ).images
        == 4
    )


def test_a_picture_is_read_with_the_digest_of_its_bytes_and_not_at_all_once_it_is_another(
    corpus: made.Corpus, far: str, bucket: loopback.Bucket
) -> None:
    image = read_corpus(Path(far))[0]
    data = (corpus.photos / f"{image.id}.png").read_bytes()
    rgb, digest = read_photo(image)
    assert digest == hashlib.sha256(data).hexdigest()
    assert (rgb == fs.formats.read_rgb(corpus.photos / f"{image.id}.png")).all()
    bucket.put(f"photos/{image.id}.png", (corpus.photos / f"{corpus.ids[1]}.png").read_bytes())
    with refused(ImageError, r"photo 000\.png: changed since it was collected; run collect again"):
        read_photo(image)
    fs.collect(far, f"{bucket.uri}/photos")
    assert (read_photo(read_corpus(Path(far))[0])[0] != rgb).any()
    bucket.delete(f"photos/{image.id}.png")
    with refused(ImageError, r"photo 000\.png: no such object"):
        read_photo(image)


def test_a_local_picture_that_changed_is_noticed_too(corpus: made.Corpus, study: str) -> None:
    image = read_corpus(Path(study))[0]
    assert read_photo(image)[1] == image.digest
    made.write(Path(image.source), np.zeros((36, 48, 3), np.uint8))
    with refused(ImageError, "changed since it was collected; run collect again"):
        read_photo(image)
    fs.collect(study, str(corpus.photos))
    assert read_photo(read_corpus(Path(study))[0])[0].max() == 0


def network(path: Path) -> Path:
    """A network that sees three classes, by the strongest colour."""
    shape = ["n", 3, "h", "w"]
    import onnx

    node = onnx.helper.make_node("Identity", ["input"], ["logits"])
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name in ("input", "logits")
    ]
    graph = onnx.helper.make_graph([node], "net", ends[:1], ends[1:])
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path
    )
    return path


def test_a_network_notes_the_digest_of_what_it_saw_and_a_picture_that_changed_is_its_failure(
    corpus: made.Corpus, far: str, study: str, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    source = network(tmp_path / "net.onnx")
    labels = tmp_path / "labels.json"
    labels.write_text('{"0": "sky", "1": "road", "2": "car"}')
    image = read_corpus(Path(far))[0]
    bucket.put(f"photos/{image.id}.png", (corpus.photos / f"{corpus.ids[1]}.png").read_bytes())
    for where in (far, study):
        fs.predict(where, {"net": source}, labels=str(labels), engine="local")
    failed = [(f.image, f.reason) for f in read_failures(Path(far)) if f.stage == "predict"]
    assert failed == [(image.id, f"{image.source}: changed since it was collected; run collect again")]
    fs.collect(far, f"{bucket.uri}/photos")
    assert {stage: state for stage, state, _ in fs.status(far).stages}["predict"] in ("stale", "missing")
    fs.predict(far, {"net": source}, engine="local")
    assert not [f for f in read_failures(Path(far)) if f.stage == "predict"]
    maps = {
        m.id: m for n in (0, 1) for m in label_maps.read_stored(label_maps.predictions(Path(far), "net"), n)
    }
    local = {
        m.id: m for n in (0, 1) for m in label_maps.read_stored(label_maps.predictions(Path(study), "net"), n)
    }
    assert maps.keys() == set(corpus.ids)
    for id_, stored in maps.items():
        seen = corpus.ids[1] if id_ == image.id else id_
        assert stored.photo == hashlib.sha256((corpus.photos / f"{seen}.png").read_bytes()).hexdigest()
        assert stored.runs == local[seen].runs
    assert all(m.photo is None for m in local.values())


def test_compare_names_a_picture_of_which_two_networks_saw_different_bytes(
    corpus: made.Corpus, far: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs.predict(far, dict(list(corpus.models.items())[:2]), engine="local")
    for name, seen in (("model-0", "aa"), ("model-1", "bb")):
        where = label_maps.predictions(Path(far), name)
        maps = [
            StoredMap(m.id, m.runs, "same" if k else seen)
            for k, m in enumerate(label_maps.read_stored(where, 0))
        ]
        sha = label_maps.put_maps(where, 0, maps)
        write_manifest(where, read_manifest(where) | {"00000": Part(sha, len(maps), "")})
    first = label_maps.read_stored(where, 0)[0]
    assert first.photo == "bb"
    fs.compare(far, engine="local")
    said = [line for line in capsys.readouterr().out.splitlines() if "different versions" in line]
    assert len(said) == 1
    assert said[0].startswith(f"{first.id}: model-0 and model-1 read different versions")


def test_lists_and_globs_name_pictures_of_stores_too(
    corpus: made.Corpus, bucket: loopback.Bucket, tmp_path: Path
) -> None:
    bucket.upload(corpus.photos, "photos/")
    ids = sorted(corpus.ids)
    found = fs.corpus.find([f"{bucket.uri}/photos/*/photo 00[0-2].png"], stores=True)
    assert [f.id for f in found] == [i for i in ids if i[-1] in "012"]
    assert [f.id for f in fs.corpus.find([f"{bucket.uri}/**/photo*1.png"], stores=True)] == [
        "photos/part1/photo 001"
    ]
    (tmp_path / "list.txt").write_text("".join(f"{bucket.uri}/photos/{i}.png\n" for i in ids))
    assert [f.id for f in fs.corpus.find([tmp_path / "list.txt"], stores=True)] == ids
    (tmp_path / "list.txt").write_text("https://example.org/a.jpg\n")
    with refused(CorpusError, r"line 1: is on the web; `faultscape collect STUDY --urls FILE`"):
        fs.corpus.find([tmp_path / "list.txt"], stores=True)
    with refused(CorpusError, r"no images found"):
        fs.corpus.find([f"{bucket.uri}/nothing"], stores=True)
    with refused(CorpusError, "only images for `collect` can be in a store"):
        fs.corpus.find([f"{bucket.uri}/photos"])
