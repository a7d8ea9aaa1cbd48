"""Class hierarchies: from edges, parent tables and WordNet; the one that ships; and what is refused, in one
line.
"""

from __future__ import annotations

import importlib.util
import io
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import made_wordnet
from faultscape.classes import hierarchy, imagenet, imagenet_classes
from faultscape.classes.hierarchy import chains, depths, of_edges, of_parents, of_wordnet, places, read_synset
from faultscape.errors import ClassesError, CorpusError
from refusals import refused

ROOT = Path(__file__).parents[2]
ANIMALS: made_wordnet.Synsets = {
    "entity": ("entity", [("~", "animal")]),
    "animal": ("animal animate_being", [("@", "entity"), ("~", "bird"), ("~", "dog")]),
    "machine": ("machine", [("@", "entity")]),
    "bird": ("bird | has wings", [("@", "animal")]),
    "crane": ("crane | large wading bird", [("@", "bird"), ("#m", "animal"), ("~", "lassie")]),
    "lifting crane": ('crane derrick | lifts loads; "the crane lifted it"', [("@", "machine")]),
    "dog": ("dog", [("@", "animal"), ("@", "friend")]),
    "friend": ("friend", [("@", "entity")]),
    "lassie": ("Lassie", [("@i", "dog")]),
}


