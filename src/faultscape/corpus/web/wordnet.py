"""Words for a class from a folder of WordNet files: the lemmas of its first noun sense, and of that sense's direct hyponyms.

Conventions: ``index.noun`` and ``data.noun`` of WordNet 3.x (its manual page wndb): a sense's number is the byte at which its line begins in ``data.noun``; the
first sense is the most frequent one. Lemmas have ``_`` for blanks. Nothing of WordNet comes with this program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from faultscape.errors import CorpusError

_HYPONYMS = ("~", "~i")  # kinds and instances


@dataclass(frozen=True)
class Sense:
    """The words of a noun's first sense, and the words of its direct hyponyms."""

    lemmas: tuple[str, ...]
    hyponyms: tuple[str, ...]


def senses(folder: Path, nouns: Iterable[str]) -> dict[str, Sense]:
    """Return the first noun sense of each noun that WordNet has; CorpusError when the folder does not hold WordNet, or is damaged."""
    places = [
        place for place in (folder, folder / "dict") if (place / "index.noun").is_file() and (place / "data.noun").is_file()
    ]
    if not places:
        raise CorpusError(f"{folder}: holds no WordNet; give the folder with index.noun and data.noun")
    keys = {noun: "_".join(noun.lower().split()) for noun in nouns}
    try:
        first = _first_senses(places[0] / "index.noun", set(keys.values()))
        with (places[0] / "data.noun").open("rb") as data:
            found = {}
            for noun, key in keys.items():
                if key in first:
                    lemmas, below = _synset(data, first[key])
                    narrower = [word for offset in below for word in _synset(data, offset)[0]]
                    found[noun] = Sense(lemmas, tuple(dict.fromkeys(narrower)))
            return found
    except (OSError, ValueError, IndexError) as error:
        raise CorpusError(f"{places[0]}: these are not the noun files of WordNet: {error}") from None


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


def _synset(data: BinaryIO, offset: int) -> tuple[tuple[str, ...], list[int]]:
    """Return the words of the synset at an offset and the offsets of its hyponyms."""
    data.seek(offset)
    fields = data.readline().decode().partition(" | ")[0].split()
    if not fields or int(fields[0]) != offset:
        raise ValueError(f"no synset begins at byte {offset} of data.noun; index and data must be of one version")
    words = int(fields[3], 16)
    lemmas = tuple(word.replace("_", " ") for word in fields[4 : 4 + 2 * words : 2])
    at = 5 + 2 * words
    pointers = [fields[at + 4 * k : at + 4 * k + 4] for k in range(int(fields[at - 1]))]
    return lemmas, [int(target) for symbol, target, part, _ in pointers if symbol in _HYPONYMS and part == "n"]
