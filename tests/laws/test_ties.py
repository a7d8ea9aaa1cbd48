"""Ties never follow names: the same pictures under other names and in another order give the same selections,
rankings and intervals, of every selector and both tasks.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
import made
from faultscape.corpus.shards import grouped
from faultscape.errors import SelectionError
from faultscape.metrics.intervals.units import draw_units, units_of
from faultscape.nouns import Draw, Predictions, Slots
from faultscape.ranking.classifiers import classifier_rankings
from faultscape.ranking.duel_standings import rank_accuracies, to_json
from faultscape.selection.catalogue import ADAPTIVE
from faultscape.selection.classifier_duels import class_duels
from faultscape.study.tables.corpus import Corpus, Image, read_corpus, write_corpus
from faultscape.study.tables.pool import read_pool
from faultscape.ties import count_tied, equal_to_zero, tie_order, tie_ranks
from faultscape.verbs.measure.jobs import Source
from faultscape.verbs.measure.sets import DataSet, ranks_of
from faultscape.verbs.select.ties import tell_ties
from faultscape.verbs.verb import group_options
from made_draws import draw_rankings

pytestmark = pytest.mark.slow

IMAGES = 36
NAMES = ("cat", "dog", "car", "boat", "tree")
BY_CHANCE = ("random", "disputed", "expected-loss", "vma", "information", "mad+information")
OF_MAPS: dict[str, dict[str, Any]] = {
    "duels": {"per_class": 2},
    "mad": {"temperature": 1.0, "budget": 13},
    **{name: {"selector": name, "budget": 13, "seed": 3} for name in (*BY_CHANCE, "entropy")},
}
OF_CLASSES = OF_MAPS | {
    "duels": {"top": 5, "confidence": 0.0},
    "model-picker": {"selector": "model-picker", "budget": 13},
}


def photos(rng: np.random.Generator) -> list[np.ndarray]:
    """Pictures of which every sixth is the one before it but for a pixel: a near-duplicate with other
    bytes.
    """
    out = [rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(4, 0).repeat(4, 1) for _ in range(IMAGES)]
    for k in range(5, IMAGES, 6):
        out[k] = out[k - 1].copy()
        out[k][0, 0, 0] ^= 1
    return out


def names(seed: int) -> list[str]:
    """An id for each picture: in the order in which they came, as data sets sort them, or in a quite other
    one.
    """
    if seed == 0:
        return [f"class-{k * 4 // IMAGES}/{k:03d}" for k in range(IMAGES)]
    return [f"{'xy'[k % 2]}{k:02d}" for k in np.random.default_rng(seed).permutation(IMAGES)]


def of_maps(root: Path, ids: list[str]) -> str:
    """A study of label maps that are few arrangements, so that most concordances have their like."""
    rng = np.random.default_rng(2)
    corpus = made.corpus(root / "corpus", images=1, models=1)
    for id_, photo in zip(ids, photos(rng), strict=True):
        made.write(root / "photos" / f"{id_}.png", photo)
    kinds = [made.blobs(rng, (24, 32)) for _ in range(4)]
    maps = {
        name: [made.disturbed(rng, kind, times) for kind in kinds]
        for name, times in (("one", 1), ("two", 3), ("three", 3))
    }
    for k, kind in enumerate(rng.integers(0, 4, IMAGES).tolist()):
        made.write(root / "truth" / f"{ids[k]}.png", kinds[kind])
        for name, own in maps.items():
            made.write(root / "maps" / name / f"{ids[k]}.png", own[kind])
    study = str(root / "study")
    fs.collect(study, root / "photos", classes=corpus.classes, storage=fs.options.Storage(shard_size=7))
    fs.predict(study, {name: root / "maps" / name for name in maps}, engine="local")
    fs.compare(study, engine="local")
    fs.label.import_(study, str(root / "truth"))
    return study


def of_classes(root: Path, ids: list[str], order: np.ndarray | None = None, *, pixels: bool = True) -> str:
    """A study of classifiers, with pictures or from lists of ids, whose lines stand in an ``order``."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, len(NAMES), IMAGES)
    lines = range(IMAGES) if order is None else order.tolist()
    root.mkdir(parents=True)
    (root / "classes.txt").write_text("\n".join(NAMES))
    (root / "ids.csv").write_text("image\n" + "\n".join(ids[k] for k in lines) + "\n")
    for id_, photo in zip(ids, photos(rng), strict=True):
        made.write(root / "photos" / f"{id_}.png", photo)
    study = str(root / "study")
    source = str(root / "photos" if pixels else root / "ids.csv")
    fs.collect(
        study,
        source,
        task="classification",
        classes=root / "classes.txt",
        storage=fs.options.Storage(shard_size=7),
    )
    for name, share in (("one", 0.2), ("two", 0.4), ("three", 0.5), ("truth", 0.0)):
        said = np.where(rng.random(IMAGES) < share, rng.integers(0, len(NAMES), IMAGES), truth)
        table = root / f"{name}.csv"
        table.write_text("image,label\n" + "\n".join(f"{ids[k]},{NAMES[said[k]]}" for k in lines) + "\n")
        if name == "truth":
            fs.label.import_(study, str(table))
        else:
            fs.predict(study, {name: str(table)})
    return study


