"""Select through a study: near-duplicates, ties, what an existing selection keeps, and what is said."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.comparison.concordance import concordances
from faultscape.errors import SelectionError
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.verb import group_options
from refusals import refused


def competition(study: Path, corpus: made.Corpus, shard_size: int = 3) -> str:
    """A study up to the counts of its pairs."""
    made.compared_study(corpus, study, shard_size=shard_size)
    return str(study)


def chosen(
    study: str, per_class: int, spares: int | None = None, *, keep_duplicates: bool = False, **more: Any
) -> fs.nouns.Slots:
    """Select duels in every class, of any size."""
    maps = fs.options.MapRules(constraints="none")
    sampling = fs.options.Sampling(spares=spares, keep_duplicates=keep_duplicates)
    return fs.select(study, maps=maps, per_class=per_class, sampling=sampling, **more)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Eight images, of which 0 and 1, 2 and 3, ... show the same but for one pixel; they lie in different
    shards.
    """
    corpus = made.corpus(tmp_path_factory.mktemp("twins"), images=8, models=3)
    for first, second in zip(corpus.ids[::2], corpus.ids[1::2], strict=True):
        photo = np.array(Image.open(corpus.photos / f"{first}.png"))
        photo[0, 0, 0] ^= 1
        made.write(corpus.photos / f"{second}.png", photo)
    return corpus


def by_cell(slots: fs.nouns.Slots) -> dict[tuple[str, str], list[str]]:
    """The images of each duel, best first."""
    rows = sorted(slots.rows, key=lambda row: row.place)
    return {
        cell: [r.image for r in rows if (r.defender, r.attacker) == cell]
        for cell in {(r.defender, r.attacker) for r in rows}
    }


def from_lowest(corpus: made.Corpus) -> dict[tuple[str, str], list[str]]:
    """All images of each duel by the concordance of the maps in memory, ties by the files' digests."""
    pairs = fs.comparison.count(corpus.maps, classes=str(corpus.classes), images=corpus.ids)
    agreement = np.round(concordances(pairs), 12)
    ranks = [
        made.tie(hashlib.sha256((corpus.photos / f"{id_}.png").read_bytes()).hexdigest())
        for id_ in corpus.ids
    ]
    return {
        (defender, attacker): [
            corpus.ids[i]
            for i in sorted(range(len(corpus.ids)), key=lambda i: (agreement[d, a, i], ranks[i]))
        ]
        for d, defender in enumerate(pairs.models)
        for a, attacker in enumerate(pairs.models)
        if d != a
    }


