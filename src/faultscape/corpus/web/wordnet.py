"""Words for a class from a folder of WordNet files: the lemmas of its first noun sense, and of that sense's
direct hyponyms.

Conventions: ``index.noun`` and ``data.noun`` of WordNet 3.x, read as in `faultscape.classes.wordnet_files`;
the first sense is the most frequent one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from faultscape.classes.wordnet_files import HYPONYMS, noun_files, read_synset


@dataclass(frozen=True)
class Sense:
    """The words of a noun's first sense, and the words of its direct hyponyms."""

    lemmas: tuple[str, ...]
    hyponyms: tuple[str, ...]


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
