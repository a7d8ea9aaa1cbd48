"""Search terms of a class list: names, synonyms, hyponyms, and pairs of classes (Yan et al. 2021, section
4.1.1: "person bicycle").

Conventions: terms go class by class in the order of the list, its name before other words for it, then all
pairs; the background is not searched for. Each query occurs once, with all its classes. A term is a row of
queries.csv: query, kind, and the names of the classes, separated by ``;``. Synonyms and hyponyms are the
words of a noun's first, most frequent sense in a folder of WordNet 3.x (``index.noun``, ``data.noun``), and
of that sense's direct hyponyms.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.classes.hierarchy import HYPONYMS, noun_files, read_synset
from faultscape.nouns import Classes
from faultscape.study.tables.web_pictures import Term


@dataclass(frozen=True)
class Sense:
    """The words of a noun's first sense, and the words of its direct hyponyms."""

    lemmas: tuple[str, ...]
    hyponyms: tuple[str, ...]


def terms(
    classes: Classes,
    senses: Mapping[str, Sense] | None = None,
    *,
    hyponyms: bool = False,
    only: Collection[str] = (),
    pairs: bool = True,
) -> list[Term]:
    """Return the search terms of a class list, or of ``only`` some of its classes; ``senses`` maps queries to
    their WordNet senses.

    ``pairs`` of classes find crowded scenes; classifiers need images of one class, and so no pairs (Wang et
    al. 2020, section 2.1: single objects).

    >>> pets = Classes(("cat", "dog"), (0, 1), ((0, 0, 0), (1, 1, 1)), synonyms={"dog": ("hound",)})
    >>> [term.query for term in terms(pets)]
    ['cat', 'dog', 'hound', 'cat dog']
    """
    searched = [
        name
        for name, id_ in zip(classes.names, classes.ids, strict=True)
        if id_ != classes.background and (not only or name in only)
    ]
    made: list[tuple[str, str, str]] = []
    for name in searched:
        made.append((spoken(name), "class", name))
        made += [(spoken(word), "synonym", name) for word in classes.synonyms.get(name, ())]
        if sense := (senses or {}).get(spoken(name)):
            made += [(word, "synonym", name) for word in sense.lemmas]
            made += [(word, "hyponym", name) for word in sense.hyponyms] if hyponyms else []
    both = itertools.combinations(searched, 2) if pairs else ()
    made += [(f"{spoken(one)} {spoken(other)}", "pair", f"{one};{other}") for one, other in both]
    merged: dict[str, Term] = {}
    for query, kind, names in made:
        held = merged.get(query.lower())
        more = [name for name in names.split(";") if held and name not in held.classes.split(";")]
        if held is None:
            merged[query.lower()] = Term(query, kind, names)
        elif more:
            merged[query.lower()] = Term(held.query, held.kind, ";".join([held.classes, *more]))
    return list(merged.values())


def spoken(name: str) -> str:
    """Return a class name in spoken form.

    >>> spoken("traffic_light")
    'traffic light'
    """
    return " ".join(name.replace("_", " ").split())


def merge(
    held: Sequence[Term], offered: Sequence[Term], made: Sequence[Term], names: Sequence[str]
) -> tuple[list[Term], list[Term]]:
    """Return (the new lines of queries.csv, the terms offered so far).

    ``held`` are its lines, ``offered`` the terms that earlier runs put there, ``made`` those of this run,
    ``names`` the classes. If an offered line is no longer there unchanged, the user deleted or edited it, and
    it is not offered again; a line that was never offered is the user's and stays. An offered line is removed
    only when one of its classes has been removed.

    >>> cat, dog, own = Term("cat", "class", "cat"), Term("dog", "class", "dog"), Term("my dog", "", "")
    >>> lines, _ = merge([own], [cat], [cat, dog], ["cat", "dog"])
    >>> [line.query for line in lines]
    ['my dog', 'dog']
    """

    def gone(term: Term) -> bool:
        return any(name not in names for name in term.classes.split(";"))

    before = {term.query.lower(): term for term in offered if not gone(term)}
    lines = [line for line in held if not (line in offered and gone(line))]
    there = {line.query.lower() for line in lines}
    new = {term.query.lower(): term for term in made}
    refreshed = [new.get(line.query.lower(), line) if line in offered else line for line in lines]
    added = [t for key, t in new.items() if key not in there and key not in before]
    return [*refreshed, *added], list((before | new).values())


def senses(folder: Path, nouns: Iterable[str]) -> dict[str, Sense]:
    """Return the first noun sense of each noun in WordNet; CorpusError if the folder does not hold WordNet,
    or is damaged.
    """
    keys = {noun: "_".join(noun.lower().split()) for noun in nouns}
    found = {}
    with noun_files(folder, "index.noun", "data.noun") as place, (place / "data.noun").open("rb") as data:
        first = _first_senses(place / "index.noun", set(keys.values()))
        for noun, key in keys.items():
            if key in first:
                synset = read_synset(data, first[key])
                narrower = [
                    word for number in synset.to(HYPONYMS) for word in read_synset(data, number).lemmas
                ]
                found[noun] = Sense(synset.lemmas, tuple(dict.fromkeys(narrower)))
    return found


def _first_senses(index: Path, wanted: set[str]) -> dict[str, int]:
    """Return the offset of the first sense of each wanted lemma."""
    first = {}
    with index.open(encoding="utf-8") as file:
        for line in file:
            lemma = line.partition(" ")[0]
            if lemma in wanted:  # lemma pos synset_cnt p_cnt [symbols] sense_cnt tagsense_cnt offset...
                fields = line.split()
                first[lemma] = int(fields[6 + int(fields[3])])
    return first
