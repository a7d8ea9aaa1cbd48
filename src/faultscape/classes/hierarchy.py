"""What is a kind of what: class hierarchies from WordNet or a parent table, with depths, chains and
ancestors.

Conventions: a node's place is its position in ``nodes``; parents come before their children, so place 0 is
the root. A node may have several parents. Depth counts edges from the root; a chain is a path from the root
down to a node, along edges from parent to child.
Source: Wang et al. 2020, section 2.1; the hypernyms of WordNet (Miller 1995).

Synsets from a folder of WordNet files: the words, the definition and the pointers in one line of
``data.noun``.

Conventions: WordNet 3.x (its manual page wndb): a synset's number is the byte at which its line begins.
Lemmas have ``_`` for blanks. Only pointers to nouns are kept. A line that violates the manual raises
ValueError or IndexError, which `noun_files` turns into a sentence.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from faultscape.classes.imagenet1k import imagenet_file
from faultscape.errors import ClassesError, CorpusError, FaultscapeError, closest
from faultscape.formats.guard import read_bytes

MAX_NODES = 200_000  # WordNet 3.0 has 82,115 nouns
MAX_DEPTH = 500  # WordNet's deepest noun has 18; 2^-depth must not vanish
MAX_CHAINS = 10_000  # of one node; their number may double with every level
MAX_BYTES = 2**26  # of a parent table
_WNID = re.compile(r"n\d{8}")
HYPERNYMS = ("@", "@i")  # from a synset to what it is a kind of, and what it is an instance of
HYPONYMS = ("~", "~i")  # its kinds and instances
MAX_LINE = 65_536  # bytes; the longest line of WordNet 3.0 has 13 thousand


@dataclass(frozen=True)
class Hierarchy:
    """A directed graph with one root and no cycles: keys, a word and the places of the parents of each node,
    parents first.

    >>> Hierarchy(("thing", "cat"), ("thing", "cat"), ((), (0,)))
    Hierarchy(2 nodes under thing)
    """

    nodes: tuple[str, ...]  # keys: WordNet ids, or the names in a table of parents
    words: tuple[str, ...]  # the name of each node; its key if it has no other name
    parents: tuple[tuple[int, ...], ...]  # places in ``nodes`` of the parents of each node; () for the root

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Hierarchy({len(self)} nodes under {self.words[0]})"


def of_edges(
    parents: Mapping[str, Sequence[str]],
    words: Mapping[str, str] | None = None,
    *,
    where: str = "hierarchy",
    error: type[FaultscapeError] = ClassesError,
) -> Hierarchy:
    """Return the hierarchy of {key: keys of its parents}; a parent that is not a key itself is a root.

    ``words`` names the nodes, with keys by default. Raises ``error`` if there is not exactly one root, there
    is a cycle, or the hierarchy is too large or too deep.

    >>> of_edges({"cat": ["animal"], "dog": ["animal"], "animal": ["thing"]}).nodes
    ('thing', 'animal', 'cat', 'dog')
    """
    table = {key: tuple(dict.fromkeys(above)) for key, above in parents.items()}
    named_only = {parent for above in table.values() for parent in above if parent not in table}
    table |= dict.fromkeys(sorted(named_only), ())
    if not 1 <= len(table) <= MAX_NODES:
        raise error(f"{where}: {len(table):,} nodes; expected 1 to {MAX_NODES:,}")
    depth = _longest(table, where, error)
    roots = [key for key, above in table.items() if not above]
    if len(roots) > 1:
        known = sorted(table.keys() - set(roots))
        came = next(
            (
                f"; {root!r} is not listed.{near}"
                for root in roots
                if root in named_only and (near := closest(root, known))
            ),
            "",
        )
        raise error(
            f"{where}: {len(roots)} nodes have no parent"
            f" ({', '.join(map(repr, roots[:3]))}{', ...' if len(roots) > 3 else ''}); a hierarchy has one"
            f" root; give all others a parent{came}"
        )
    if max(depth.values()) > MAX_DEPTH:
        raise error(f"{where}: is {max(depth.values())} levels deep; at most {MAX_DEPTH} are supported")
    nodes = sorted(table, key=lambda key: (depth[key], key))
    place = {key: at for at, key in enumerate(nodes)}
    names = words or {}
    return Hierarchy(
        tuple(nodes),
        tuple(names.get(key, key) for key in nodes),
        tuple(tuple(place[p] for p in table[key]) for key in nodes),
    )


def _longest(
    table: Mapping[str, tuple[str, ...]], where: str, error: type[FaultscapeError]
) -> dict[str, int]:
    """Return the length of the longest chain to each node; ``error`` names a cycle."""
    children: dict[str, list[str]] = {key: [] for key in table}
    missing = {key: len(above) for key, above in table.items()}
    for key, above in table.items():
        for parent in above:
            children[parent].append(key)
    depth = {key: 0 for key, count in missing.items() if not count}
    ready = list(depth)
    for key in ready:  # grows: a node is ready when all its parents are
        for child in children[key]:
            depth[child] = max(depth.get(child, 0), depth[key] + 1)
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    if len(ready) == len(table):
        return depth
    left = {key for key, count in missing.items() if count}
    at = min(left)
    seen = []
    while at not in seen:  # each remaining key has a remaining parent
        seen.append(at)
        at = next(parent for parent in table[at] if parent in left)
    cycle = [*seen[seen.index(at) :], at]
    raise error(
        f"{where}: {at!r} is its own ancestor:"
        f" {' under '.join(map(repr, cycle[:6]))}{' ...' if len(cycle) > 6 else ''}"
    )


@functools.cache
def imagenet() -> Hierarchy:
    """Return the closure of the classes of ImageNet-1k over WordNet's hypernyms: 1,860 nodes, keys are wnids.

    >>> imagenet()
    Hierarchy(1860 nodes under entity)
    """
    table = imagenet_file()["nodes"]
    return of_edges({key: row[1:] for key, row in table.items()}, {key: row[0] for key, row in table.items()})


def of_wordnet(folder: str | os.PathLike[str], wnids: Iterable[str]) -> Hierarchy:
    """Return the hierarchy of the given nouns (``n`` and the eight digits of their place in ``data.noun``)
    and everything that they are kinds or instances of.

    Words are the first lemmas. CorpusError if the folder holds no WordNet, a wnid is not in it, or its nouns
    have no common root (before WordNet 3.0).
    """
    wanted = list(dict.fromkeys(wnids))
    if strange := [wnid for wnid in wanted if not _WNID.fullmatch(wnid)]:
        raise CorpusError(
            f"{strange[0]!r} is not a WordNet noun; expected n and eight digits, as in n02084071"
        )
    parents: dict[str, tuple[str, ...]] = {}
    words: dict[str, str] = {}
    with noun_files(Path(folder), "data.noun") as place, (place / "data.noun").open("rb") as data:
        for wnid in wanted:  # grows: a node's parents are read after it
            if wnid not in parents:
                synset = read_synset(data, int(wnid[1:]))
                words[wnid], parents[wnid] = (
                    synset.lemmas[0],
                    tuple(f"n{number:08d}" for number in synset.to(HYPERNYMS)),
                )
                wanted += parents[wnid]
    return of_edges(parents, words, where=f"{folder}: WordNet", error=CorpusError)


def of_parents(file: str | os.PathLike[str]) -> Hierarchy:
    """Return the hierarchy of a parent table: CSV lines ``class,parent`` (header optional), or JSON ``{class:
    parent or [parents]}``.

    A class with several parents has several lines; the root has no line, or one without a parent.
    ClassesError names the line and what is wrong.
    """
    try:
        text = read_bytes(file, ClassesError, limit=MAX_BYTES).decode("utf-8-sig")
        read = _of_json if str(file).lower().endswith(".json") else _of_csv
        parents = read(text, str(file))
    except (ValueError, RecursionError, csv.Error) as error:
        raise ClassesError(f"{file}: cannot be read as a parent table: {error}") from None
    return of_edges(parents, where=str(file))


def _of_csv(text: str, where: str) -> dict[str, list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    parents: dict[str, list[str]] = {}
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or (not parents and [cell.lower() for cell in cells] == ["class", "parent"]):
            continue
        if len(cells) > 2 or not all(map(_printable, filter(None, cells))) or not cells[0]:
            raise ClassesError(
                f"{where}, line {rows.line_num}: expected class,parent; got {','.join(cells)[:80]!r}"
            )
        parents.setdefault(cells[0], []).extend(filter(None, cells[1:]))
    return parents


def _of_json(text: str, where: str) -> dict[str, list[str]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ClassesError(f"{where}: a class is listed twice; give its parents as one list")
        return dict(pairs)

    raw = json.loads(text, object_pairs_hook=once)
    if not isinstance(raw, dict):
        raise ClassesError(f"{where}: expected {{class: parent or [parents]}}; got a {type(raw).__name__}")
    parents = {
        key: above if isinstance(above, list) else [] if above is None else [above]
        for key, above in raw.items()
    }
    for key, above in parents.items():
        if not _printable(key) or not all(isinstance(parent, str) and _printable(parent) for parent in above):
            raise ClassesError(
                f"{where}: the parents of {key!r} must be a word or a list of words; got {raw[key]!r:.80}"
            )
    return parents


def _printable(word: str) -> bool:
    return bool(word.strip()) and word.isprintable()


def places(hierarchy: Hierarchy, keys: Sequence[str]) -> np.ndarray:
    """Return the (C,) places of nodes by their keys; ClassesError names a missing one.

    >>> places(of_edges({"cat": ["animal"], "dog": ["animal"]}), ["dog", "cat"])
    array([2, 1])
    """
    known = {key: place for place, key in enumerate(hierarchy.nodes)}
    if missing := [key for key in keys if key not in known]:
        raise ClassesError(
            f"{missing[0]!r} is not in the hierarchy under"
            f" {hierarchy.words[0]!r}.{closest(missing[0], list(known))}"
        )
    return np.array([known[key] for key in keys], dtype=np.int64)


def depths(hierarchy: Hierarchy, *, longest: bool = False) -> np.ndarray:
    """Return (N,) edges from the root to each node, along the shortest or the longest chain.

    >>> of = of_edges({"dog": ["animal", "pet"], "pet": ["animal"], "animal": ["thing"]})
    >>> depths(of), depths(of, longest=True)
    (array([0, 1, 2, 2]), array([0, 1, 2, 3]))
    """
    out = np.zeros(len(hierarchy), dtype=np.int64)
    for place, above in enumerate(hierarchy.parents):
        if above:
            out[place] = 1 + (max if longest else min)(out[parent] for parent in above)
    return out


def chains(hierarchy: Hierarchy, node: int) -> list[tuple[int, ...]]:
    """Return every chain from the root to a node, as places; ClassesError if there are more than
    ``MAX_CHAINS``.

    >>> chains(of_edges({"dog": ["animal", "pet"], "pet": ["animal"]}), 2)
    [(0, 2), (0, 1, 2)]
    """
    count: dict[int, int] = {}
    for place in sorted(ancestors(hierarchy, node)):  # parents first
        count[place] = sum(count[parent] for parent in hierarchy.parents[place]) or 1
    if count[node] > MAX_CHAINS:
        raise ClassesError(
            f"{hierarchy.nodes[node]!r} has {count[node]:,} chains to the root; at most {MAX_CHAINS:,} are"
            " supported"
        )
    done = []
    unfinished = [(node,)]
    while unfinished:
        chain = unfinished.pop()
        above = hierarchy.parents[chain[0]]
        unfinished += [(parent, *chain) for parent in reversed(above)]
        done += [] if above else [chain]
    return done


def ancestors(hierarchy: Hierarchy, node: int) -> dict[int, int]:
    """Return {place: fewest edges from there down to the node} of the node and all its ancestors, the nearest
    first.

    >>> ancestors(of_edges({"dog": ["animal", "pet"], "pet": ["animal"], "animal": ["thing"]}), 3)
    {3: 0, 1: 1, 2: 1, 0: 2}
    """
    edges = {node: 0}
    for place in (queue := [node]):  # grows
        for parent in hierarchy.parents[place]:
            if parent not in edges:
                edges[parent] = edges[place] + 1
                queue.append(parent)
    return edges


@dataclass(frozen=True)
class Synset:
    """One line of ``data.noun``: lemmas, definition and examples as written, and (symbol, number) of each
    pointer to a noun.
    """

    lemmas: tuple[str, ...]
    gloss: str
    pointers: tuple[tuple[str, int], ...]

    def to(self, symbols: tuple[str, ...]) -> tuple[int, ...]:
        """Return the numbers of the synsets that pointers of these kinds lead to, in WordNet's order."""
        return tuple(number for symbol, number in self.pointers if symbol in symbols)


