"""The class that a word in a file of answers names."""

from __future__ import annotations

from faultscape.classes.mapping import by_name
from faultscape.classes.names import class_place
from faultscape.errors import FaultscapeError
from faultscape.study.settings import Settings


def class_named(word: str, settings: Settings) -> tuple[str, str]:
    """Return what is wrong with the name of a class, or '' and the class: also by its first name, if it was
    renamed since, or a synonym.
    """
    if not word:
        return "it has no class", ""
    classes = settings.class_list
    try:
        return "", classes.names[class_place(word, classes, "the answer")]
    except FaultscapeError as error:
        name = by_name(word, settings)
        return ("", name) if name and name != "void" else (str(error).removeprefix("the answer: "), "")
