"""Corrupted sets: made when they are read, the same bytes everywhere, known to the graph, and measured by the
labels of their parents.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.corpus.photos import read_photo
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from made import states
from refusals import refused, refused_line

MODEL = """
def dark(photo):
    return (photo[..., 0] < 128).astype("uint8")

def bright(photo):
    return (photo[..., 1] > 100).astype("uint8")
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    root = tmp_path_factory.mktemp("corrupt")
    (root / "mine.py").write_text(MODEL)
    return made.corpus(root, images=6, models=2, shape=(20, 28))


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return str(made.collected(corpus, tmp_path / "study", shard_size=4))


def corrupted(study: str, **more: object) -> object:
    return fs.stress.corrupt(
        study, corruption=["gaussian_noise", "contrast"], severities="2,4", engine="local", **more
    )


def sets(study: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for image in read_corpus(Path(study)):
        found.setdefault(image.set, []).append(image.id)
    return found


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path))


def test_each_condition_is_a_set_whose_images_are_called_after_their_parents(
    study: str, corpus: made.Corpus
) -> None:
    found = corrupted(study)
    assert (found.images, found.new) == (24, 24)
    assert found.sets == ("gaussian_noise-2", "gaussian_noise-4", "contrast-2", "contrast-4")
    assert sets(study)["contrast-4"] == sorted(f"contrast-4/{id_}" for id_ in corpus.ids)
    rows = {image.id: image for image in read_corpus(Path(study))}
    one = rows[f"contrast-4/{corpus.ids[0]}"]
    assert (one.parent, one.condition, one.role, one.width) == (corpus.ids[0], "contrast-4", "test", 28)
    of_shard: dict[int, set[str]] = {}
    for image in rows.values():
        of_shard.setdefault(image.shard, set()).add(image.set)
    assert all(len(names) == 1 for names in of_shard.values())  # no shard mixes sets


def test_a_model_sees_the_parent_corrupted_under_its_key(study: str, corpus: made.Corpus) -> None:
    corrupted(study)
    for image in read_corpus(Path(study)):
        if image.set == "gaussian_noise-4":
            file = corpus.photos / f"{image.parent}.png"
            key = hashlib.sha256(file.read_bytes()).hexdigest()
            expected = fs.stressors.corrupt(pixels(file), "gaussian_noise", 4, seed=0, key=key)
            np.testing.assert_array_equal(read_photo(image)[0], expected)
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    assert [f for f in read_failures(Path(study)) if f.stage == "predict"] == []
    out = fs.measure(
        study_with_labels(study, corpus),
        part=fs.options.StudyPart(set_=["gaussian_noise-4"]),
        resamples=0,
        engine="local",
    ).document
    assert out["datasets"]["gaussian_noise-4"]["images"] == {"dark": 6}


def study_with_labels(study: str, corpus: made.Corpus) -> str:
    fs.label.import_(study, str(corpus.truth))
    return study


def test_the_same_line_again_changes_nothing_and_another_seed_is_refused(study: str) -> None:
    corrupted(study)
    before = made.bytes_under(Path(study), "corpus.parquet", "sets.json")
    again = corrupted(study)
    assert (again.new, again.changed, again.left) == (0, 0, 0)
    assert "unchanged" in repr(again)
    assert made.bytes_under(Path(study), "corpus.parquet", "sets.json") == before
    with refused(says="set 'gaussian_noise-2' and 3 more made with another seed .0.; remove them first"):
        corrupted(study, seed=1)
    fs.collect(study, remove=["gaussian_noise-2/*"])
    assert "gaussian_noise-2" not in json.loads((Path(study) / "sets.json").read_text())["sets"]
    assert (
        fs.stress.corrupt(study, corruption=["gaussian_noise"], severities="2", seed=1, engine="local").new
        == 6
    )


def test_images_that_came_make_the_sets_stale_and_the_line_that_status_names_mends_it(
    study: str, tmp_path: Path
) -> None:
    from faultscape.cli import main

    corrupted(study)
    assert states(study)["stress"] == "done"
    made.write(tmp_path / "more" / "new.png", np.full((20, 28, 3), 90, np.uint8))
    fs.collect(study, str(tmp_path / "more"))
    row = next(row for row in fs.status(study).stages if row[0] == "stress")
    assert row[1:] == (
        "stale",
        (
            "gaussian_noise-2 and 3 more sets: corrupt of main; images of its source set were added,"
            " changed or removed"
        ),
    )
    line = fs.status(study).next
    assert (
        line
        == f"faultscape stress corrupt {study} --set main --corruption gaussian_noise --corruption contrast"
        " --severities 2,4"
    )
    before = {image.id: image.shard for image in read_corpus(Path(study))}
    assert main(line.split()[1:]) == 0
    after = {image.id: image.shard for image in read_corpus(Path(study))}
    assert after.items() >= before.items()  # shards are never cut again
    assert len(after) == len(before) + 4
    assert states(study)["stress"] == "done"
    fs.collect(study, remove=["new"])
    assert "contrast-2/new" not in {image.id for image in read_corpus(Path(study))}
    assert len(read_corpus(Path(study))) == 30


