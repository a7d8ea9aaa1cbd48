"""An option swept over values: --sweep OPTION=A,B,C of a head, of the seed, or of a fitted method."""

from __future__ import annotations

from collections.abc import Mapping

from faultscape.errors import OptionError, closest
from faultscape.uncertainty.catalogue import Value

_CALLED = {int: "a whole number", bool: "true or false", float: "a number"}


def swept_values(sweep: str, kinds: Mapping[str, type], of: str = "") -> tuple[str, tuple[Value, ...]]:
    """Return the option of a sweep and its values; OptionError for an option that is not one of ``kinds``,
    {option: kind of its values}, and for fewer than two different values.

    >>> swept_values("k=1,2", {"k": int})
    ('k', (1, 2))
    """
    key, equals, values = sweep.partition("=")
    key = key.strip().replace("-", "_")
    if key not in kinds:
        known = ", ".join(name.replace("_", "-") for name in kinds) or "nothing to sweep"
        raise OptionError(
            f"--sweep {sweep!r} is not valid; use OPTION=A,B,C {of or 'with one of'}"
            f" {known}.{closest(key, [*kinds])}"
        )
    words = [word.strip() for word in values.split(",")]
    option = key.replace("_", "-")
    if not equals or len(words) < 2 or not all(words) or len(set(words)) < len(words):
        raise OptionError(
            f"--sweep {sweep!r} is not valid; give at least two different values: {option}=1,3,5"
        )
    return key, tuple(value_of(f"--sweep {option}", word, kinds[key]) for word in words)


def value_of(option: str, word: Value, kind: type) -> Value:
    """Return a value of an option from text, or as it was given; OptionError for text that is not of its
    kind.

    >>> value_of("--head-option ridge", "2", float), value_of("--head-option ridge", 2, float)
    (2.0, 2.0)
    """
    if kind is float and isinstance(word, int) and not isinstance(word, bool):
        return float(word)
    if not isinstance(word, str):
        return word
    try:
        return {"true": True, "false": False}[word.lower()] if kind is bool else kind(word)
    except (ValueError, KeyError):
        raise OptionError(f"{option} must be {_CALLED[kind]}; got {word!r}") from None
