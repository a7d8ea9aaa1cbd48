"""The images of a study that a user names: by id, pattern, file or list.

Conventions: a word that is an id always means that image; patterns are shell patterns in which `*` also
matches `/`.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from faultscape.corpus import id_lists
from faultscape.corpus.sources import absolute
from faultscape.errors import CorpusError, closest

_LISTS = (".txt", ".csv")


def named_ids(words: Sequence[str], ids: Collection[str], files: Mapping[str, str] | None = None) -> set[str]:
    """Return the ids named by words: ids, patterns of ids, image files ({path: id}), or lists of ids (.txt,
    .csv); CorpusError for a word that matches nothing.

    >>> sorted(named_ids(["night/*", "a"], ["a", "b", "night/1", "night/2"]))
    ['a', 'night/1', 'night/2']
    """
    out: set[str] = set()
    for word in words:
        if not isinstance(word, str):
            raise CorpusError(
                f"expected image ids as separate arguments; got {word!r}; unpack a list as *LIST"
            )
        if not word.strip():
            raise CorpusError("expected image ids; got an empty one")
        if word in ids:
            out.add(word)
        elif os.path.isfile(word) and Path(word).suffix.lower() in _LISTS:
            listed = _listed(word, ids)
            if not listed:
                raise CorpusError(f"{word}: holds no image ids; expected one id per line")
            if unknown := next((id_ for id_ in listed if id_ not in ids), None):
                raise CorpusError(
                    f"{word}: {unknown!r} is not an image of the study.{closest(unknown, [*ids])}"
                )
            out |= set(listed)
        elif files and absolute(word) in files:
            out.add(files[absolute(word)])
        elif found := fnmatch.filter(ids, word):
            out |= set(found)
        else:
            what = (
                "it is neither an id, nor a pattern of ids such as 'night/*', nor a list of ids (.txt or"
                " .csv)"
            )
            raise CorpusError(f"{word!r} names no image of the study: {what}.{closest(word, [*ids])}")
    return out


def _listed(path: str, known: Collection[str]) -> list[str]:
    """Return the ids of a list: a .csv file as `collect` reads it, or a .txt file with one id per line."""
    if Path(path).suffix.lower() == ".csv":
        return id_lists.read_ids(path, known)
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise CorpusError(
            f"{path}: cannot be read as a list of ids; expected UTF-8 text with one id per line"
        ) from None
    return [line.strip() for line in lines if line.strip()]