def test_a_parent_that_changed_is_never_read_in_silence(corpus: made.Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.photos, tmp_path / "photos")
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "photos"), classes=str(corpus.classes))
    corrupted(study)
    made.write(tmp_path / "photos" / f"{corpus.ids[0]}.png", np.zeros((20, 28, 3), np.uint8))
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    said = {f.image: f.reason for f in read_failures(Path(study)) if f.stage == "predict"}
    assert len(said) == 5  # the parent, and what was made of it
    assert "changed since images were made from it" in said[f"contrast-2/{corpus.ids[0]}"]
    fs.collect(study, str(tmp_path / "photos"))
    assert states(study)["stress"] == "stale"
    assert corrupted(study).changed == 4
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    assert [f for f in read_failures(Path(study)) if f.stage == "predict"] == []
    assert states(study)["stress"] == "done"


def test_images_that_were_moved_take_what_was_made_of_them_along(corpus: made.Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.photos, tmp_path / "here")
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "here"), classes=str(corpus.classes))
    corrupted(study)
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    (tmp_path / "here").rename(tmp_path / "there")
    fs.collect(study, str(tmp_path / "there"))
    for image in read_corpus(Path(study)):
        read_photo(image)
    assert states(study)["stress"] == "done"
    assert states(study)["predict"] in (
        "done",
        "missing",
    )  # one model is not a competition; nothing is outdated
    parts = made.bytes_under(Path(study), "predictions")
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    assert made.bytes_under(Path(study), "predictions") == parts