@contextmanager
def noun_files(folder: Path, *needed: str) -> Iterator[Path]:
    """Yield the folder with these files, ``folder`` or its ``dict``; CorpusError if there is none, or if its
    files are not a WordNet.
    """
    places = [
        place for place in (folder, folder / "dict") if all((place / name).is_file() for name in needed)
    ]
    if not places:
        raise CorpusError(f"{folder}: does not hold WordNet; give the folder with {' and '.join(needed)}")
    try:
        yield places[0]
    except (OSError, ValueError, IndexError) as error:
        raise CorpusError(f"{places[0]}: these are not the noun files of WordNet: {error}") from None


def read_synset(data: BinaryIO, number: int) -> Synset:
    """Return the synset that begins at a byte of ``data.noun``; ValueError if none does."""
    data.seek(min(number, 10**8))  # numbers have eight digits
    line, _, gloss = data.readline(MAX_LINE).decode().partition(" | ")
    fields = line.split()
    if not fields or fields[0] != f"{number:08d}":
        raise ValueError(f"no synset begins at byte {number} of data.noun; all files must be of one version")
    # offset file kind words (lemma id)... pointers (symbol offset part source-target)... | gloss
    words = int(fields[3], 16)
    at = 5 + 2 * words
    if not 0 < words <= len(fields) or not 0 <= int(fields[at - 1]) <= len(fields):
        raise ValueError(
            f"the synset at byte {number} of data.noun says that it has more words or pointers than it has"
        )
    pointers = [fields[at + 4 * k : at + 4 * k + 4] for k in range(int(fields[at - 1]))]
    return Synset(
        tuple(word.replace("_", " ") for word in fields[4 : at - 1 : 2]),
        gloss.strip(),
        tuple((symbol, int(target)) for symbol, target, part, _ in pointers if part == "n"),
    )