def test_slots_that_near_duplicates_move_are_counted(
    twins: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S0 eq. 2 with K = 3 has no rule on them."""
    study = competition(tmp_path / "study", twins)
    slots = chosen(study, 3, 1)
    first = {cell: images[:3] for cell, images in by_cell(slots).items()}
    moved = sum(len({*images[:3]} - {*first[cell]}) for cell, images in from_lowest(twins).items())
    assert slots.moved == moved > 0
    assert f"near-duplicates: {moved} choices went to the next image" in capsys.readouterr().out
    one = fs.select(study, as_="one", maps=fs.options.MapRules(constraints="none"))
    every = chosen(study, 3, as_="every", keep_duplicates=True)
    assert (one.moved, every.moved) == (0, 0)
    assert "near-duplicates:" not in capsys.readouterr().out
    assert fs.select(study, as_="one", per_class=3).moved == moved  # of an extension all that now stand


def test_of_near_duplicates_in_a_cell_the_best_alone_stays(twins: made.Corpus, tmp_path: Path) -> None:
    study = competition(tmp_path / "study", twins)
    slots = chosen(study, 8, 0)
    family = {id_: k // 2 for k, id_ in enumerate(twins.ids)}
    for cell, images in from_lowest(twins).items():
        best = {family[id_]: id_ for id_ in reversed(images)}
        assert by_cell(slots)[cell] == [id_ for id_ in images if best[family[id_]] == id_]
        assert len(by_cell(slots)[cell]) == 4


def test_keep_duplicates_lets_them_all_stand(twins: made.Corpus, tmp_path: Path) -> None:
    study = competition(tmp_path / "study", twins)
    slots = chosen(study, 8, 0, keep_duplicates=True)
    assert by_cell(slots) == from_lowest(twins)


def test_near_duplicates_are_counted_by_collect(twins: made.Corpus, tmp_path: Path) -> None:
    assert fs.collect(tmp_path / "study", twins.photos, classes=twins.classes).near_duplicates == 4


def test_ties_follow_the_digests_of_files_wherever_their_shards_lie(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = all_alike(tmp_path)
    slots = chosen(study, 2, 2)
    files = [*(tmp_path / "first").iterdir(), *(tmp_path / "second").iterdir()]
    for seed in (0, 4):
        slots = chosen(study, 2, 2, as_=f"seed-{seed}", seed=seed)
        order = sorted(files, key=lambda file: made.tie(hashlib.sha256(file.read_bytes()).hexdigest(), seed))
        assert by_cell(slots) == {
            cell: [f.stem for f in order[:4]] for cell in (("one", "two"), ("two", "one"))
        }
        assert slots.tied == len(slots.chosen) == 4
    said = capsys.readouterr().out
    assert "ties: 4 of 4 choices (100 %) had other, equally good images; chance decided" in said
    assert "warning: ties decide more than a quarter of the slots" in said
    assert chosen(study, 6, 0, as_="whole").tied == 0
    assert "ties:" not in capsys.readouterr().out


def test_a_selection_of_earlier_versions_keeps_the_order_of_ids_when_it_is_extended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = all_alike(tmp_path)
    chosen(study, 1, 0)
    about = tmp_path / "study" / "selection.json"
    held = json.loads(about.read_text())
    # as those versions wrote it
    assert (held["definition"].pop("ties"), held["definition"].pop("seed")) == ("digest", 0)
    about.write_text(json.dumps(held))
    table = tmp_path / "study" / "selection.csv"
    lines = table.read_text().splitlines()
    place = lines[0].split(",").index("image")
    table.write_text(
        "\n".join(
            [
                lines[0],
                *(",".join([*(w := line.split(","))[:place], "b0", *w[place + 1 :]]) for line in lines[1:]),
            ]
        )
    )
    capsys.readouterr()
    slots = fs.select(study, per_class=2, sampling=fs.options.Sampling(spares=2))
    assert by_cell(slots) == {cell: ["b0", "b1", "y0", "y1"] for cell in (("one", "two"), ("two", "one"))}
    assert "the order of ids decided, as when the selection was drawn" in capsys.readouterr().out
    assert "ties" not in read_selection(tmp_path / "study")[0].definition
    with refused(SelectionError, "was made with no seed; its definition is fixed"):
        fs.select(study, seed=4)


def all_alike(tmp_path: Path) -> str:
    """A study of two models and six images in four shards, of which every one is as good as the others."""
    rng = np.random.default_rng(5)
    truth = made.blobs(rng, (24, 32))
    maps = {"one": made.disturbed(rng, truth, 2), "two": made.disturbed(rng, truth, 4)}
    corpus = made.corpus(tmp_path / "corpus", images=1, models=1)
    for folder, ids in (("first", ("y0", "y1", "y2")), ("second", ("b0", "b1", "z9"))):
        for id_ in ids:
            made.write(tmp_path / folder / f"{id_}.png", rng.integers(0, 256, (24, 32, 3), np.uint8))
            for name, label_map in maps.items():  # the same maps for every image: all concordances are equal
                made.write(tmp_path / name / f"{id_}.png", label_map)
    study = str(tmp_path / "study")
    fs.collect(study, tmp_path / "first", classes=corpus.classes, storage=fs.options.Storage(shard_size=2))
    assert fs.collect(study, str(tmp_path / "second")).shards == 4
    fs.predict(study, {name: tmp_path / name for name in maps}, engine="local")
    fs.compare(study, engine="local")
    return study


def test_asking_for_less_later_takes_nothing_away(twins: made.Corpus, tmp_path: Path) -> None:
    study = competition(tmp_path / "study", twins)
    first = fs.select(study, per_class=3, sampling=fs.options.Sampling(spares=2, keep_duplicates=True))
    csv = (tmp_path / "study" / "selection.csv").read_bytes()
    for less in ({"per_class": 1}, {"spares": 0}, {"per_class": 2, "spares": 1}):
        again = fs.select(study, **group_options(fs.select, less))
        assert again.rows == first.rows
        assert again.chosen == first.chosen
        kept = read_selection(tmp_path / "study")[0].definition
        assert (kept["per_class"], kept["spares"]) == (3, 2)
    assert (tmp_path / "study" / "selection.csv").read_bytes() == csv


def test_the_constraints_are_told_with_the_formulas_alone(
    twins: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, scale = competition(tmp_path / "study", twins), str(tmp_path / "scale.json")
    fs.scale(str(twins.truth), classes=str(twins.classes), output=scale)
    said = {}
    for name, options in {
        "plain": {},
        "scaled": {"scale": scale},
        "chosen": {"constraints": "class"},
    }.items():
        capsys.readouterr()
        slots = fs.select(study, as_=name, **group_options(fs.select, options))
        printed = (capsys.readouterr().out + repr(slots)).replace(str(tmp_path), "")
        assert "constraints" not in printed
        (said[name],) = (line for line in slots.full_text().splitlines() if line.startswith("constraints"))
    assert said == {name: f"constraints: class{'+scale' * (name == 'scaled')}" for name in said}
