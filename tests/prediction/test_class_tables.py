"""Tables of classifiers' answers: what each form says, and what no table is believed in."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faultscape as fs
import made
from faultscape.errors import ClassesError, FaultscapeError, ModelError, StudyError
from faultscape.prediction.sources import tables
from faultscape.reading.answers import read_predictions
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.verb import group_options
from refusals import refused

NAN = float("nan")
IDS = ("p1", "p2", "p10")


@pytest.fixture
def study(tmp_path: Path) -> str:
    """Three images of which there are no pictures, and three classes that have other words too."""
    (tmp_path / "ids.csv").write_text("image\n" + "\n".join(IDS))
    classes = (
        '{"classes": [{"name": "cat", "id": 4, "wnid": "n02121808"}, {"name": "dog", "id": 7, "wnid":'
        ' "n02084071"}, '
    )
    classes += '{"name": "hen", "id": 9, "wnid": "n01514859", "synonyms": ["biddy"]}]}'
    (tmp_path / "classes.json").write_text(classes)
    fs.collect(
        tmp_path / "study",
        tmp_path / "ids.csv",
        task="classification",
        classes=tmp_path / "classes.json",
        storage=fs.options.Storage(shard_size=2),
    )
    return str(tmp_path / "study")


def said(study: str, source: str, **options: str) -> tuple[list[str], list[float]]:
    """What the study holds of a table: a class for each of IDS, "" for none, and how sure."""
    fs.predict(study, f"net={source}", **group_options(fs.predict, options))
    found = read_predictions(Study(Path(study)), ["net"], IDS)
    return [found.classes.names[k] if k >= 0 else "" for k in found.labels[0].tolist()], found.probabilities[
        0
    ].astype(float).round(6).tolist()


def text(path: Path, content: str) -> str:
    path.write_bytes(content.encode())
    return str(path)


PLAIN = "image,label,probability\np1,cat,.5\np2,dog,.6\np10,hen,.7\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        "\ufeff" + PLAIN.replace("\n", "\r\n"),  # as spreadsheets write it
        # a synonym, a WordNet id, an id
        "id,prediction,confidence\np10,biddy,.7\np2,n02084071,.6\np1,4,.5\n",
        (
            'label,"with, a comma",image,probability\n" Cat ",x,p1,.5\n"dog","y ""z"",'
            ' w\nv",p2,.6\nHEN,,p10,.7\n'
        ),
        "image,label,probability\na/p1,cat,.5\n".replace("a/", "")
        + "p2.jpg,dog,.6\np10.jpg,hen,.7\n".replace(".jpg", ""),
        "image,label,probability\np1.jpg,cat,.5\np2.png,dog,.6\np10.jpeg,hen,.7\n",  # file names
        # numbers with gaps, as they are often written
        "image,label,probability\np1,4.0,.5\np2,7.0,.6\np10,9.00,.7\n",
    ],
)
def test_a_table_of_text_says_a_class_an_image(study: str, tmp_path: Path, content: str) -> None:
    assert said(study, text(tmp_path / "preds.csv", content)) == (["cat", "dog", "hen"], [0.5, 0.6, 0.7])


@pytest.mark.parametrize(
    ("head", "values", "taken"),
    [
        (
            "filename,prediction,score",
            "p1,cat,.5\np2,dog,.6\np10,hen,.7",
            "images from 'filename', labels from 'prediction', probabilities from 'score'",
        ),
        (
            "prediction,score,Filename",
            "cat,.5,p1\ndog,.6,p2\nhen,.7,p10",
            "images from 'Filename', labels from 'prediction', probabilities from 'score'",
        ),
        (
            ",file,class,prob",
            "0,p1,cat,.5\n1,p2,dog,.6\n2,p10,hen,.7",
            "images from 'file', labels from 'class', probabilities from 'prob'",
        ),
        (
            "photo,label,score",
            "p1,cat,.5\np2,dog,.6\np10,hen,.7",
            "images from 'photo', labels from 'label', probabilities from 'score'",
        ),
    ],
)
def test_columns_of_other_names_are_taken_and_said(
    study: str, tmp_path: Path, head: str, values: str, taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(study, text(tmp_path / "preds.csv", f"{head}\n{values}\n")) == (
        ["cat", "dog", "hen"],
        [0.5, 0.6, 0.7],
    )
    assert taken in capsys.readouterr().out


def test_a_score_that_is_no_probability_is_not_taken_and_that_is_said(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, shares = said(
        study, text(tmp_path / "preds.csv", "filename,prediction,score\np1,cat,-3.5\np2,dog,12\np10,hen,.7\n")
    )
    assert labels == ["cat", "dog", "hen"]
    assert np.isnan(shares).all()
    assert "'score' has values outside 0..1, so it is not read as probabilities" in capsys.readouterr().out


def test_a_table_without_names_of_columns_loses_no_image_to_them(study: str, tmp_path: Path) -> None:
    source = text(tmp_path / "none.csv", "p1,cat\np2,dog\np10,hen\n")
    with refused(ModelError, r"has no column `label`; name one as .*; it has p1, cat"):
        said(study, source)
    with refused(
        ModelError, r"its first line \(p1, cat\) looks like an image.*; add a header line such as image,label"
    ):
        said(study, f"{source}:cat")
    assert said(study, f"{text(tmp_path / 'fn.csv', 'fn,pred' + chr(10) + 'p1,cat')}")[0] == ["cat", "", ""]


def test_names_with_and_without_an_ending_are_one_image(study: str, tmp_path: Path) -> None:
    mixed = PLAIN.replace("p2,", "p2.png,")
    assert said(study, text(tmp_path / "preds.csv", mixed)) == (["cat", "dog", "hen"], [0.5, 0.6, 0.7])
    twice = text(tmp_path / "twice.csv", PLAIN + "p1.jpg,cat,.5\np2.jpg,cat,.5\n")
    with refused(
        ModelError, r"two rows for 2 images, named with and without a file extension \('p1' and 'p1\.jpg'\)"
    ):
        fs.predict(study, f"net={twice}")


def test_a_mapping_of_void_alone_leaves_other_words_as_they_are(study: str, tmp_path: Path) -> None:
    table = text(tmp_path / "preds.csv", PLAIN.replace("dog", "na"))
    assert said(study, table, labels=text(tmp_path / "void.json", '{"na": "void"}'))[0] == ["cat", "", "hen"]
    assert not [f for f in read_failures(Path(study)) if f.name == "net"]


def test_images_collected_later_join_the_answers_that_a_table_has_for_them(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = text(tmp_path / "preds.csv", PLAIN + "p11,cat,.8\np12.jpg,dog,.9\n")
    fs.predict(study, f"net={table}")
    assert "net: 2 lines of" in capsys.readouterr().out
    before = made.bytes_under(Path(study), "predictions")
    fs.collect(study, text(tmp_path / "more.csv", "image\np11\np12\n"))
    status = fs.status(study)
    assert [(verb, state) for verb, state, _ in status.stages if verb == "predict"] == [
        ("predict", "missing")
    ]
    assert status.next == f"faultscape predict {study} net={table}"
    capsys.readouterr()
    fs.predict(study, f"net={table}")
    assert "stale" not in capsys.readouterr().out
    found = read_predictions(Study(Path(study)), ["net"], (*IDS, "p11", "p12"))
    assert [found.classes.names[k] for k in found.labels[0]] == ["cat", "dog", "hen", "cat", "dog"]
    after = made.bytes_under(Path(study), "predictions")
    assert {name: after[name] for name in before if name.endswith(".parquet")} == {
        n: d for n, d in before.items() if n.endswith(".parquet")
    }


def test_every_format_says_the_same(study: str, tmp_path: Path) -> None:
    columns = {"image": list(IDS), "label": ["cat", "dog", "hen"], "probability": [0.5, 0.6, 0.7]}
    wanted = (["cat", "dog", "hen"], [0.5, 0.6, 0.7])
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    (tmp_path / "p.tsv.gz").write_bytes(gzip.compress(PLAIN.replace(",", "\t").encode()))
    text(tmp_path / "p.tsv", PLAIN.replace(",", "\t"))
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    ids = pa.array([4, 7, 9], pa.int16())
    small = pa.array([0.5, 0.6, 0.7], pa.float32())
    pq.write_table(
        pa.table({"image": pa.array(IDS).dictionary_encode(), "label": ids, "probability": small}),
        tmp_path / "n.pq",
    )
    pq.write_table(pa.table({**columns, "label": pa.array([4, 7, 9], pa.float64())}), tmp_path / "f.parquet")
    for name in ("p.csv.gz", "p.tsv.gz", "p.tsv", "p.parquet", "n.pq", "f.parquet"):
        assert said(study, str(tmp_path / name)) == wanted, name


def test_a_column_picks_a_model_of_a_wide_table_with_its_own_probabilities(
    study: str, tmp_path: Path
) -> None:
    lines = [
        "image,net,net_2,net_probability,other,probability",
        "p1,cat,dog,.5,hen,.9",
        "p2,dog,dog,.6,hen,.9",
        "p10,hen,cat,.7,hen,.9",
    ]
    path = text(tmp_path / "wide.csv", "\n".join(lines))
    assert said(study, f"{path}:net") == (["cat", "dog", "hen"], [0.5, 0.6, 0.7])  # net_2 is another model
    labels, shares = said(study, f"{path}:net_2")
    assert labels == ["dog", "dog", "cat"]
    assert np.isnan(shares).all()
    assert np.isnan(said(study, f"{path}:other")[1]).all()
    assert read_settings(Path(study)).models["net"].source == f"{path}:other"
    odd = text(tmp_path / "odd.csv", "image,a:b\np1,cat\np2,dog\np10,hen\n")
    assert said(study, f"{odd}:a:b")[0] == ["cat", "dog", "hen"]


@pytest.mark.parametrize(
    "head", ["image,prediction,score", "image,net,score", "image,prediction,score,truth"]
)
def test_the_only_probabilities_beside_a_named_column_are_its_own(
    study: str, tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ",hen" if head.endswith("truth") else ""
    path = text(
        tmp_path / "p.csv",
        head
        + "".join(
            f"\n{id_},{rest}{more}" for id_, rest in zip(IDS, ("cat,.5", "dog,.6", "hen,.7"), strict=True)
        ),
    )
    column = head.split(",")[1]
    assert said(study, f"{path}:{column}") == (["cat", "dog", "hen"], [0.5, 0.6, 0.7])
    assert (
        f"{path}: images from 'image', labels from {column!r}, probabilities from 'score'"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("head", "unread"),
    [
        ("image,net,other,score", "'score' is"),
        ("image,net,score,prediction", "'score' is"),
        ("image,net,score,confidence", "'score', 'confidence' are"),
    ],
)
def test_probabilities_that_may_be_of_another_column_are_not_read_and_that_is_said(
    study: str, tmp_path: Path, head: str, unread: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = text(
        tmp_path / "p.csv",
        head + "".join(f"\n{id_},{word},.5,.6" for id_, word in zip(IDS, ("cat", "dog", "hen"), strict=True)),
    )
    words, sure = said(study, f"{path}:net")
    assert words == ["cat", "dog", "hen"]
    assert np.isnan(sure).all()
    told = capsys.readouterr().out
    assert f"{path}: {unread} not read, since nothing says of which labels; " in told
    assert "probabilities of 'net' stand in a column `net_probability`" in told


def test_more_labels_than_one_are_kept_with_their_probabilities(study: str, tmp_path: Path) -> None:
    lines = [
        "image,label,probability,label_2,probability_2",
        "p1,cat,.5,dog,.25",
        "p2,dog,.6,zebra,.2",
        "p10,hen,.7,,",
    ]
    fs.predict(study, f"net={text(tmp_path / 'p.csv', chr(10).join(lines))}")
    found = read_predictions(Study(Path(study)), ["net"], IDS)
    assert found.top is not None
    np.testing.assert_array_equal(found.top[0][0], [[0, 1], [1, -1], [2, -1]])
    np.testing.assert_allclose(found.top[1][0], [[0.5, 0.25], [0.6, NAN], [0.7, NAN]])
    alone = read_predictions(Study(Path(study)), ["net"], IDS, top=False)
    assert alone.top is None
    np.testing.assert_array_equal(alone.labels, found.labels)
    np.testing.assert_array_equal(alone.probabilities, found.probabilities)


def test_a_probability_that_is_missing_is_unknown_and_no_number(study: str, tmp_path: Path) -> None:
    labels, shares = said(
        study, text(tmp_path / "p.csv", "image,label,probability\np1,cat,\np2,dog,nan\np10,hen,1\n")
    )
    assert labels == ["cat", "dog", "hen"]
    np.testing.assert_array_equal(shares, [NAN, NAN, 1])


def test_unknown_words_are_failures_until_a_file_says_what_they_mean(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = text(tmp_path / "p.csv", "image,label\np1,kitty\np2,na\np3,cat\n")
    with refused(ModelError, "no answer could be used"):
        fs.predict(study, f"net={path}")
    assert fs.predict(study, f"net={path}", f"fine={text(tmp_path / 'f.csv', PLAIN)}").models == {
        "net": (0, 3),
        "fine": (3, 0),
    }
    assert "net: 1 image says 'kitty', which is not a class of the study" in capsys.readouterr().out
    why = {f.image: f.reason for f in read_failures(Path(study)) if f.name == "net"}
    assert why == {
        "p1": "'kitty' is not a class of the study",
        "p2": "'na' is not a class of the study",
        "p10": "the table has no row for this image",
    }
    meaning = text(tmp_path / "labels.json", '{"kitty": "cat", "na": "void", "cat": "hen"}')
    assert said(study, path, labels=meaning)[0] == ["cat", "", ""]
    # void is an answer: none of the classes
    assert {f.image for f in read_failures(Path(study)) if f.name == "net"} == {"p10"}
    assert said(study, path)[0] == ["cat", "", ""]  # what was said of a table holds
    assert "1 line of" in capsys.readouterr().out  # of p3, which is not an image of the study
    with refused(ClassesError, "maps 'kitty' to 'kat', which is not a class of the study"):
        fs.predict(study, f"net={path}", labels=text(tmp_path / "labels.json", '{"kitty": "kat"}'))


def test_words_that_meant_a_class_which_is_gone_are_asked_for_again(study: str, tmp_path: Path) -> None:
    path = text(tmp_path / "p.csv", "image,label\np1,kitty\np2,dog\np10,dog\n")
    fs.predict(
        study,
        f"net={path}",
        f"other={text(tmp_path / 'o.csv', PLAIN)}",
        labels=text(tmp_path / "l.json", '{"kitty": "cat"}'),
    )
    fs.collect(study, str(tmp_path / "ids.csv"), classes=text(tmp_path / "two.txt", "dog\nhen\n"))
    with refused(StudyError, "the class list changed since its table was read; run `faultscape predict"):
        fs.select(study)
    assert made.states(study)["predict"] == "stale"
    with refused(ClassesError, "'kitty' was said to be 'cat', which is no longer a class of the study"):
        fs.predict(study, f"net={path}")
    assert said(study, path, labels=text(tmp_path / "labels.json", '{"kitty": "hen"}'))[0] == [
        "hen",
        "dog",
        "dog",
    ]


def arrays(path: Path, **held: np.ndarray) -> str:
    np.savez(path, **held)
    return str(path)


SHARES = np.array([[0.7, 0.2, 0.1], [0.25, 0.25, 0.5], [0.1, 0.8, 0.1]])


def test_arrays_hold_labels_or_probabilities_and_rows_without_names_are_counted_as_people_count(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = arrays(
        tmp_path / "p.npz",
        probabilities=SHARES.astype(np.float32),
        labels=np.array([[4, 7], [9, 4], [7, 9]], np.uint8),
    )
    assert said(study, f"{path}:probabilities") == (["cat", "hen", "dog"], [0.7, 0.5, 0.8])  # p1, p2, p10
    assert "assuming the images in natural order, 'p1' first and 'p10' last" in capsys.readouterr().out
    assert said(study, f"{path}:labels:1")[0] == ["dog", "cat", "hen"]
    named = arrays(tmp_path / "n.npz", shares=SHARES, images=np.array(["p10", "p1", "p2"]))
    assert said(study, f"{named}:shares")[0] == ["hen", "dog", "cat"]
    words = arrays(
        tmp_path / "w.npz", said=np.array([b"cat", b"hen", b"biddy"]), image=np.array([b"p1", b"p2", b"p10"])
    )
    assert said(study, f"{words}:said")[0] == ["cat", "hen", "hen"]
    assert said(study, arrays(tmp_path / "one.npz", only=np.array(["cat", "dog", "hen"])))[0] == [
        "cat",
        "dog",
        "hen",
    ]
    fs.predict(study, f"net={named}:shares")
    found = read_predictions(Study(Path(study)), ["net"], IDS)
    assert found.top is not None
    np.testing.assert_allclose(found.top[1][0], [[0.5, 0.25, 0.25], [0.8, 0.1, 0.1], [0.7, 0.2, 0.1]])
    assert found.top[0][0, 0].tolist() == [2, 0, 1]  # of equal ones the first class first


def test_columns_of_probabilities_are_as_many_as_classes_unless_a_file_says_which(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = arrays(tmp_path / "p.npz", shares=np.eye(4)[[3, 0, 1]])
    with refused(ModelError, "has probabilities for 4 classes, but the study has 3; give a --labels FILE"):
        fs.predict(study, f"net={path}:shares")
    meaning = text(tmp_path / "l.json", '{"0": "dog", "1": "void", "3": "cat"}')
    assert said(study, f"{path}:shares", labels=meaning)[0] == ["cat", "dog", ""]
    assert "note: net: never names 1 of 3 classes, of which it has no column: hen" in capsys.readouterr().out


def refusal_of(study: str, source: str) -> str:
    with refused(FaultscapeError) as error:
        fs.predict(study, f"net={source}")
    assert "net" not in read_settings(Path(study)).models
    return str(error.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is empty"),
        ("image,label\n", "has no rows"),
        ("image,label\np1,cat\np1,dog\n", "has two rows for the image 'p1'"),
        ("image,label\np1.png,cat\np1.jpg,dog\n", "has two rows for the image 'p1'"),
        (
            "image,label,probability\np1,cat,1.5\n",
            ", line 2: probabilities lie between 0 and 1; got 1.5; divide percentages by 100",
        ),
        ("image,label,probability\np1,cat,-1\n", "probabilities lie between 0 and 1; got -1"),
        ("image,label,probability\np1,cat,inf\n", "probabilities lie between 0 and 1; got inf"),
        (
            "image,label,probability\np1,cat,.5\np2,cat,often\n",
            ", line 3: probability is 'often'; expected a number between 0 and 1",
        ),
        (
            "image,label,probability,label_2,probability_2\np1,cat,.3,dog,.4\n",
            ", line 2: 'p1' has probabilities 0.3, 0.4; expected the likeliest first",
        ),
        ("image,label,probability,label_2,probability_2\np1,cat,.7,dog,.5\n", "a sum of at most 1"),
        ("image,label,probability,label_2\np1,cat,.7,dog\n", "'label_2' has no column of probabilities"),
        ("image,label,label\np1,cat,dog\n", "has two columns 'label'"),
        (
            "image,label\np1,cat\np2,cat,dog\n",
            ", line 3: has 3 columns, the first line 2; quote cells that hold a comma",
        ),
        ('image,label\np1,"c\nat"\np1\n', ", line 4: has 1 column, the first line 2"),
        ("image,guess\np1,cat\n", "has no column `label`; name one as"),
        ("image\np1\n", "has no column `label`"),
        ("image,label\nq1,cat\n", "names no image of the study; it has 'q1', the study 'p1'"),
        ("image,label\np1,zebra\np2,99999999999999999999999999\n", "not one label of"),
        ("image,label\np1,\x00\x1b[31m\n", "not one label of"),
        (PLAIN.replace("label", "la\x00bel"), "has no column `label`"),
    ],
)
def test_a_table_that_cannot_be_believed_is_refused_in_a_line(
    study: str, tmp_path: Path, content: str, why: str
) -> None:
    said_of_it = refusal_of(study, text(tmp_path / "preds.csv", content))
    assert why in said_of_it
    assert "\x1b" not in said_of_it


def test_files_that_are_no_tables_are_refused_in_a_line(study: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(3000)
    for name in ("a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.npz"):
        (tmp_path / name).write_bytes(noise)
        assert "a." in refusal_of(study, str(tmp_path / name))
    (tmp_path / "utf16.csv").write_bytes(PLAIN.encode("utf-16"))
    refusal_of(study, str(tmp_path / "utf16.csv"))
    (tmp_path / "latin.csv").write_bytes(PLAIN.replace("cat", "cät").encode("latin-1"))
    assert "is not text in UTF-8; save" in refusal_of(study, str(tmp_path / "latin.csv"))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress((PLAIN * 1000).encode())[:-30])
    refusal_of(study, str(tmp_path / "cut.csv.gz"))
    assert "there is no such file" in refusal_of(study, str(tmp_path / "gone.csv"))
    assert "there is no such file" in refusal_of(study, f"{tmp_path / 'gone.csv'}:net")
    path = text(tmp_path / "p.csv", PLAIN)
    assert (
        "has no column of labels 'lable'; it has image, label, probability. Did you mean 'label'?"
        in refusal_of(study, f"{path}:lable")
    )
    assert "has no column of labels 'image'; it has image, label, probability." in refusal_of(
        study, f"{path}:image"
    )


def test_arrays_that_cannot_be_believed_are_refused_in_a_line(study: str, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    good = np.array([4, 7, 9])
    for why, key, held in (
        ("name an array", "", {"a": good, "b": good}),
        ("has no array 'c'; it has a (3,)", ":c", {"a": good}),
        ("name an array", ":a:one", {"a": good}),
        ("name an array", ":a:1:2", {"a": good}),
        ("has no column 1", ":a:1", {"a": good}),
        ("has no column 2", ":a:2", {"a": np.stack([good, good], 1)}),
        ("expected labels (I,), or probabilities (I, C)", ":a", {"a": np.stack([good, good], 1)}),
        ("expected labels", ":a", {"a": np.array(3)}),
        ("expected labels", ":a", {"a": np.zeros((3, 3, 3))}),
        ("expected labels", ":a", {"a": np.array([0.5, 0.5, 0.5])}),
        ("expected labels", ":a", {"a": np.array([True, False, True])}),
        ("has 2 rows without names, but the study has 3 images", ":a", {"a": good[:2]}),
        ("names 2 images, and a is of shape (3,)", ":a", {"a": good, "images": np.array(["p1", "p2"])}),
        ("names 3 images, and a is of shape ()", ":a", {"a": np.array(3), "images": np.array(IDS)}),
        ("two rows for the image 'p1'", ":a", {"a": good, "images": np.array(["p1", "p1", "p2"])}),
        ("row 1 sums to 0.5", ":a", {"a": SHARES * [[1], [0.5], [1]]}),
        ("row 0 sums to nan", ":a", {"a": np.where(SHARES == 0.7, NAN, SHARES)}),
        ("probabilities lie between 0 and 1; got 70; divide percentages", ":a", {"a": SHARES * 100}),
        (", row 0 of a: probabilities lie between 0 and 1; got -2.3; apply softmax", ":a", {"a": SHARES - 3}),
        ("between 0 and 1; got 7; apply softmax to logits", ":a", {"a": SHARES * 10}),
        ("not one label", ":a", {"a": np.array([2**63] * 3, np.uint64)}),
        (
            "it contains Python objects, and nothing is unpickled",
            ":a",
            {"a": np.array([{"x": 1}] * 3, object)},
        ),
        ("has no rows", ":a", {"a": np.zeros((0, 3))}),
        ("utf-8", ":a", {"a": np.array([b"\xff", b"a", b"b"])}),
    ):
        arrays(path, **held)  # type: ignore[arg-type]
        assert why in refusal_of(study, f"{path}{key}"), why
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "a.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999, 3), }".ljust(
                128
            ),
        )
    refusal_of(study, f"{path}:a")


def test_arrays_that_unpack_to_more_than_is_read_are_never_unpacked(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros((100_000, 10)))
    monkeypatch.setattr(tables, "_MOST_BYTES", 1 << 20)
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was unpacked"))
    assert "unpacks to more than" in refusal_of(study, f"{tmp_path / 'bomb.npz'}:a")


def listed(tmp_path: Path, *lists: tuple[str, ...]) -> str:
    """A study of ids that lists name, collected one after the other."""
    for number, ids in enumerate(lists):
        (tmp_path / f"{number}.csv").write_text("image\n" + "\n".join(ids))
        made_of = {"task": "classification", "classes": 3} if not number else {}
        fs.collect(tmp_path / "listed", tmp_path / f"{number}.csv", **group_options(fs.collect, made_of))
    return str(tmp_path / "listed")


@pytest.mark.parametrize("lists", [(("p3", "p1", "p2"),), (("p1", "p3"), ("p2",)), (("p1", "p10", "p2"),)])
def test_rows_without_names_are_refused_where_the_list_of_images_has_an_order_of_its_own(
    tmp_path: Path, lists: tuple[tuple[str, ...], ...]
) -> None:
    study = listed(tmp_path, *lists)
    path = arrays(tmp_path / "p.npz", said=np.array([0, 1, 2]))
    assert (
        "the study's images were collected from a list in its own order; add an array `images` that names"
        in refusal_of(study, path)
    )
    fs.predict(
        study,
        f"net={arrays(tmp_path / 'n.npz', said=np.array([0, 1, 2]), images=np.array(sum(lists, ())))}:said",
    )


def test_rows_without_names_are_taken_where_lists_count_on(tmp_path: Path) -> None:
    study = listed(tmp_path, ("p1", "p2"), ("p2", "p10"))
    fs.predict(study, f"net={arrays(tmp_path / 'p.npz', said=np.array([0, 1, 2]))}")
    assert not read_settings(Path(study)).own_order


def test_rows_without_names_are_refused_where_pictures_are_sorted_otherwise_than_counted_or_lie_in_two_folders(
    tmp_path: Path,
) -> None:
    for folder, names in (
        ("a", ("p1", "p2", "p10")),
        ("b", ("q1",)),
        ("c", ("p01", "p02", "p10")),
        ("l", ("x", "y")),
    ):
        for k, name in enumerate(names):
            made.write(
                tmp_path / folder / f"{name}.png",
                np.random.default_rng(k).integers(0, 255, (16, 16, 3), np.uint8),
            )
    (tmp_path / "l" / "list.txt").write_text("y.png\nx.png\n")
    three, options = (
        arrays(tmp_path / "p.npz", said=np.array([0, 1, 2])),
        {"task": "classification", "classes": 3},
    )
    fs.collect(str(tmp_path / "A"), str(tmp_path / "a"), **group_options(fs.collect, options))
    assert "image 2 is 'p2' as people count, and 'p10' as names are sorted; add an array" in refusal_of(
        str(tmp_path / "A"), three
    )
    fs.collect(tmp_path / "B", tmp_path / "b", str(tmp_path / "l"), **group_options(fs.collect, options))
    assert "come from several lists, folders or sets; add an array" in refusal_of(str(tmp_path / "B"), three)
    fs.collect(str(tmp_path / "L"), str(tmp_path / "l" / "list.txt"), **group_options(fs.collect, options))
    assert "list in its own order" in refusal_of(
        str(tmp_path / "L"), arrays(tmp_path / "two.npz", said=np.array([0, 1]))
    )
    fs.collect(str(tmp_path / "C"), str(tmp_path / "c"), **group_options(fs.collect, options))
    fs.predict(str(tmp_path / "C"), f"net={three}")
