"""What a folder of cut-outs is told to be, what is read of it, and what is left out and why."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import CorpusError
from made_objects import SIZE, classes, photo, put, read, rgba, square, voc
from refusals import refused

# images with transparency


def test_images_with_transparency_are_objects_of_the_class_that_their_folder_is_called(
    tmp_path: Path,
) -> None:
    put(tmp_path / "a.png", rgba(0))
    put(tmp_path / "animals" / "dog" / "b.webp", rgba(1), lossless=True, exact=True)
    put(tmp_path / "animals" / "cat" / "c.tif", rgba(2))
    found = read(tmp_path)
    assert found.kind == "rgba"
    assert classes(found) == [("", "", "anomaly"), ("cat", "", "anomaly"), ("dog", "", "anomaly")]
    for seed, class_ in enumerate(("", "dog", "cat")):
        (cutout,) = [one for one in found.cutouts if one.class_ == class_]
        assert (cutout.pixels == photo(seed)[10:30, 10:30]).all()
        assert (cutout.alpha == 255).all()
        assert (cutout.corner, cutout.frame) == ((10, 10), (SIZE, SIZE))


def test_transparency_of_a_palette_and_of_one_colour_counts(tmp_path: Path) -> None:
    indices = Image.fromarray(square())
    indices.putpalette([9, 9, 9, 200, 0, 0])
    indices.save(tmp_path / "palette.png", transparency=0)
    Image.fromarray(np.where(square()[..., None] > 0, np.uint8(7), np.uint8([1, 2, 3]))).save(
        tmp_path / "colour.png", transparency=(1, 2, 3)
    )
    assert sorted(one.pixels[0, 0].tolist() for one in read(tmp_path).cutouts) == [[7, 7, 7], [200, 0, 0]]


def test_an_image_on_its_side_is_turned_upright_with_its_transparency(tmp_path: Path) -> None:
    mask = np.zeros((SIZE, SIZE), np.uint8)
    mask[2:32, 4:24] = 1
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter to the right
    put(tmp_path / "a.png", rgba(0, mask), exif=exif)
    (cutout,) = read(tmp_path).cutouts
    assert (cutout.pixels == np.rot90(photo()[2:32, 4:24], -1)).all()


@pytest.mark.parametrize(
    ("pixels", "why"),
    [
        (photo(), "has no alpha channel"),
        (
            np.dstack([photo(), np.full((SIZE, SIZE), 255, np.uint8)]),
            "its alpha channel is opaque everywhere",
        ),
        (np.dstack([photo(), np.zeros((SIZE, SIZE), np.uint8)]), "its mask is empty"),
        (rgba(0, square(10, 19)), "has 361 pixels, fewer than 400"),
        (rgba(0, square(20, 20)), "cut off by the image border"),
        ("no image at all", "it is not a readable image"),
    ],
)
def test_every_file_that_gives_no_object_stands_in_what_is_left_out_with_its_reason(
    tmp_path: Path, pixels: np.ndarray | str, why: str
) -> None:
    put(tmp_path / "good.png", rgba(1))
    put(tmp_path / "bad.png", pixels)
    put(tmp_path / "notes.txt", "by hand")
    found = read(tmp_path)
    assert len(found.cutouts) == 1
    assert [name for name, _ in found.left_out] == ["bad.png", "notes.txt"]
    assert found.left_out[0][1].startswith(why)
    assert found.left_out[1][1] == "is not an image; expected PNG, WebP or TIFF with transparency"


def test_a_folder_in_which_nothing_can_be_used_is_told_all_forms_and_the_first_reason(tmp_path: Path) -> None:
    put(tmp_path / "a.png", photo())
    with refused(
        CorpusError,
        r"images with transparency .*images and masks .*PASCAL VOC .*COCO .*objects\.csv; a\.png: has no"
        r" alpha channel",
    ):
        read(tmp_path)
    with refused(CorpusError, "is not a folder on this machine"):
        read(tmp_path / "none")
    with refused(CorpusError, "cut-outs are read from a local folder"):
        fs.corpus.read_cutouts("s3://bucket/objects")


def test_links_that_lead_out_of_the_folder_and_what_is_hidden_are_left_out(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "a.png", rgba(0))
    put(tmp_path / "objects" / "own.png", rgba(1))
    (tmp_path / "objects" / "out.png").symlink_to(tmp_path / "elsewhere" / "a.png")
    (tmp_path / "objects" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "objects" / "inside.png").symlink_to("own.png")
    (tmp_path / "objects" / "lost.png").symlink_to("none.png")
    put(tmp_path / "objects" / ".trash" / "a.png", rgba(2))
    put(tmp_path / "objects" / ".own.png", rgba(3))
    found = read(tmp_path / "objects")
    assert len(found.cutouts) == 1
    assert [(name, why.partition(";")[0]) for name, why in found.left_out] == [
        (".own.png", "is a hidden file"),
        (".trash", "is a hidden folder"),
        ("folder", "is a link to a folder, which is not followed"),
        ("lost.png", "is a link to a file that is not there"),
        ("out.png", "is a link that leads out of the folder"),
        ("own.png", "is the same object as inside.png"),
    ]


def test_the_same_object_counts_once_whatever_its_files_are_called_and_the_one_of_which_more_is_said_stays(
    tmp_path: Path,
) -> None:
    hole = square(side=22)
    hole[15, 15] = 0
    hidden = rgba(0, hole)
    hidden[15, 15, :3] ^= 255  # where nothing is seen
    for order in (("a", "b"), ("b", "a")):
        place = tmp_path / "".join(order)
        put(place / f"{order[0]}.png", rgba(0, hole))
        put(place / "dog" / f"{order[1]}.png", hidden)
        put(place / "other.png", rgba(1))
        found = read(place)
        assert classes(found) == [("", "", "anomaly"), ("dog", "", "anomaly")]
        assert found.left_out == ((f"{order[0]}.png", f"is the same object as dog/{order[1]}.png (dog)"),)


def test_the_order_is_that_of_digests_whatever_files_are_called(tmp_path: Path) -> None:
    for k in range(5):
        put(tmp_path / "one" / f"{k}.png", rgba(k))
        put(tmp_path / "other" / f"{9 - k} x.png", rgba(k))
    digests = [[cutout.digest for cutout in read(tmp_path / name).cutouts] for name in ("one", "other")]
    assert digests[0] == digests[1] == sorted(digests[0])


# images beside masks


@pytest.mark.parametrize(
    ("images", "masks", "suffix"),
    [("images", "masks", ""), ("images", "masks", "_mask"), ("photos", "annotations", "")],
)
def test_what_a_mask_holds_above_0_is_the_object(
    tmp_path: Path, images: str, masks: str, suffix: str
) -> None:
    for k, value in enumerate((1, 255, 3)):
        put(tmp_path / images / "dog" / f"{k}.bmp", photo(k))
        put(tmp_path / masks / "dog" / f"{k}{suffix}.png", square(value=value))
    found = read(tmp_path)
    assert found.kind == "masks"
    assert classes(found) == [("dog", "", "anomaly")] * 3
    assert {cutout.pixels.tobytes() for cutout in found.cutouts} == {
        photo(k)[10:30, 10:30].tobytes() for k in range(3)
    }


def test_values_of_a_mask_are_objects_of_their_own_in_a_folder_called_instances(tmp_path: Path) -> None:
    ids = square(5, 10, 3) + square(15, 10, 255)
    put(tmp_path / "images" / "a.png", photo())
    put(tmp_path / "masks" / "a.png", ids)
    assert [cutout.area for cutout in read(tmp_path, 10).cutouts] == [200]
    put(tmp_path / "instances" / "a.png", ids)
    assert {(cutout.name, cutout.area) for cutout in read(tmp_path, 10).cutouts} == {
        ("images/a.png object 3", 100),
        ("images/a.png object 255", 100),
    }


def test_images_and_masks_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    for seed, name in enumerate(("good", "empty", "large", "coloured", "grey", "damaged", "bare")):
        put(tmp_path / "images" / f"{name}.png", photo(seed))
    put(tmp_path / "images" / "alone.png", photo())
    for ending in ("png", "bmp"):
        put(tmp_path / "images" / f"twice.{ending}", photo())
    put(tmp_path / "masks" / "good.png", square())
    put(tmp_path / "masks" / "twice.png", square())
    put(tmp_path / "masks" / "empty.png", square(value=0))
    put(tmp_path / "masks" / "large.png", np.ones((SIZE, SIZE + 1), np.uint8))
    put(tmp_path / "masks" / "coloured.png", photo())
    put(tmp_path / "masks" / "grey.png", np.dstack([square()] * 3))
    put(tmp_path / "masks" / "damaged.png", "no image")
    put(tmp_path / "masks" / "orphan.png", square())
    put(tmp_path / "masks" / "notes.txt", "by hand")
    found = read(tmp_path)
    assert {cutout.name for cutout in found.cutouts} == {"images/good.png", "images/grey.png"}
    assert dict(found.left_out) == {
        "images/alone.png": "has no mask masks/alone.png",
        "images/coloured.png": (
            "its mask masks/coloured.png: is a colour mask; save it as grey or palette values"
        ),
        "images/damaged.png": "its mask masks/damaged.png: it is not a readable image",
        "images/empty.png": "its mask masks/empty.png is empty",
        "images/bare.png": "has no mask masks/bare.png",
        "images/large.png": (
            "its mask masks/large.png is 41 x 40 pixels, the image 40 x 40; they must have the same size"
        ),
        "images/twice.bmp": "has the same name as images/twice.png; rename or remove one of 2 files",
        "images/twice.png": "has the same name as images/twice.bmp; rename or remove one of 2 files",
        "masks/": "holds 1 file from which no object is read",
        "masks/orphan.png": "is a mask without an image images/orphan",
        "masks/twice.png": "is a mask without an image images/twice",
    }


def test_cutouts_of_the_class_mask_are_no_masks(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "mask" / "b.png", rgba(1))
    assert classes(read(tmp_path)) == [("dog", "", "anomaly"), ("mask", "", "anomaly")]


def test_of_a_folder_above_images_and_masks_the_one_to_give_is_named(tmp_path: Path) -> None:
    put(tmp_path / "horses" / "images" / "a.png", photo())
    put(tmp_path / "horses" / "masks" / "a.png", square())
    put(tmp_path / "bare" / "b.png", photo())
    with refused(says=f"its folder horses holds images and masks; give {tmp_path}/horses$"):
        read(tmp_path)
    assert len(read(tmp_path / "horses").cutouts) == 1


def test_the_horses_of_weizmann_are_27_objects(data: Path) -> None:
    place = data / "objects" / "weizmann_horses"
    found = read(place)
    assert (found.kind, len(found.cutouts), found.left_out) == ("masks", 27, ())
    for cutout in found.cutouts[:3]:
        mask = np.asarray(Image.open(place / "masks" / f"{Path(cutout.name).stem}.png"))
        (x, y), (height, width) = cutout.corner, cutout.alpha.shape
        assert int((cutout.alpha > 0).sum()) == int((mask > 0).sum())
        assert ((cutout.alpha > 0) == (mask[y : y + height, x : x + width] > 0)).all()


# objects.csv


def test_objects_csv_says_what_files_are_and_others_stay_what_their_folder_says(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "dog" / "b.png", rgba(1))
    put(tmp_path / "photos" / "c.png", photo(2))
    put(tmp_path / "photos" / "c_ids.png", square(2, 10, 4) + square(20, 15, 5))
    put(
        tmp_path / "objects.csv",
        '\ufeffUse,file,class,split,mask\nknown,dog/a.png,"car",test,\n,photos/c.png,owl,validation,photos/c_ids.png#5\n\n',
    )
    found = read(tmp_path, 100)
    assert found.kind == "csv"
    assert classes(found) == [
        ("car", "test", "known"),
        ("dog", "", "anomaly"),
        ("owl", "validation", "anomaly"),
    ]
    assert found.left_out == ()
    put(tmp_path / "objects.csv", "file,class,mask\nphotos/c.png,owl,photos/c_ids.png#*\n")
    assert [one[0] for one in classes(read(tmp_path, 100))] == ["dog", "dog", "owl", "owl"]
    put(tmp_path / "objects.csv", "file,class,mask\nphotos/c.png,owl,photos/c_ids.png\n")
    assert [one.area for one in read(tmp_path, 100).cutouts if one.class_ == "owl"] == [325]


def test_objects_csv_says_more_of_images_beside_masks_and_of_voc(tmp_path: Path) -> None:
    put(tmp_path / "pairs" / "images" / "a.png", photo())
    put(tmp_path / "pairs" / "masks" / "a.png", square())
    put(tmp_path / "pairs" / "objects.csv", "file,class,split\nimages/a.png,gnu,test\n")
    assert classes(read(tmp_path / "pairs")) == [("gnu", "test", "anomaly")]
    voc(tmp_path / "voc", square(value=3))
    put(tmp_path / "voc" / "ImageSets" / "Segmentation" / "val.txt", "a\n")
    put(tmp_path / "voc" / "more" / "b.png", rgba(1))
    put(
        tmp_path / "voc" / "objects.csv", "file,use,split,mask\nJPEGImages/a.png,known,test,\nmore/b.png,,,\n"
    )
    assert classes(read(tmp_path / "voc")) == [("bird", "test", "known"), ("more", "", "anomaly")]
    put(tmp_path / "voc" / "instances" / "a.png", square(5, 10, 3) + square(15, 10, 255))
    put(tmp_path / "voc" / "objects.csv", "file,class,mask\nJPEGImages/a.png,owl,instances/a.png\n")
    # and no longer what VOC says
    assert [cutout.area for cutout in read(tmp_path / "voc", 10).cutouts] == [100, 100]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a first line with the columns file, class, split, use, mask"),
        ("class,split\ndog,test\n", "only file is required"),
        ("file,file\na.png,a.png\n", "each once"),
        ("file,clas\na.png,dog\n", r"the column 'clas' is unknown; expected .*Did you mean 'class'"),
        ("file\nb.png\n", "row 2: 'b.png' is not a file of the folder"),
        ("file\n../b.png\n", r"row 2: '\.\./b\.png' is outside the folder"),
        ("file\n/etc/passwd\n", "row 2: '/etc/passwd' is outside the folder"),
        ("file,split\na.png,val\n", "row 2: split must be validation or test, or empty; got 'val'"),
        ("file,use\na.png,known\na.png,anomaly\n", "row 3: 'a.png' is already in row 2"),
        (
            "file,use\na.png,unknown\n",
            "row 2: use must be anomaly or known, or empty; got 'unknown'.*Did you mean 'known'",
        ),
        ("file,class\na.png\n", "row 2: has 1 cells, the first line 2"),
        ("file,class\n,dog\n", "row 2: names no file"),
        ("file,mask\na.png,b.png\n", "row 2: 'b.png' is not a file of the folder"),
        ("file,mask\na.png,a.png#x\n", "expected the value of an object"),
        ("file,mask\na.png,a.png#0\n", "expected the value of an object"),
        ('file\n"a.png\n', "cannot be read as CSV"),
        (f"file\n{'x' * 200_000}\n", "cannot be read as CSV"),
    ],
)
def test_a_wrong_objects_csv_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    put(tmp_path / "a.png", rgba())
    put(tmp_path / "objects.csv", text)
    with refused(CorpusError, says):
        read(tmp_path)


def test_one_object_is_not_known_and_an_anomaly(tmp_path: Path) -> None:
    put(tmp_path / "a.png", rgba())
    put(tmp_path / "b.png", rgba())
    put(tmp_path / "objects.csv", "file,use\nb.png,known\n")
    with refused(CorpusError, r"a\.png \(an anomaly\) and b\.png \(known\) are the same object"):
        read(tmp_path)


def test_known_objects_that_look_the_same_at_two_places_are_two(tmp_path: Path) -> None:
    same = np.full((SIZE, SIZE, 3), 9, np.uint8)
    for name, at in (("a", 5), ("b", 6)):
        put(tmp_path / f"{name}.png", np.dstack([same, square(at) * np.uint8(255)]))
    assert len(read(tmp_path).cutouts) == 1
    put(tmp_path / "objects.csv", "file,use\na.png,known\nb.png,known\n")
    assert len(read(tmp_path).cutouts) == 2


# what is said, and what nobody vouches for


def test_what_was_read_is_said_in_one_line(tmp_path: Path) -> None:
    put(tmp_path / "dog" / "a.png", rgba(0))
    put(tmp_path / "b.png", photo())
    said: list[str] = []
    fs.corpus.read_cutouts(tmp_path, say=said.append)
    (line,) = said
    assert line.startswith(
        f"{tmp_path}: 1 object from images with transparency: dog 1; 1 left out, the first: b.png: has no"
        " alpha"
    )


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_names_of_files_that_are_no_text_stay_on_one_line(tmp_path: Path) -> None:
    data = io.BytesIO()
    Image.fromarray(rgba()).save(data, "PNG")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.png")).write_bytes(data.getvalue())
    found = read(tmp_path)
    assert found.cutouts[0].name == "\\xff\\n.png"
    assert fs.corpus.read_cutout(fs.corpus.write_cutout(found.cutouts[0])).name == "\\xff\\n.png"


def test_objects_that_do_not_fit_into_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.corpus.objects.harvest.MOST_BYTES", 2_000)
    put(tmp_path / "a.png", rgba(0))
    read(tmp_path)
    put(tmp_path / "b.png", rgba(1))
    with refused(CorpusError, "to hold in memory; give a part of the folder"):
        read(tmp_path)
