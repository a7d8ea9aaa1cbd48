"""Instances from files to numbers: stored as they came, measured as the rules say, and asked for in vain in
one line.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import faultscape as fs
import made_instances
from faultscape.errors import FaultscapeError
from faultscape.maps import instances
from faultscape.maps.instances import Instances
from faultscape.nouns import Definition, Slot
from faultscape.prediction import catalogue
from faultscape.prediction.source import Request
from faultscape.reading import evidence
from faultscape.reading.instances.judgement import judge
from faultscape.reading.instances.transfer import OTHERS, OWN, compare, conclusion
from faultscape.reading.study import Study
from faultscape.reporting.competition.figure_data import FigureData
from faultscape.study.tables import label_maps
from faultscape.study.tables.removed_images import each_whole_shard
from faultscape.verbs.label.result import Imported
from made_instances import MadeInstances
from refusals import refused


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> MadeInstances:
    return made_instances.study(tmp_path_factory.mktemp("instances"))


def stored(folder: Path, study: str) -> dict[str, Instances]:
    parts = Study(study).manifest(folder)
    codes = {}
    for name, part in parts.items():
        codes |= label_maps.read_instances(folder, int(name), part)
    return {id_: instances.decode(code) for id_, code in codes.items()}


def test_instances_are_stored_as_they_came(held: MadeInstances) -> None:
    root = Path(held.study)
    truth = stored(root / "truth" / "labels", held.study)
    results = stored(root / "predictions" / "results", held.study)
    panoptic = stored(root / "predictions" / "panoptic", held.study)
    assert not stored(root / "predictions" / "maps", held.study)
    assert [*truth] == [*results] == [*panoptic] == held.ids
    number = 100
    for k, id_ in enumerate(held.ids):
        masks, classes, crowd = held.truth[k]
        assert (np.stack([truth[id_].mask(n) for n in range(len(classes))]) == masks).all()
        assert truth[id_].classes.tolist() == classes
        assert truth[id_].crowd.tolist() == crowd
        assert truth[id_].ids.tolist() == [*range(number, number := number + len(classes))]
        said, of, scores = held.results[k]
        assert (np.stack([results[id_].mask(n) for n in range(len(of))]) == said).all()
        assert results[id_].classes.tolist() == of
        assert results[id_].scores.tolist() == scores
        numbers, meant = held.panoptic[k]
        assert panoptic[id_].ids.tolist() == [*meant]
        assert panoptic[id_].classes.tolist() == [c + 1 for c in meant.values()]  # the file's categories
        assert all((panoptic[id_].mask(n) == (numbers == id__)).all() for n, id__ in enumerate(meant))
    study = Study(held.study)
    found = study.maps("results").instances(held.ids[0])
    assert found is not None
    assert found.scores.tolist() == held.results[0][2]
    assert study.maps("maps").instances(held.ids[0]) is None
    of_labels = study.labels().instances(held.ids[1])
    assert of_labels is not None
    assert of_labels.classes.tolist() == held.truth[1][1]


def test_labels_that_are_imported_again_keep_their_instances(held: MadeInstances, tmp_path: Path) -> None:
    where = Path(held.study) / "truth" / "labels"
    before = {id_: one.areas.tolist() for id_, one in stored(where, held.study).items()}
    for source in (held.folder / "truth.json", made_instances.masks(held, tmp_path)):
        again = fs.label.import_(held.study, str(source))
        assert isinstance(again, Imported)
        assert (again.new, again.replaced) == (0, 0)
    assert {id_: one.areas.tolist() for id_, one in stored(where, held.study).items()} == before


def test_measures_of_instances_are_those_of_the_arrays(held: MadeInstances) -> None:
    found = fs.measure(held.study, metric=["instance_pq", "mask_ap"], engine="local", resamples=20)
    precision = fs.metrics.mask_average_precision(
        [masks for masks, *_ in held.truth],
        [masks for masks, *_ in held.results],
        [classes for _, classes, _ in held.truth],
        [classes for _, classes, _ in held.results],
        [scores for *_, scores in held.results],
        crowds=[crowd for *_, crowd in held.truth],
    )
    entry = found.models["results"]["mask_ap"]
    assert entry["value"] == pytest.approx(precision.ap, abs=1e-9)
    assert all(entry[end] is not None for end in ("low", "high"))
    # what no object covers is background: a segment of a class of its own, which is left out
    ground = 9
    numbers, of, many = [], [], []
    for masks, classes, crowd in held.truth:
        drawn = made_instances.numbers_of(masks)
        numbers.append(np.where(drawn, drawn, 5))
        of.append({10 * (k + 1): c for k, c in enumerate(classes)} | {5: ground})
        many.append([10 * (k + 1) for k, is_crowd in enumerate(crowd) if is_crowd])
    said = [drawn for drawn, _ in held.panoptic]
    quality = fs.metrics.panoptic(numbers, said, of, [meant for _, meant in held.panoptic], crowds=many)
    mine = np.mean([quality.per_class[c]["pq"] for c in (1, 2)])
    assert found.models["panoptic"]["instance_pq"]["value"] == pytest.approx(mine, abs=1e-9)
    assert "mask_ap" not in found.models["panoptic"]
    assert "panoptic has no Mask AP: its instances have no scores" in found.notes
    assert "maps has no Mask AP: it has no instances" in found.notes
    assert "connected regions of its maps" in found.models["maps"]["instance_pq"]["definition"]
    page = (Path(found.path) / "report.html").read_text()  # its bars by class are errors, as all others
    assert "<h3>Mask AP error</h3><p>1 − average precision of masks" in page.replace("\n", "")


@pytest.mark.slow
def test_connected_regions_stand_for_instances_that_a_study_has_not(
    held: MadeInstances, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(held.folder / "photos"), classes=str(held.folder / "classes.json"))
    fs.predict(str(study), {"maps": str(held.folder / "maps")}, engine="local")
    fs.label.import_(str(study), str(made_instances.masks(held, tmp_path)))
    found = fs.measure(str(study), metric=["instance_pq"], engine="local", resamples=0)
    entry = found.models["maps"]
    assert entry["instance_pq"]["value"] == pytest.approx(entry["pq"]["value"], abs=1e-12)
    assert "truth labels has no instances: its connected regions stand for them" in found.notes
    with refused(FaultscapeError, "--metric mask_ap is of all collected images; leave out --shard"):
        fs.measure(str(study), metric=["mask_ap"], shard="1/2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"segments_info": 3}, "has no list `segments_info`"),
        ({"segments_info": [{"id": 1, "category_id": 70000}]}, "has the category id 70000"),
        ({"segments_info": [{"id": 1 << 30, "category_id": 1}]}, "needs an id from 1 to 16777215"),
        ({"file_name": "../truth.json"}, "is not a file in the folder"),
        ({"segments_info": [{"id": 1, "category_id": 1}]}, "which is missing in segments_info"),
    ],
)
def test_panoptic_files_that_lie_are_refused_in_one_line(
    held: MadeInstances, tmp_path: Path, change: dict, says: str
) -> None:
    document = json.loads((held.folder / "panoptic.json").read_text())
    document["annotations"] = [row | change for row in document["annotations"]]
    path = tmp_path / "panoptic.json"
    path.write_text(json.dumps(document))
    (tmp_path / "panoptic").symlink_to(held.folder / "panoptic")
    with refused(FaultscapeError, says):
        fs.predict(held.study, {"wrong": str(path)}, engine="local")


def test_duels_by_panoptic_quality_are_those_of_least_quality(
    held: MadeInstances, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = fs.options.MapRules(concordance="pq", constraints="none")
    fs.compare(held.study, engine="local")
    capsys.readouterr()
    fs.select(held.study, as_="by-pq", maps=rules, engine="local")
    assert (
        "note: pq is of instances of results, panoptic and connected regions of the maps of maps"
        in capsys.readouterr().out
    )
    slots = Study(held.study).selection("by-pq").slots
    assert slots.definition["concordance"] == "pq"
    ground = 9
    for row in slots.chosen:
        assert isinstance(row, Slot)
        if {row.defender, row.attacker} != {"panoptic", "results"}:
            continue
        values = {}
        for id_, (masks, classes, scores), (numbers, meant) in zip(
            held.ids, held.results, held.panoptic, strict=True
        ):
            order = np.argsort(scores, kind="stable")
            drawn = made_instances.numbers_of(masks[order])
            of = {10 * (k + 1): classes[n] for k, n in enumerate(order.tolist())} | {5: ground}
            drawn = np.where(drawn, drawn, 5)
            shown = {n: c for n, c in of.items() if (drawn == n).any()}
            found = fs.metrics.panoptic(
                drawn, np.where(numbers, numbers, 5), shown, {**meant, 5: ground}
            ).per_class
            values[id_] = np.nanmean([found[c]["pq"] for c in (1, 2) if c in found])
        assert row.concordance == pytest.approx(min(values.values()), abs=1e-12)
        assert values[row.image] == min(values.values())


def test_panoptic_quality_alone_cannot_come_from_counts() -> None:
    pairs = fs.comparison.count({"a": np.array([[0, 1]]), "b": np.array([[1, 1]])}, 2)
    with refused(FaultscapeError, "concordance pq: it needs label maps, and these are counts"):
        fs.selection.duels(pairs, "pq")
    with refused(FaultscapeError, "or leave out .pq"):
        fs.selection.duels(pairs, "miou+pq")


def precision_on(held: MadeInstances, images: list[str]) -> dict[int, float]:
    places = [held.ids.index(image) for image in images]
    true, said = [held.truth[k] for k in places], [held.results[k] for k in places]
    return fs.metrics.mask_average_precision(
        [masks for masks, *_ in true],
        [masks for masks, *_ in said],
        [classes for _, classes, _ in true],
        [classes for _, classes, _ in said],
        [scores for *_, scores in said],
        crowds=[crowd for *_, crowd in true],
    ).per_class


def test_how_much_lower_instances_are_on_chosen_images_than_on_random_ones(held: MadeInstances) -> None:
    study = Study(held.study)
    found = judge(study, study.models, "labels")
    chosen = {
        id_: ("panoptic", "maps") if k % 2 else ("results", "maps") for k, id_ in enumerate(held.ids[:8])
    }
    random = held.ids[5:]
    rows = {(row.metric, row.model, row.on): row for row in compare(found, chosen, random, {}, np.arange(14))}
    mine = [image for image, models in chosen.items() if "results" in models]
    others = [image for image in chosen if image not in mine]
    for on, images in ((OWN, mine), (OTHERS, others)):
        row = rows["mask_ap", "results", on]
        one, other = precision_on(held, images), precision_on(held, random)
        both = [c for c in (1, 2) if not np.isnan(one[c] + other[c])]
        expected = [np.mean([side[c] for c in both]) for side in (one, other)]
        assert [row.chosen, row.random] == pytest.approx(expected, abs=1e-12)
        assert row.lower == pytest.approx(expected[1] - expected[0])
        assert (row.chosen_images, row.random_images) == (len(images), 9)
        assert np.isnan(row.low)  # four images are too few
    assert ("instance_pq", "maps", OTHERS) not in rows  # it fought every duel
    assert ("mask_ap", "panoptic", OWN) not in rows
    each = [rows["instance_pq", name, OTHERS].lower for name in ("results", "panoptic")]
    assert rows["instance_pq", "", OTHERS].lower == pytest.approx(np.mean(each))
    assert rows["instance_pq", "", OTHERS].low < rows["instance_pq", "", OTHERS].lower
    assert "on images that other models' duels chose: instance PQ " in conclusion(
        [*rows.values()], "the whole pool"
    )


def test_a_draw_that_is_the_chosen_images_is_not_lower(held: MadeInstances) -> None:
    study = Study(held.study)
    found = judge(study, ["results"], "labels")
    chosen = dict.fromkeys(held.ids, ("a", "b"))
    for row in compare(found, chosen, held.ids, {}, np.arange(14)):
        assert (row.lower, row.low, row.high) == (0, 0, 0)


def test_the_figure_of_instances_has_one_line_and_a_drawing(held: MadeInstances) -> None:
    fs.compare(held.study, engine="local")
    rules = fs.options.MapRules(constraints="class")
    fs.select(held.study, as_="duels", maps=rules, engine="local")
    figure = fs.show(held.study, figure="instances", selection="duels")
    assert isinstance(figure, FigureData)
    assert repr(figure).splitlines()[1] == figure.conclusion
    assert "than on the whole pool" in figure.conclusion
    assert {row["random_images"] for row in figure.records} == {len(held.ids)}  # the whole pool is labelled
    figure.plot()
    with refused(FaultscapeError, "has no duels; figure instances compares"):
        fs.select(held.study, as_="draw", selector="random", budget=12)
        fs.show(held.study, figure="instances", selection="draw")


def test_a_folder_with_a_panoptic_file_is_that_file_and_its_pictures_count(
    held: MadeInstances, tmp_path: Path
) -> None:
    shutil.copytree(held.folder / "panoptic", tmp_path / "out" / "panoptic")
    shutil.copy(held.folder / "panoptic.json", tmp_path / "out" / "panoptic.json")
    settings = Study(held.study).settings

    def stamps() -> dict[int, str]:
        kind = catalogue.source_of("m", str(tmp_path / "out"))
        assert kind.name == "coco"
        shards = partial(each_whole_shard, Study(held.study).corpus)
        return kind.origin(kind, Request("m", str(tmp_path / "out"), settings, shards)).stamps

    before = stamps()
    assert stamps() == before
    picture = tmp_path / "out" / "panoptic" / f"{held.ids[0]}.png"
    picture.write_bytes(picture.read_bytes() + b" ")
    assert stamps() != before
    other = tmp_path / "maps"
    shutil.copytree(held.folder / "maps", other)
    (other / "notes.json").write_text("{}")
    assert catalogue.source_of("m", str(other)).name == "folder"


def test_labels_that_change_leave_the_instances_of_other_images(held: MadeInstances, tmp_path: Path) -> None:
    place = next(k for k, (_, classes, _) in enumerate(held.truth) if len(classes) > 1)
    document = json.loads((held.folder / "truth.json").read_text())
    mine = [row for row in document["annotations"] if row["image_id"] == place + 1]
    rest = tmp_path / "rest.json"
    rest.write_text(json.dumps(document | {"images": [document["images"][place]], "annotations": mine[1:]}))
    fs.label.import_(held.study, str(held.folder / "truth.json"), truth="second")
    again = fs.label.import_(held.study, str(rest), truth="second")
    assert isinstance(again, Imported)
    assert (again.new, again.replaced) == (0, 1)
    where = Path(held.study) / "truth" / "second"
    now = stored(where, held.study)
    expected = [len(classes) - (k == place) for k, (_, classes, _) in enumerate(held.truth)]
    assert [len(now[id_]) for id_ in held.ids] == expected
    assert len(stored(where / "removed", held.study)[held.ids[place]]) == len(mine)


def test_both_sides_are_means_over_the_classes_that_both_have(held: MadeInstances) -> None:
    study = Study(held.study)
    found = judge(study, ["results"], "labels")
    (one, class_), *_ = [
        (id_, {*classes}.pop())
        for id_, (_, classes, crowd) in zip(held.ids, held.truth, strict=True)
        if len({*classes}) == 1 and not all(crowd)
    ]
    (row,) = [
        row
        for row in compare(found, {one: ("a", "b")}, held.ids, {}, np.arange(14))
        if (row.metric, row.model) == ("mask_ap", "results")
    ]
    assert row.chosen == pytest.approx(precision_on(held, [one])[class_], abs=1e-12)
    assert row.random == pytest.approx(precision_on(held, held.ids)[class_], abs=1e-12)
    turned = compare(found, dict.fromkeys(held.ids, ("a", "b")), [one], {}, np.arange(14))
    (other,) = [r for r in turned if (r.metric, r.model) == ("mask_ap", "results")]
    assert (other.random, other.chosen) == (row.chosen, row.random)


def test_models_that_duel_by_panoptic_quality_are_scored_by_it(held: MadeInstances) -> None:
    study = Study(held.study)
    define = cast("Definition", {"concordance": "pq", "over": "union"})
    images, values = evidence.accuracies(study, ("panoptic", "maps"), "labels", define)
    assert images == held.ids
    ground = 9
    for k, (masks, classes, crowd) in enumerate(held.truth):
        drawn = made_instances.numbers_of(masks)
        of = {10 * (n + 1): c for n, c in enumerate(classes) if (drawn == 10 * (n + 1)).any()}
        many = [10 * (n + 1) for n, is_crowd in enumerate(crowd) if is_crowd]
        numbers, meant = held.panoptic[k]
        quality = fs.metrics.panoptic(
            np.where(drawn, drawn, 5), numbers, {**of, 5: ground}, meant, crowds=many
        ).per_class
        known = [quality[c]["pq"] for c in (1, 2) if c in quality and not np.isnan(quality[c]["pq"])]
        assert values[0, k] == pytest.approx(np.mean(known) if known else 1.0, abs=1e-12)


def test_ranks_and_reports_of_duels_by_panoptic_quality(held: MadeInstances) -> None:
    fs.compare(held.study, engine="local")
    rules = fs.options.MapRules(concordance="pq", constraints="class")
    fs.select(held.study, as_="ranked", maps=rules, engine="local")
    table = fs.rank(held.study, selection="ranked")
    assert table.definitions["concordance"] == "pq"
    fs.report(held.study, selection="ranked")