def written(folder: Path, text: str, name: str = "parents.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "imagenet_hierarchy", ROOT / "scripts" / "imagenet_hierarchy.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_parents_stand_before_children_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    of = of_parents(
        written(tmp_path, "class,parent\ndog,animal\ndog,friend\nfriend,thing\nanimal,thing\ndog,animal\n\n")
    )
    assert of.nodes == ("thing", "animal", "friend", "dog")
    assert of.parents == ((), (0,), (0,), (1, 2))
    assert depths(of).tolist() == [0, 1, 1, 2]
    assert chains(of, 3) == [(0, 1, 3), (0, 2, 3)]


def test_a_parent_table_may_be_json_and_the_root_may_have_a_line(tmp_path: Path) -> None:
    lines = written(tmp_path, "thing\nanimal,thing\nfriend,thing\ndog,friend\ndog,animal\n")
    json_ = written(
        tmp_path,
        '{"dog": ["friend", "animal"], "animal": "thing", "friend": "thing", "thing": null}',
        "p.json",
    )
    assert of_parents(json_) == of_parents(lines)
    assert of_parents(json_).parents[3] == (2, 1), "parents keep the order in which they are given"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\nb,c\nc,a\nd,a\n", "'a' is its own ancestor: 'a' under 'b' under 'c' under 'a'"),
        ("root,\na,root\na,a\n", "'a' is its own ancestor: 'a' under 'a'"),
        ("a,animal\nb,machine\n", "2 nodes have no parent"),
        ("animal,thing\ndog,animal\ncat,anmial\n", "'anmial' is not listed. Did you mean 'animal'"),
        ("a,b,c\n", "line 1: expected class,parent; got 'a,b,c'"),
        ("a,b\n,b\n", "line 2: expected class,parent"),
        ("a,b\x07\n", "line 1: expected class,parent"),
        ("", "0 nodes; expected 1 to 200,000"),
        ('"a,b\n', "cannot be read as a parent table"),
        ("".join(f"n{k + 1},n{k}\n" for k in range(501)), "501 levels deep; at most 500"),
    ],
)
def test_a_wrong_parent_table_is_told(tmp_path: Path, text: str, words: str) -> None:
    with refused(ClassesError) as told:
        of_parents(written(tmp_path, text))
    assert words in str(told.value)
    assert str(told.value).startswith(str(tmp_path))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "expected {class: parent or [parents]}; got a list"),
        ('{"a": 3}', "the parents of 'a' must be a word"),
        ('{"a": {"b": "c"}}', "the parents of 'a' must be a word"),
        ('{"a": "b", "a": "c"}', "a class is listed twice"),
        ("[" * 100_000, "cannot be read as a parent table"),
        ("{", "cannot be read as a parent table"),
    ],
)
def test_a_wrong_json_table_is_told(tmp_path: Path, text: str, words: str) -> None:
    with refused(ClassesError) as told:
        of_parents(written(tmp_path, text, "p.json"))
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_files_that_are_none_or_too_large_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(ClassesError, "No such file"):
        of_parents(tmp_path / "gone.csv")
    with refused(ClassesError, "is not a regular file"):
        of_parents(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe")
    with refused(ClassesError, "cannot be read as a parent table"):
        of_parents(tmp_path / "bytes.csv")
    monkeypatch.setattr(hierarchy, "MAX_BYTES", 3)
    with refused(ClassesError, "has 4 bytes; at most 3 are read"):
        of_parents(written(tmp_path, "a,b\n"))
    monkeypatch.setattr(hierarchy, "MAX_NODES", 2)
    with refused(ClassesError, "3 nodes; expected 1 to 2"):
        of_edges({"a": ["b"], "b": ["c"]})


def test_chains_that_double_with_every_level_are_counted_before_they_are_listed() -> None:
    ladder = {
        f"{side}{k}": [f"left{k - 1}", f"right{k - 1}"] for k in range(1, 60) for side in ("left", "right")
    }
    of = of_edges({**ladder, "left0": ["root"], "right0": ["root"]})
    with refused(ClassesError, "576,460,752,303,423,488 chains"):
        chains(of, len(of) - 1)
    assert len(chains(of, places(of, ["left9"])[0])) == 2**9


def test_a_class_that_the_hierarchy_lacks_is_told() -> None:
    with refused(ClassesError, r"'dgo' is not in the hierarchy under 'animal'\. Did you mean 'dog'"):
        places(of_edges({"dog": ["animal"]}), ["dgo"])


def test_the_closure_follows_kinds_and_instances_and_nothing_else(tmp_path: Path) -> None:
    at = made_wordnet.write(tmp_path / "dict", ANIMALS)
    of = of_wordnet(tmp_path, [f"n{at['lassie']:08d}", f"n{at['crane']:08d}"])
    assert sorted(of.words) == ["Lassie", "animal", "bird", "crane", "dog", "entity", "friend"]
    dog = of.words.index("dog")
    assert [of.words[p] for p in of.parents[dog]] == ["animal", "friend"]
    assert [of.words[p] for p in of.parents[of.words.index("Lassie")]] == ["dog"]
    assert of.nodes[dog] == f"n{at['dog']:08d}"


def test_a_wordnet_that_is_wrong_is_told(tmp_path: Path) -> None:
    at = made_wordnet.write(tmp_path / "dict", ANIMALS)
    with refused(CorpusError, "no synset begins at byte 3"):
        of_wordnet(tmp_path, ["n00000003"])
    with refused(CorpusError, r"'dog' is not a WordNet noun; expected n and eight digits"):
        of_wordnet(tmp_path, ["dog"])
    with refused(CorpusError, r"does not hold WordNet; give the folder with data\.noun"):
        of_wordnet(tmp_path / "elsewhere", ["n00000001"])
    round_: made_wordnet.Synsets = {"a": ("a", [("@", "b")]), "b": ("b", [("@", "a")])}
    at = made_wordnet.write(tmp_path / "round", round_)
    with refused(CorpusError, "is its own ancestor"):
        of_wordnet(tmp_path / "round", [f"n{at['a']:08d}"])
    two: made_wordnet.Synsets = {"a": ("a", []), "b": ("b", [])}
    at = made_wordnet.write(tmp_path / "two", two)
    with refused(CorpusError, "a hierarchy has one root"):
        of_wordnet(tmp_path / "two", [f"n{number:08d}" for number in at.values()])


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ("05 n 01 a 0 999", "says that it has more words or pointers than it has"),
        ("05 n 01 a 0 999999999999", "says that it has more words or pointers than it has"),
        ("05 n 01 a 0 -01", "says that it has more words or pointers than it has"),
        ("05 n 00 a 0 000", "says that it has more words or pointers than it has"),
        ("05 n ff a 0 000", "says that it has more words or pointers than it has"),
        ("05 n xx a 0 000", "invalid literal for int"),
        ("05 n", "list index out of range"),
    ],
)
def test_a_line_that_promises_more_than_it_holds_is_told(tmp_path: Path, counts: str, words: str) -> None:
    (tmp_path / "data.noun").write_text(f"00000000 {counts} | gloss\n")
    with refused(CorpusError, f"these are not the noun files of WordNet: .*{words}"):
        of_wordnet(tmp_path, ["n00000000"])


