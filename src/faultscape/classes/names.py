"""Which class of a list a word means, and the classes that a file selects.

Conventions: a class is given by its name, its id or its WordNet id. A file of classes is a .txt or .csv file
with one class per line, or a JSON list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from faultscape.errors import ClassesError, closest, reason
from faultscape.nouns import Classes


def read_classes(argument: str, classes: Classes) -> tuple[str, ...]:
    """Return the names of the classes that a file selects, in the order of the class list; ClassesError for
    an unknown one.
    """
    path = Path(argument)
    try:
        text = path.read_text(encoding="utf-8")
        said = (
            json.loads(text)
            if path.suffix.lower() == ".json"
            else [line.strip() for line in text.splitlines()]
        )
    except (OSError, ValueError, RecursionError) as error:
        raise ClassesError(f"{argument}: cannot be read as a list of classes: {reason(error)}") from None
    if not isinstance(said, list) or not all(isinstance(word, str | int) for word in said):
        raise ClassesError(
            f"{argument}: is not a list of classes; expected one name, id or WordNet id per line"
        )
    picked = {class_place(str(word), classes, argument) for word in said if str(word).strip()}
    if not picked:
        raise ClassesError(f"{argument}: names no classes")
    return tuple(name for place, name in enumerate(classes.names) if place in picked)


def class_place(word: str, classes: Classes, where: str) -> int:
    """Return the place of the class that a word means: its name, its id or its WordNet id; ClassesError names
    the nearest class otherwise, or the only one that has the word in its name.

    >>> class_place(
    ...     "n02084071", Classes(("cat", "dog"), (3, 8), (), wnids=("n02121808", "n02084071")), "here"
    ... )
    1
    """
    places: dict[str, int] = {wnid: place for place, wnid in enumerate(classes.wnids)}
    places |= {str(id_): place for place, id_ in enumerate(classes.ids)}
    places |= {name: place for place, name in enumerate(classes.names)}
    if word not in places:
        meant = closest(word, classes.names) or _with_word(word, classes.names)
        why = shared(word, classes) or f"{word!r} is not a class of the study.{meant}"
        raise ClassesError(f"{where}: {why}")
    return places[word]


def _with_word(word: str, names: Sequence[str]) -> str:
    """Return `` Did you mean 'x'?`` for the only name in which a word is one of several, or nothing.

    >>> _with_word("sign", ["sign_symbol", "road"]), _with_word("traffic", ["traffic sign", "traffic light"])
    (" Did you mean 'sign_symbol'?", '')
    """
    found = [name for name in names if word.casefold() in re.findall(r"[^\W_]+", name.casefold())]
    return f" Did you mean {found[0]!r}?" if len(found) == 1 else ""


def shared(word: str, classes: Classes) -> str:
    """Return a message about a word that means several classes (before a bracket, or as a synonym), '' if it
    does not.

    >>> shared("crane", Classes(("crane (bird)", "crane (machine)"), (3, 8), ()))
    "'crane' is ambiguous: 'crane (bird)' (3) or 'crane (machine)' (8); give the full name or the number"
    """
    mine = word.strip().casefold()
    found = []
    for place, name in enumerate(classes.names):
        words = (re.sub(r"\s*\([^()]*\)$", "", name), *classes.synonyms.get(name, ()))
        if mine and any(mine == one.casefold() for one in words):
            found.append(
                (
                    name,
                    (
                        f"{classes.ids[place]}, {classes.wnids[place]}"
                        if classes.wnids
                        else str(classes.ids[place])
                    ),
                )
            )
    if len(found) < 2:
        return ""
    *most, last = [f"{name!r} ({number})" for name, number in found]
    return (
        f"{word!r} is ambiguous: {', '.join(most)} or {last}; give the full name or the"
        f" {'WordNet id' if classes.wnids else 'number'}"
    )
