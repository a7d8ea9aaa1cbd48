"""A selection in whose rows and definition classes have other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from faultscape.nouns import Definition, PairSlot, Row, Slot, Slots


def with_renamed_classes(slots: Slots, renamed: Mapping[str, str]) -> Slots:
    """Return a selection with its classes renamed, {name: another}."""

    def called(word: str) -> str:
        return renamed.get(word, word)

    def row_called(row: Row) -> Row:
        if isinstance(row, Slot):
            return replace(row, class_=called(row.class_))
        if isinstance(row, PairSlot):
            return replace(row, label_a=called(row.label_a), label_b=called(row.label_b))
        return row

    define: Definition = {**slots.definition}
    if isinstance(scale := define.get("scale"), dict):
        define["scale"] = {called(word): bounds for word, bounds in scale.items()}
    if "groups" in define:
        define["groups"] = [called(word) for word in define["groups"]]
    if "only" in define:
        define["only"] = [called(word) for word in define["only"]]
    if "without" in define:
        # sorted, as by `select`
        define["without"] = sorted(called(word) for word in define["without"])
    return Slots(slots.models, define, tuple(row_called(row) for row in slots.rows))