def test_selections_counts_and_measures_do_not_follow_from_made_sets(study: str, corpus: made.Corpus) -> None:
    fs.predict(study, {name: str(path) for name, path in corpus.models.items()}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.label.import_(study, str(corpus.truth))
    fs.compare(study, engine="local")
    fs.measure(study, resamples=0, engine="local")
    before = states(study)
    corrupted(study)
    fs.predict(study, {name: str(path) for name, path in corpus.models.items()}, engine="local")
    assert [
        f for f in read_failures(Path(study)) if f.stage == "predict"
    ] == []  # nobody said that these folders have maps of made images
    after = states(study)
    assert {stage: after[stage] for stage in before} == before
    assert after["stress"] == "done"
    assert fs.compare(study, engine="local").parts_made == 0


def test_a_folder_of_maps_gives_made_images_its_maps_of_their_whole_ids_alone(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    from faultscape.study.tables import label_maps

    corrupted(study)
    for k, id_ in enumerate(corpus.ids):
        made.write(tmp_path / "maps" / f"{id_}.png", corpus.maps["model-0"][k])
        made.write(tmp_path / "maps" / "contrast-4" / f"{id_}.png", np.full((20, 28), 3, np.uint8))
    fs.predict(study, {"m": str(tmp_path / "maps")}, engine="local")
    shards = {image.shard for image in read_corpus(Path(study))}
    held = {
        id_: code
        for shard in shards
        for id_, code in label_maps.read_maps(label_maps.predictions(Path(study), "m"), shard).items()
    }
    assert sorted(held) == sorted([*corpus.ids, *(f"contrast-4/{id_}" for id_ in corpus.ids)])
    from faultscape.maps import runs

    assert (runs.decode(held[f"contrast-4/{corpus.ids[0]}"]) == 3).all()
    np.testing.assert_array_equal(runs.decode(held[corpus.ids[0]]), corpus.maps["model-0"][0])


@pytest.mark.slow
def test_images_are_written_once_and_are_the_same_in_many_processes(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    done = corrupted(study, write=str(tmp_path / "out"))
    assert done.written == 24
    for image in read_corpus(Path(study)):
        if image.parent:
            name, severity = image.set.rsplit("-", 1)
            np.testing.assert_array_equal(
                pixels(tmp_path / "out" / name / severity / f"{image.parent}.png"), read_photo(image)[0]
            )
    assert corrupted(study, write=str(tmp_path / "out")).written == 0
    (tmp_path / "out" / "contrast" / "2" / f"{corpus.ids[0]}.png").unlink()
    assert corrupted(study, write=str(tmp_path / "out")).written == 1
    other = str(made.collected(corpus, tmp_path / "other", shard_size=5))
    fs.stress.corrupt(
        other,
        corruption=["contrast", "gaussian_noise"],
        severities="4,2",
        engine="processes",
        workers=2,
        write=tmp_path / "many",
    )
    assert made.bytes_under(tmp_path / "many", "contrast", "gaussian_noise") == made.bytes_under(
        tmp_path / "out", "contrast", "gaussian_noise"
    )


@pytest.mark.slow
def test_a_set_is_measured_by_the_labels_of_its_parents(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    corrupted(study, write=str(tmp_path / "out"))
    study_with_labels(study, corpus)
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    part = fs.options.StudyPart(set_=["contrast-4", "gaussian_noise-2"])
    found = fs.measure(study, part=part, resamples=0, engine="local")
    assert Path(found.path) == Path(study) / "measures-sets"
    for id_ in corpus.ids:
        photo = pixels(tmp_path / "out" / "contrast" / "4" / f"{id_}.png")
        made.write(tmp_path / "maps" / f"{id_}.png", (photo[..., 0] < 128).astype(np.uint8))
    by_hand = fs.measure(
        corpus.truth,
        {"dark": tmp_path / "maps"},
        classes=corpus.classes,
        output=tmp_path / "o",
        resamples=0,
        engine="local",
    )
    ours, theirs = found.document["datasets"]["contrast-4"]["models"]["dark"], by_hand.models["dark"]
    assert ours["miou"]["value"] == theirs["miou"]["value"]
    assert ours["rom"]["value"] == pytest.approx(theirs["rom"]["value"])
    assert not (Path(study) / "measures" / "measure.json").exists()
    # of what was collected alone
    assert fs.measure(study, resamples=0, engine="local").document["images"] == {"dark": 6}


@pytest.mark.slow
def test_measures_of_sets_accumulate_from_line_to_line(
    study: str, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(**part: Any) -> dict[str, Any]:
        return fs.measure(study, part=fs.options.StudyPart(**part), resamples=0, engine="local").document[
            "datasets"
        ]

    corrupted(study)
    study_with_labels(study, corpus)
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    fs.stress.holdout(study, classes=[made.NAMES[1]], as_="few")
    first = measured(set_=["contrast-2"])
    capsys.readouterr()
    assert main(["measure", study, "--set", "contrast-4", "--resamples", "0", "--engine", "local"]) == 0
    said = capsys.readouterr().out
    assert "contrast-4:\n" in said
    assert "contrast-2:\n" not in said
    assert "kept from earlier calls: 1 set (contrast-2)\n" in said
    assert [*measured(holdout="few")] == ["labels.few", "contrast-4", "contrast-2"]
    # in another order, and not counted anew
    assert measured(set_=["contrast-2"])["contrast-2"] == first["contrast-2"]
    fs.collect(study, remove=["contrast-4/*"])
    assert [*measured(set_=["gaussian_noise-2"])] == ["gaussian_noise-2", "contrast-2", "labels.few"]
    assert "note: contrast-4 was measured before and is left out" in capsys.readouterr().out
    file = Path(study) / "measures-sets" / "measure.json"
    for text in (
        '{"provenance": {"parts": [["a"]]}}',
        '{"provenance": {"parts": [[1, 2]]}}',
        '{"provenance": 7}',
        "{",
    ):
        file.write_text(text)
        assert [*measured(set_=["contrast-2"])] == ["contrast-2"]
        assert (
            "measure.json cannot be read, so results of earlier runs are left out" in capsys.readouterr().out
        )


def test_labels_move_with_pixels_where_that_is_asked_for(study: str, corpus: made.Corpus) -> None:
    from faultscape.classes.class_lists import table
    from faultscape.maps import runs
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.stress_sets import labels_folder

    with refused(says="there are no labels yet"):
        fs.stress.corrupt(
            study, corruption=["elastic_transform"], severities="5", move_labels=True, engine="local"
        )
    study_with_labels(study, corpus)
    fs.stress.corrupt(
        study,
        corruption=["elastic_transform", "contrast"],
        severities="5",
        seed=3,
        move_labels=True,
        engine="local",
    )
    about = json.loads((Path(study) / "sets.json").read_text())["sets"]
    assert (about["elastic_transform-5"]["labels"], about["contrast-5"]["labels"]) == ("own", "parents")
    rows = [image for image in read_corpus(Path(study)) if image.set == "elastic_transform-5"]
    places = table(read_settings(Path(study)).class_list)
    moved = 0
    for image in rows:
        held = label_maps.read_maps(labels_folder(Path(study), image.set), image.shard)
        truth = corpus.truths[corpus.ids.index(image.parent)]
        key = hashlib.sha256((corpus.photos / f"{image.parent}.png").read_bytes()).hexdigest()
        expected = fs.stressors.move_labels(truth, "elastic_transform", 5, seed=3, key=key)
        np.testing.assert_array_equal(runs.decode(held[image.id]), expected)
        assert (places[expected] <= 5).all()
        moved += (expected != truth).any()
    assert moved
    fs.predict(study, {"dark": f"{corpus.root / 'mine.py'}:dark"}, engine="local")
    assert fs.measure(
        study, part=fs.options.StudyPart(set_=["elastic_transform-5"]), resamples=0, engine="local"
    ).document["datasets"]["elastic_transform-5"]["images"] == {"dark": 6}
    made.write(corpus.root / "changed" / f"{corpus.ids[0]}.png", np.full((20, 28), 2, np.uint8))
    fs.label.import_(study, str(corpus.root / "changed"))
    assert [row[1] for row in fs.status(study).stages if row[0] == "stress"] == ["stale"]


def test_groups_of_made_images_are_those_of_their_parents(study: str) -> None:
    corrupted(study)
    fs.collect(study, grouping=fs.options.Grouping(group="{group}/*"))
    groups = {image.id: image.group for image in read_corpus(Path(study))}
    assert groups["contrast-2/part1/photo 001"] == groups["part1/photo 001"] == "part1"


def test_a_made_set_is_neither_corrupted_again_nor_collected(study: str, corpus: made.Corpus) -> None:
    line = ("stress", "corrupt", study)
    corrupted(study)
    assert "is already corrupted" in refused_line(*line, "--set", "contrast-2")
    assert "was made by `faultscape stress`" in refused_line(
        "collect", study, str(corpus.photos), "--set", "contrast-2"
    )


def test_images_that_come_back_bring_what_was_made_of_them(study: str, corpus: made.Corpus) -> None:
    corrupted(study)
    before = made.bytes_under(Path(study), "corpus.parquet")
    fs.collect(study, remove=[corpus.ids[0]])
    assert states(study)["stress"] == "stale"
    assert len(read_corpus(Path(study))) == 25
    fs.collect(study, str(corpus.photos))
    assert states(study)["stress"] == "done"
    assert made.bytes_under(Path(study), "corpus.parquet") == before
    fs.collect(study, remove=[corpus.ids[0]])
    fs.collect(study, remove=["contrast-2/*"])
    fs.collect(study, str(corpus.photos))
    assert "contrast-2" not in sets(study)  # which was taken out by itself
    assert len(sets(study)["contrast-4"]) == 6


def test_a_line_whose_sets_have_labels_of_their_own_in_part_is_done_when_it_was_run(
    study: str, corpus: made.Corpus
) -> None:
    study_with_labels(study, corpus)
    fs.stress.corrupt(
        study, corruption=["contrast", "elastic_transform"], severities="3", move_labels=True, engine="local"
    )
    assert states(study)["stress"] == "done"


OWN = """
from faultscape.stressors import Corruption

INVERT = Corruption(
    name="invert", title="Inverted", family="digital", means=("share",), parameters=((0.2,), (0.4,), (0.6,), (0.8,), (1.0,)), random=False,
    apply=lambda pixels, parameters, start: (pixels * (1 - parameters[0]) + (255 - pixels) * parameters[0]).astype("uint8"),
)
"""


def test_a_corruption_of_ones_own_is_run_as_it_was_or_not_at_all(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    found = fs.stress.corrupt(study, corruption=[f"{file}:INVERT"], severities="5", engine="local")
    assert found.sets == ("invert-5",)
    image = next(image for image in read_corpus(Path(study)) if image.set == "invert-5")
    np.testing.assert_array_equal(read_photo(image)[0], 255 - pixels(corpus.photos / f"{image.parent}.png"))
    assert states(study)["stress"] == "done"
    file.write_text(OWN.replace("255 - pixels", "254 - pixels"))
    with refused(says="its file changed since images were made by it"):
        read_photo(image)
    assert next(row[2] for row in fs.status(study).stages if row[0] == "stress").endswith(
        "the file of a corruption changed"
    )
    assert (
        fs.stress.corrupt(study, corruption=[f"{file}:INVERT"], severities="5", engine="local").changed == 6
    )
    assert states(study)["stress"] == "done"
    image = next(image for image in read_corpus(Path(study)) if image.set == "invert-5")
    np.testing.assert_array_equal(read_photo(image)[0], 254 - pixels(corpus.photos / f"{image.parent}.png"))
    file.write_text(OWN)
    file.unlink()
    assert "is gone; put it back" in next(row[2] for row in fs.status(study).stages if row[0] == "stress")