def facts(study: str, ids: list[str], selections: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What every selection chose, images by their place in ``ids``, and how its models rank; and the families
    of near-duplicates.
    """
    place, out = {id_: k for k, id_ in enumerate(ids)}, {}
    for name, options in selections.items():
        slots = fs.select(study, as_=name, engine="local", **group_options(fs.select, options))
        if options.get("selector") in (*ADAPTIVE, "disputed"):
            slots = fs.select(study, as_=name, engine="local", more=6)  # after labels
        standings = to_json(fs.rank(study, selection=name, resamples=60, engine="local"))
        rows = [
            tuple(place.get(cell, cell) if isinstance(cell, str) else cell for cell in astuple(row))
            for row in slots.rows
        ]
        out[name] = (
            [
                tuple(None if isinstance(cell, float) and np.isnan(cell) else cell for cell in row)
                for row in rows
            ],
            slots.tied,
            [standings.get(key) for key in ("labels", "matrices", "rankings", "stability")],
        )
    families: dict[str, set[int]] = {}
    for image in read_corpus(Path(study)):
        families.setdefault(str(place[image.near_duplicate_of]), set()).add(place[image.id])
    return out | {"families": families}


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    root = tmp_path_factory.mktemp("maps")
    return {seed: facts(of_maps(root / str(seed), names(seed)), names(seed), OF_MAPS) for seed in (0, 1)}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    root = tmp_path_factory.mktemp("classes")
    return {
        seed: facts(of_classes(root / str(seed), names(seed)), names(seed), OF_CLASSES) for seed in (0, 1)
    }


@pytest.mark.parametrize("what", [*OF_MAPS, "families"])
def test_names_and_order_of_photos_change_nothing_of_label_maps(
    maps: dict[int, dict[str, Any]], what: str
) -> None:
    assert maps[0][what] == maps[1][what]


@pytest.mark.parametrize("what", [*OF_CLASSES, "families"])
def test_names_and_order_of_photos_change_nothing_of_classifiers(
    classes: dict[int, dict[str, Any]], what: str
) -> None:
    assert classes[0][what] == classes[1][what]


def test_the_laws_above_are_about_ties(
    maps: dict[int, dict[str, Any]], classes: dict[int, dict[str, Any]]
) -> None:
    for found, selector in (
        (maps[0], "duels"),
        (maps[0], "entropy"),
        (classes[0], "duels"),
        (classes[0], "entropy"),
    ):
        assert found[selector][1] > 0, selector
    assert sum(len(family) == 2 for family in maps[0]["families"].values()) == IMAGES // 6


def test_the_order_of_lines_changes_nothing_where_images_are_ids_alone(tmp_path: Path) -> None:
    ids, order = names(0), np.random.default_rng(4).permutation(IMAGES)
    one = facts(of_classes(tmp_path / "one", ids, pixels=False), ids, OF_CLASSES)
    other = facts(of_classes(tmp_path / "other", ids, order, pixels=False), ids, OF_CLASSES)
    assert one == other


def test_what_is_chosen_among_equals_is_from_everywhere(tmp_path: Path) -> None:
    """Files sorted by class, and nothing to tell them apart: by name the first class alone would be
    chosen.
    """
    rng, study = np.random.default_rng(0), str(tmp_path / "study")
    ids = [f"{k // 40:02d}/{k:04d}" for k in range(400)]
    for id_ in ids:
        made.write(tmp_path / "photos" / f"{id_}.png", rng.integers(0, 256, (2, 2, 3), np.uint8))
    for name, label in (("one", 0), ("two", 1)):
        (tmp_path / f"{name}.csv").write_text(
            "image,label\n" + "\n".join(f"{id_},{NAMES[label]}" for id_ in ids) + "\n"
        )
    (tmp_path / "classes.txt").write_text("\n".join(NAMES))
    fs.collect(study, str(tmp_path / "photos"), task="classification", classes=str(tmp_path / "classes.txt"))
    fs.predict(study, {name: str(tmp_path / f"{name}.csv") for name in ("one", "two")})
    chosen: dict[int, list[int]] = {}
    for seed in (0, 1):
        slots = fs.select(
            study,
            as_=f"s{seed}",
            top=60,
            classifiers=fs.options.ClassifierRules(cap=60, confidence=0.0),
            sampling=fs.options.Sampling(keep_duplicates=True),
            seed=seed,
        )
        chosen[seed] = [int(image.split("/")[1]) for image in slots.images]
        assert slots.tied == 60
    assert all(
        len({k // 40 for k in found}) == 10 and 140 < np.median(found) < 260 for found in chosen.values()
    )
    assert len(set(chosen[0]) & set(chosen[1])) < 30


def images_of(slots: Slots) -> list[tuple[Any, ...]]:
    return [(*row.cell, row.place, row.image) for row in slots.rows]


@given(st.integers(0, 1000), st.integers(2, 3), st.integers(1, 24), st.booleans())
@settings(max_examples=30)
def test_in_memory_order_changes_no_duel_and_names_none_with_keys(
    seed: int, models: int, images: int, named: bool
) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(images)
    ids = [f"i{k}" for k in range(images)]
    keys = [f"{k:064x}" for k in range(images)]
    new = [f"n{k}" for k in rng.permutation(images)] if named else ids
    back = dict(zip(new, ids, strict=True))
    options = (
        [{"keys": keys, "seed": seed}, {"keys": [keys[k] for k in order], "seed": seed}]
        if named
        else [{}, {}]
    )

    def same(one: Slots | None, other: Slots | None) -> None:
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert images_of(one) == [(*row[:-1], back[row[-1]]) for row in images_of(other)]
            assert one.tied == other.tied

    stacks = {f"m{m}": rng.integers(0, 2, (images, 2, 3)).astype(np.uint8) for m in range(models)}
    one = fs.comparison.count(stacks, classes=3, images=ids)
    other = fs.comparison.count(
        {m: s[order] for m, s in stacks.items()}, classes=3, images=[new[k] for k in order]
    )
    same(
        *(
            or_none(fs.selection.duels, pairs, per_class=2, **own)
            for pairs, own in zip((one, other), options, strict=True)
        )
    )

    labels, sure = rng.integers(0, 3, (models, images)), rng.choice([0.8, 0.9], (models, images))
    about = (fs.classes.resolve(3), tuple(stacks))
    first = Predictions(*about, tuple(ids), labels, sure)
    second = Predictions(*about, tuple(new[k] for k in order), labels[:, order], sure[:, order])
    far = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))).clip(0, 1)
    same(
        *(
            or_none(class_duels, said, far, top=3, **own)
            for said, own in zip((first, second), options, strict=True)
        )
    )


def or_none(function: Any, *given: Any, **options: Any) -> Slots | None:
    try:
        return function(*given, **options)
    except SelectionError:
        return None


def test_in_memory_order_changes_no_ranking_and_no_interval() -> None:
    rng = np.random.default_rng(1)
    models, images = ["a", "b", "c"], [f"i{k}" for k in range(40)]
    order = rng.permutation(40)
    new = [f"n{k}" for k in rng.permutation(40)]
    scores = rng.random((3, 40)).round(2)
    right = (scores > 0.4).astype(float)
    slots = [
        ("a", "b", "y"),
        ("b", "a", "y"),
        ("a", "c", "y"),
        ("c", "b", "y"),
        ("b", "c", "y"),
        ("c", "a", "y"),
    ]
    duels = [fs.nouns.Slot("mad", 1, 1, *slots[k % 6], k // 6, images[k], 0.5, 1.0, 9) for k in range(40)]
    pairs = [
        fs.nouns.PairSlot("mad", 1, 1, *slots[k % 6][:2], "x", "y", 1, images[k], 1.0, 1.0, 1.0, 9)
        for k in range(40)
    ]
    drawn = [Draw("random", 1, k + 1, images[k], 1.0, 1 / (60 - k), 60) for k in range(30)]
    proxy = rng.random((3, 60))

    def found(accuracy: np.ndarray, names: list[str], said: dict[str, str], **options: Any) -> list[Any]:
        def of(rows: list[Any]) -> list[Any]:
            return [
                type(row)(*(said.get(cell, cell) if isinstance(cell, str) else cell for cell in astuple(row)))
                for row in rows
            ]

        binary, options = (accuracy > 0.4).astype(float), {"resamples": 50, **options}
        pool = [*(said.get(i, i) for i in images), *(f"p{k}" for k in range(20))]
        return [
            rank_accuracies(models, of(duels), accuracy, names, class_names=["y"], **options),
            classifier_rankings(models, of(pairs), binary, names, **options),
            draw_rankings(
                models, of(drawn), accuracy, names, proxy=proxy, pool=pool, learns=False, **options
            ),
        ]

    keys = [f"{k:064x}" for k in range(40)]
    plain = found(scores, images, {})
    moved = found(scores[:, order], [images[k] for k in order], {})
    named = found(scores, images, {}, keys=keys)
    renamed = found(
        scores[:, order],
        [new[k] for k in order],
        dict(zip(images, new, strict=True)),
        keys=[keys[k] for k in order],
    )
    assert right.any()
    for one, other in [*zip(plain, moved, strict=True), *zip(named, renamed, strict=True)]:
        assert to_json(one)["rankings"] == to_json(other)["rankings"]
        assert to_json(one).get("to_come") == to_json(other).get("to_come")
        assert to_json(one)["matrices"] == to_json(other)["matrices"]


def picture(id_: str, digest: str, dhash: int) -> Image:
    return Image(id_, id_, "main", "pool", "clean", "", 8, 8, digest, dhash, "", 0)


@pytest.mark.parametrize("names", list(itertools.permutations("xyz")))
def test_near_duplicates_are_grouped_by_their_bytes_and_stay_where_they_are_when_others_come(
    names: tuple[str, ...],
) -> None:
    # the middle one is near both others
    digests, hashes = sorted(("p", "q", "r"), key=made.tie), (0b11111111, 0b1111, 0)
    images = [picture(*about) for about in zip(names, digests, hashes, strict=True)]
    found = {image.digest: image for image in grouped(sorted(images, key=lambda image: image.id))}
    assert [found[digest].near_duplicate_of for digest in digests] == [names[0], names[0], names[2]]

    held = {
        image.id: image
        for image in grouped([picture(names[1], digests[1], 0b11111111), picture(names[2], digests[2], 0)])
    }
    whole = [*held.values(), picture(names[0], digests[0], 0b1111)]
    said = {image.id: image.near_duplicate_of for image in grouped(whole, held)}
    assert said == {names[1]: names[1], names[2]: names[2], names[0]: names[1]}
    known = {image.id: image for image in grouped(whole, held)}
    left = {image.id: image.near_duplicate_of for image in grouped([known[names[0]], known[names[2]]], known)}
    assert left == {names[0]: names[2], names[2]: names[2]}  # what began its group has left


def test_measure_draws_units_by_what_their_images_are() -> None:
    rng, groups = np.random.default_rng(3), ["a", "", "b", "a", "", "b", "b", ""]
    order, ranks = rng.permutation(8), rng.permutation(8)
    one = draw_units(units_of(groups), 30, 0, ranks=ranks)
    other = draw_units(units_of([groups[k] for k in order]), 30, 0, ranks=ranks[order])
    np.testing.assert_array_equal(one.weights[:, order], other.weights)
    alone = draw_units(units_of(8), 30, 0, ranks=ranks)
    np.testing.assert_array_equal(
        alone.weights[:, order], draw_units(units_of(8), 30, 0, ranks=ranks[order]).weights
    )
    assert len(np.unique(one.weights, axis=0)) > 20


def test_equal_bytes_follow_their_ids_and_the_seed_decides_the_rest() -> None:
    keys = ["p", "q", "p", "r"]
    for seed in range(3):
        order = tie_order(keys, seed, ["d", "c", "b", "a"]).tolist()
        assert order == sorted(range(4), key=lambda k: (made.tie(keys[k], seed), "dcba"[k]))
    assert tie_order(keys, None, ["d", "c", "b", "a"]).tolist() == [3, 2, 1, 0]
    assert len({tuple(tie_order("abcdefgh", seed)) for seed in range(20)}) == 20


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_a_slot_is_decided_by_a_tie_where_another_order_of_equals_may_leave_it_out(
    scores: list[int], data: st.DataObject
) -> None:
    number = data.draw(st.integers(1, len(scores)))
    values = np.array(scores, float)
    chosen = np.argsort(-values, kind="stable")[:number]
    other = len(values) - 1 - np.argsort(-values[::-1], kind="stable")[:number]  # the last of equals first
    cut = values[chosen].min()
    may_go = (
        [k for k in chosen.tolist() if values[k] == cut]
        if (values == cut).sum() > (values[chosen] == cut).sum()
        else []
    )
    assert count_tied(values, chosen) == len(may_go)
    assert bool(may_go) == (set(chosen.tolist()) != set(other.tolist()))


def test_ties_that_decide_more_than_a_quarter_of_the_slots_are_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def told(tied: int, slots: int, define: dict[str, Any]) -> str:
        tell_ties(tied, slots, define)
        return capsys.readouterr().out

    by_chance, by_id = {"ties": "digest", "seed": 1}, {"selector": "mad"}
    assert told(0, 8, by_chance) == told(0, 8, by_id) == ""
    assert (
        told(2, 8, by_chance)
        == "ties: 2 of 8 choices (25 %) had other, equally good images; chance decided\n"
    )
    assert "another --seed would choose others; use --goal order, which draws" in told(3, 8, by_chance)
    assert "warning" not in told(2, 8, by_id)
    assert "draw a new selection with --as NAME" in told(3, 8, by_id)


def test_what_rounding_leaves_is_no_difference() -> None:
    losses = np.array([[0.1 + 0.2, 0.5, 1.0], [0.3, 0.5 + 4e-13, 0.0]])
    assert losses[0, 0] != losses[1, 0]
    assert fs.ranking.margins(losses).tolist() == [[0, 0, 0.5], [0, 0, -0.5]]
    # a root would make .0000038 of 5e-17
    assert fs.ranking.margins(losses, 1 / 3).tolist() == [[0, 0, 0.5], [0, 0, -0.5]]
    assert equal_to_zero(np.array([2e-12, np.nan]))[0] == 2e-12
    assert np.isnan(equal_to_zero(np.array([np.nan]))[0])
    pairs = np.array([[1e-16, 0.5], [0.0, 0.5]])
    assert fs.selection.disputed(pairs).tolist() == [0, 0.5]
    assert fs.selection.disputed(pairs, graded=False).tolist() == [0, 1]
    assert fs.selection.mad(pairs).tolist() == [0, 2]


def folders(root: Path, ids: list[str], models: tuple[str, ...] = ("one", "two")) -> dict[str, Any]:
    """What measure makes of folders in which many images are wrong alike: few true maps, and mistakes of the
    same size in one place or another; by the images' places.
    """
    rng, place = np.random.default_rng(6), {id_: k for k, id_ in enumerate(ids)}
    truths = [made.blobs(rng, (12, 16)) for _ in range(5)]
    for k, id_ in enumerate(ids):
        truth = truths[k % len(truths)]
        made.write(root / "truth" / f"{id_}.png", truth)
        for name in ("one", "two"):
            said = truth.copy()
            said[rng.integers(0, 12), rng.integers(0, 16)] = 1
            made.write(root / name / f"{id_}.png", said)
            (root / f"{name}-doubt" / f"{id_}.npy").parent.mkdir(parents=True, exist_ok=True)
            np.save(
                root / f"{name}-doubt" / f"{id_}.npy",
                np.where(said != truth, 0.6, 0.3) + rng.normal(0, 0.2, said.shape),
            )
    maps, doubt = (
        {name: str(root / name) for name in models},
        {name: str(root / f"{name}-doubt") for name in models},
    )
    options: dict[str, Any] = {
        "output": str(root / "out"),
        "worst": 4,
        "resamples": 40,
        "boundaries": False,
        "engine": "local",
    }
    found = fs.measure(
        root / "truth", maps, classes=5, **group_options(fs.measure, {"doubt": doubt, **options})
    ).document
    page = (root / "out" / "report.html").read_text()
    worst = [(model, place[image]) for model, image in re.findall(r"<h3>(one|two) on (.+?)</h3>", page)]
    ends = {
        (name, m): (e["value"], e["low"], e["high"])
        for name, of in found["models"].items()
        for m, e in of.items()
    }
    return {"worst": worst, "intervals": ends}


@pytest.fixture(scope="module")
def of_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return folders(tmp_path_factory.mktemp("folders"), names(0))


@pytest.mark.parametrize("seed", [1, 2])
def test_names_and_order_of_maps_change_nothing_of_what_measure_makes_of_folders(
    of_folders: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    other = folders(tmp_path, names(seed), ("two", "one"))
    assert sorted(other["worst"]) == sorted(of_folders["worst"])
    assert [w for w in other["worst"] if w[0] == "one"] == [w for w in of_folders["worst"] if w[0] == "one"]
    assert other["intervals"].keys() == of_folders["intervals"].keys()
    for key, numbers in of_folders["intervals"].items():
        assert other["intervals"][key] == pytest.approx(numbers, abs=1e-9), key


def test_the_worst_images_of_folders_are_among_equals_and_from_everywhere(of_folders: dict[str, Any]) -> None:
    low, value, high = (of_folders["intervals"]["one", "misclassification_fpr95"][k] for k in (1, 0, 2))
    assert low < value < high  # by draws
    assert len({place for _, place in of_folders["worst"]}) > 8
    assert max(place for _, place in of_folders["worst"]) > IMAGES // 2


def test_the_photo_counts_then_the_true_map_then_the_id(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"1")
    files = [str(tmp_path / "a.png"), str(tmp_path / "gone.png"), None]
    data = DataSet("d", ("a", "b", "c"), {}, Source("d", {}, files), {}, fs.classes.resolve(2), True)
    keys = [hashlib.sha256(b"1").hexdigest(), "b", "c"]
    assert ranks_of(data, np.arange(3)).tolist() == tie_ranks(keys).tolist()
    assert ranks_of(data, np.array([2, 1])).tolist() == tie_ranks(["c", "b"]).tolist()
    (tmp_path / "b.jpg").write_bytes(b"2")
    seen = replace(data, images={"a": str(tmp_path / "gone.jpg"), "b": str(tmp_path / "b.jpg")})
    keys[1] = hashlib.sha256(b"2").hexdigest()  # a photo comes before the map of it
    assert ranks_of(seen, np.arange(3)).tolist() == tie_ranks(keys).tolist()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.booleans()), min_size=1, max_size=60))
@settings(max_examples=30, deadline=None)
def test_ranks_of_a_pool_are_those_of_its_images_sorted_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, bool]]
) -> None:
    root = tmp_path_factory.mktemp("pool")
    images = [
        Image(f"{n}-{k}", "", "main", "pool" if inside else "test", "clean", "", 1, 1, f"{n:x}", 0, "", shard)
        for k, (n, shard, inside) in enumerate(rows)
    ]
    write_corpus(root, [replace(image, near_duplicate_of=image.id) for image in images])
    inside = [image for image in read_corpus(root) if image.role == "pool"]
    pool = read_pool(Corpus(root), seed=3)
    assert pool.ranks.tolist() == tie_ranks([i.digest for i in inside], 3, [i.id for i in inside]).tolist()
    assert pool.families.tolist() == list(range(len(inside)))
    assert pool.shards.tolist() == [image.shard for image in inside]
    other = pool.taken(np.argsort(pool.ranks))
    assert other.ranks.tolist() == list(range(len(inside)))
