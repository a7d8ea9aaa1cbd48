"""Synsets from a folder of WordNet files: the words, the definition and the pointers in one line of
``data.noun``.

Conventions: WordNet 3.x (its manual page wndb): a synset's number is the byte at which its line begins.
Lemmas have ``_`` for blanks. Only pointers to nouns are kept. A line that violates the manual raises
ValueError or IndexError, which `noun_files` turns into a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from faultscape.errors import CorpusError

HYPERNYMS = ("@", "@i")  # from a synset to what it is a kind of, and what it is an instance of
HYPONYMS = ("~", "~i")  # its kinds and instances
MAX_LINE = 65_536  # bytes; the longest line of WordNet 3.0 has 13 thousand


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
