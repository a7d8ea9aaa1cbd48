"""The law of increments: what is added later gives what everything at once gives; and however maps are
written, they are the same maps.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.comparison.sparse_counts import DIAGONAL, unpack_cells
from faultscape.errors import SelectionError
from faultscape.study.parts import read_manifest
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_corpus, shards
from faultscape.study.tables.pairs import PairPart, folder, read_counts
from faultscape.verbs.verb import group_options
from refusals import refused


def content_of_pairs(study: str) -> str:
    """A digest of every pair's cells on every image: rows sorted by key, pairs in name order, transposed
    where stored the other way.
    """
    root = Path(study)
    settings = read_settings(root)
    n, models = len(settings.classes.ids) + 1, list(settings.models)
    rows = []
    for number in shards(read_corpus(root)):
        for place, name in enumerate(models):
            part = PairPart(name, number, tuple(models[:place]), None, "")
            ids, codes = read_counts(folder(root, name), part, read_manifest(folder(root, name))[part.part])
            for id_, code in zip(ids, codes.to_pylist(), strict=True):
                cells, present = unpack_cells(code, place, n)
                for other, matrix, there in zip(part.others, cells, present, strict=True):
                    oriented = matrix if other < name else matrix.T
                    rows.append((id_, *sorted((other, name)), bool(there), oriented.tobytes()))
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=16, models=4)


@pytest.fixture(scope="module")
def plain(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fs.nouns.Standings]:
    """A study of all models at once, which nobody changes, and its standings."""
    study = tmp_path_factory.mktemp("plain") / "study"
    return study, competed(str(study), corpus, [list(corpus.models)])


@pytest.fixture
def copy(plain: tuple[Path, fs.nouns.Standings], tmp_path: Path) -> str:
    """A copy of it."""
    return str(shutil.copytree(plain[0], tmp_path / "study"))


def competed(study: str, corpus: made.Corpus, steps: list[list[str]]) -> fs.nouns.Standings:
    made.collected(corpus, study, 5)
    for names in steps:
        fs.predict(study, {name: corpus.models[name] for name in names}, engine="local")
        if len(read_settings(Path(study)).models) > 1:
            fs.compare(study, engine="local")
            fs.select(study, maps=fs.options.MapRules(constraints="class"))
    fs.label.import_(study, str(corpus.truth))
    return fs.rank(study, resamples=50, engine="local")


@pytest.mark.slow
def test_models_added_in_any_order_give_the_same_content_and_standings(
    corpus: made.Corpus, plain: tuple[Path, fs.nouns.Standings], tmp_path: Path
) -> None:
    names, (once, at_once) = list(corpus.models), plain
    later = competed(str(tmp_path / "later"), corpus, [names[2:3], [names[0], names[3]], names[1:2]])
    assert content_of_pairs(str(once)) == content_of_pairs(str(tmp_path / "later"))
    for name in names:
        assert label_maps.content_digest(once / "predictions" / name) == label_maps.content_digest(
            tmp_path / "later" / "predictions" / name
        )
    rows = [
        sorted(
            (r.defender, r.attacker, r.class_, r.place, r.image)
            for r in selections.read_selection(study)[0].rows
        )
        for study in (once, tmp_path / "later")
    ]
    assert rows[0] == rows[1]
    for ranking in at_once.rankings:
        for name in names:
            assert at_once.rankings[ranking].scores[name] == pytest.approx(
                later.rankings[ranking].scores[name], abs=1e-9
            )


@pytest.mark.slow
def test_adding_a_model_redoes_nothing_and_appends_slots(corpus: made.Corpus, tmp_path: Path) -> None:
    names, study = list(corpus.models), str(tmp_path / "study")
    competed(study, corpus, [names[:3]])
    root = Path(study)
    before = {p: p.stat().st_mtime_ns for p in root.rglob("0*.parquet")}
    text = (root / "selection.csv").read_text()
    fs.predict(study, {name: corpus.models[name] for name in names}, engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert (root / "selection.csv").read_text().startswith(text)
    added = selections.read_selection(root)[0].rows[text.count("\n") - 1 :]
    assert {r.round for r in added} == {2}
    assert all(names[3] in (r.defender, r.attacker) for r in added)


def test_a_changed_class_list_or_mapping_recounts_pairs_and_never_predicts(
    corpus: made.Corpus, copy: str, tmp_path: Path
) -> None:
    study, root = copy, Path(copy)
    predicted = {p: p.stat().st_mtime_ns for p in root.glob("predictions/*/0*.parquet")}
    old = content_of_pairs(study)
    merged = tmp_path / "labels.json"
    merged.write_text('{"0": "sky", "1": "road", "2": "car", "3": "car", "4": "tree", "255": "void"}')
    fs.predict(study, {"model-0": corpus.models["model-0"]}, labels=str(merged), engine="local")
    assert fs.compare(study, engine="local").parts_made > 0
    assert content_of_pairs(study) != old
    assert {p: p.stat().st_mtime_ns for p in predicted} == predicted
    with refused(SelectionError, "images or predictions changed"):
        fs.select(study)


def test_images_added_later_are_new_shards_and_the_old_selection_is_refused(
    copy: str, tmp_path: Path
) -> None:
    study = copy
    more = made.corpus(tmp_path / "more", images=3, models=4, seed=9)
    held = {i.id: i.shard for i in read_corpus(Path(study))}
    fs.collect(study, str(more.photos), set_="night")
    images = read_corpus(Path(study))
    assert {i.id: i.shard for i in images if i.set == "main"} == held
    assert [i.id for i in images if i.set == "night"] == [f"night/{i}" for i in sorted(more.ids)]
    assert {i.shard for i in images if i.set == "night"} == {max(held.values()) + 1}
    with refused(SelectionError, "--as NAME"):
        fs.select(study)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["npy", "palette", "rgb", "grey16"])
def test_png_npy_palette_and_colours_give_the_same_pairs_selection_and_standings(
    corpus: made.Corpus, plain: tuple[Path, fs.nouns.Standings], tmp_path: Path, form: str
) -> None:
    classes, (study, standings) = fs.classes.resolve(str(corpus.classes)), plain
    for name, stack in corpus.maps.items():
        for id_, label_map in zip(corpus.ids, stack, strict=True):
            path = tmp_path / form / name / f"{id_}.{'npy' if form == 'npy' else 'png'}"
            path.parent.mkdir(parents=True, exist_ok=True)
            if form == "npy":
                np.save(path, label_map.astype(np.int64)[None])
            elif form == "palette":
                path.write_bytes(fs.formats.png.encode(label_map, classes))
            elif form == "rgb":
                Image.fromarray(np.array(classes.colours, np.uint8)[label_map]).save(path)
            else:
                Image.fromarray(label_map.astype(np.uint16)).save(path)
    other = made.Corpus(**{**vars(corpus), "models": {n: tmp_path / form / n for n in corpus.models}})
    again = competed(str(tmp_path / "again"), other, [list(corpus.models)])
    assert content_of_pairs(str(study)) == content_of_pairs(str(tmp_path / "again"))
    assert (study / "selection.csv").read_bytes() == (tmp_path / "again" / "selection.csv").read_bytes()
    assert repr(again.rankings) == repr(standings.rankings)  # undefined intervals differ from themselves


@pytest.mark.slow
def test_diagonal_cells_give_the_slots_and_standings_of_full_ones(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    thin = tmp_path / "maps" / "model-1"  # one that lacks a map
    shutil.copytree(corpus.models["model-1"], thin)
    (thin / f"{corpus.ids[3]}.png").unlink()
    slots, standings = [], []
    for cells in ("full", "diagonal"):
        study = str(tmp_path / cells)
        made.collected(corpus, study, 5)
        toml = Path(study) / "study.toml"
        toml.write_text(toml.read_text().replace('cells = "full"', f'cells = "{cells}"'))
        fs.predict(study, corpus.models | {"model-1": thin}, engine="local")
        fs.compare(study, engine="local")
        slots.append(fs.select(study, maps=fs.options.MapRules(concordance="fwiou")).rows)
        fs.label.import_(study, str(corpus.truth))
        standings.append(fs.rank(study, resamples=20, engine="local"))
    assert slots[0] == slots[1]
    assert repr(standings[0].rankings) == repr(standings[1].rankings)
    assert standings[0].matrices == standings[1].matrices
    part = read_manifest(folder(tmp_path / "diagonal", "model-3"))["00000.models"]
    codes = read_counts(folder(tmp_path / "diagonal", "model-3"), PairPart("model-3", 0, (), None, ""), part)[
        1
    ].to_pylist()
    assert all(code[0] == DIAGONAL for code in codes)


@pytest.mark.slow
def test_extending_needs_no_option_again_and_deeper_equals_from_scratch(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study, names = str(tmp_path / "study"), list(corpus.models)
    made.collected(corpus, study, 5)
    fs.predict(study, {n: corpus.models[n] for n in names[:3]}, engine="local")
    fs.compare(study, engine="local")
    fs.scale(str(corpus.truth), classes=str(corpus.classes), output=str(tmp_path / "scale.json"))
    options = {"concordance": "fwiou", "scale": str(tmp_path / "scale.json"), "keep_duplicates": True}
    first = fs.select(study, as_="deep", **group_options(fs.select, options)).rows
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    assert fs.select(study, as_="deep", per_class=2).rows[: len(first)] == first
    whole = fs.select(study, as_="fresh", per_class=2, **group_options(fs.select, options))
    rows = [
        sorted((r.defender, r.attacker, r.class_, r.place, r.image) for r in fs.select(study, as_=n).rows)
        for n in ("deep", "fresh")
    ]
    assert rows[0] == rows[1]
    assert len(whole.chosen) > len(first) / 4
    for wrong in ({"concordance": "mpa"}, {"constraints": "none"}, {"keep_duplicates": False}):
        with refused(SelectionError, "its definition is fixed"):
            fs.select(study, as_="deep", **group_options(fs.select, wrong))