def test_a_synset_has_lemmas_a_gloss_and_pointers_to_nouns_only() -> None:
    line = (
        b"00000000 05 n 02 drake 0 Anas_boschas 0 003 @ 01846331 n 0000 + 00028167 v 0101 ~i 01847000 n 0000"
        b' | adult male; "x | y"  \n'
    )
    synset = read_synset(io.BytesIO(line), 0)
    assert synset.lemmas == ("drake", "Anas boschas")
    assert synset.gloss == 'adult male; "x | y"'
    assert synset.pointers == (("@", 1846331), ("~i", 1847000))


def test_the_script_makes_names_unique_and_keeps_definitions_only(tmp_path: Path) -> None:
    at = made_wordnet.write(tmp_path / "dict", ANIMALS)
    made = script().contents(tmp_path, [at["crane"], at["lifting crane"], at["lassie"]])
    assert list(made["classes"].values()) == [
        ["crane (bird)", "large wading bird"],
        ["crane (machine)", "lifts loads", "derrick"],
        ["Lassie", "gloss"],
    ]
    dog, animal, friend = (f"n{at[name]:08d}" for name in ("dog", "animal", "friend"))
    assert made["nodes"][dog] == ["dog", animal, friend]
    assert json.loads(script().written(made)) == made


def test_the_thousand_classes_of_the_script_are_those_that_ship() -> None:
    numbers = [int(number) for number in script().NUMBERS.split()]
    assert [f"n{number:08d}" for number in numbers] == list(imagenet_classes().wnids)
    assert len(set(numbers)) == 1000
    assert numbers == sorted(numbers)


def test_names_that_ship_are_unique_even_without_capitals() -> None:
    classes = imagenet_classes()
    assert len({name.casefold() for name in classes.names}) == 1000
    assert [name for name in classes.names if "(" in name] == [
        "crane (wading bird)",
        "Cardigan (corgi)",
        "cardigan (sweater)",
        "crane (lifting device)",
        "maillot (tights)",
        "maillot (swimsuit)",
    ]
    assert {len(classes.names), len(classes.glosses), len(classes.synonyms)} == {1000}
    assert all(gloss and '"' not in gloss for gloss in classes.glosses)


def test_the_licence_of_wordnet_ships_beside_its_words() -> None:
    text = (ROOT / "src" / "faultscape" / "classes" / "WORDNET-LICENCE.txt").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in text
    assert "appear on ALL copies" in text


def test_the_closure_that_ships_has_the_chains_of_the_papers_own_graph(data: Path) -> None:
    file = data / "imagenet-wordnet" / "hierarchy.json"
    if not file.is_file():
        pytest.skip(f"no imagenet-wordnet in {data}")
    theirs, of = json.loads(file.read_text()), imagenet()
    parents = {key: {of.nodes[p] for p in above} for key, above in zip(of.nodes, of.parents, strict=True)}
    assert parents == {key: set(node["parents"]) for key, node in theirs["nodes"].items()}
    assert len(of) == 1860
    assert [leaf["wnid"] for leaf in theirs["leaves"]] == list(imagenet_classes().wnids)
    assert {key: node["name"].split(", ")[0] for key, node in theirs["nodes"].items()} == dict(
        zip(of.nodes, of.words, strict=True)
    )

    def upwards(key: str) -> set[tuple[str, ...]]:
        above = theirs["nodes"][key]["parents"]
        return {(*chain, key) for parent in above for chain in upwards(parent)} or {(key,)}

    mine = {
        of.nodes[n]: {tuple(of.nodes[p] for p in c) for c in chains(of, n)}
        for n in places(of, imagenet_classes().wnids)
    }
    assert mine == {wnid: upwards(wnid) for wnid in imagenet_classes().wnids}


def test_the_closure_that_ships_has_1343_chains_of_5_to_19_nodes() -> None:
    found = [chains(imagenet(), node) for node in places(imagenet(), imagenet_classes().wnids)]
    assert Counter(map(len, found)) == {1: 696, 2: 278, 3: 17, 4: 5, 5: 4}
    lengths = [len(chain) for of in found for chain in of]
    assert (len(lengths), min(lengths), max(lengths)) == (1343, 5, 19)
