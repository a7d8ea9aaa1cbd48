"""Folders of WordNet files by its manual's grammar (wndb), a few synsets each."""

from __future__ import annotations

from pathlib import Path

Synsets = dict[
    str, tuple[str, list[tuple[str, str]]]
]  # {name: ("lemma_a lemma_b | gloss", [(symbol, name), ...])}
_LICENCE = "  1 a licence text that begins with blanks\n"


def write(folder: Path, synsets: Synsets, index: dict[str, list[str]] | None = None) -> dict[str, int]:
    """Write data.noun, and index.noun of {lemma: names of its senses}; return the number of each synset, the
    byte where its line begins.
    """

    def line(name: str, numbers: dict[str, int]) -> str:
        words, _, gloss = synsets[name][0].partition(" | ")
        lemmas = words.split()
        pointers = "".join(f" {symbol} {numbers.get(to, 0):08d} n 0000" for symbol, to in synsets[name][1])
        count = f"{len(synsets[name][1]):03d}"
        return (
            f"{numbers.get(name, 0):08d} 05 n {len(lemmas):02x} {' 0 '.join(lemmas)} 0 {count}{pointers} |"
            f" {gloss or 'gloss'}  \n"
        )

    numbers, at = {}, len(_LICENCE)
    for name in synsets:  # numbers have eight digits, so lengths are known before them
        numbers[name] = at
        at += len(line(name, {}))
    folder.mkdir()
    (folder / "data.noun").write_text(_LICENCE + "".join(line(name, numbers) for name in synsets))
    if index:
        senses = {lemma: " ".join(f"{numbers[name]:08d}" for name in names) for lemma, names in index.items()}
        lines = [
            f"{lemma} n {len(index[lemma])} 2 @ ~ {len(index[lemma])} 1 {of}\n"
            for lemma, of in senses.items()
        ]
        (folder / "index.noun").write_text(_LICENCE + "".join(lines))
    return numbers
