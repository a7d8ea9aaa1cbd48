"""The YAML at the head of a card, which the Hugging Face Hub reads.

Conventions: a text or a number is written as JSON, which YAML reads alike, so that no name has to be quoted
by rules of YAML; but PyYAML takes a number such as 1e-05 for a text, and needs 1.0e-05.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from faultscape.nouns import Json


def yaml_lines(value: Mapping[str, Json]) -> Iterator[str]:
    r"""Yield the lines of a mapping as block YAML.

    >>> print(*yaml_lines({"tags": ["a"], "index": [{"name": "no: x", "scores": {"miou": 0.5}}]}), sep="\n")
    tags:
    - "a"
    index:
    - name: "no: x"
      scores:
        miou: 0.5
    """
    for name, held in value.items():
        if isinstance(held, Mapping) and held:
            yield f"{name}:"
            yield from (f"  {line}" for line in yaml_lines(held))
        elif isinstance(held, Sequence) and held and not isinstance(held, str):
            yield f"{name}:"
            for one in held:
                yield from _item(one)
        else:
            yield f"{name}: {_scalar(held)}"


def _item(value: Json) -> Iterator[str]:
    """Yield the lines of one item of a list."""
    if not isinstance(value, Mapping) or not value:
        yield f"- {_scalar(value)}"
        return
    for place, line in enumerate(yaml_lines(value)):
        yield f"{'  ' if place else '- '}{line}"


def _scalar(value: Json) -> str:
    """Return a text or a number as YAML.

    >>> _scalar(1e-05), _scalar(0.5), _scalar("1e-05")
    ('1.0e-05', '0.5', '"1e-05"')
    """
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text
