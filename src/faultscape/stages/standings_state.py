"""Whether the standings on disk still hold, and which groups of images their intervals drew anew: what `rank`, `report` and `status` alike must know."""

from __future__ import annotations

import hashlib
from pathlib import Path

from faultscape import plug
from faultscape.stages import evidence


def drawn_whole(root: Path, chosen: str, population: str) -> dict[str, str]:
    """Return {image: group} where whole groups of images are drawn anew: for data to come, and where nothing was drawn by chance."""
    from faultscape.ranking.recommended import CHANCE
    from faultscape.study.tables.pool import read_groups

    return read_groups(root) if population == "future" or chosen != CHANCE else {}


def groups_key(groups: dict[str, str]) -> str:
    """Return a digest of {image: group}."""
    return hashlib.sha256("\n".join(f"{image}\0{group}" for image, group in sorted(groups.items())).encode()).hexdigest()[:32]


def standings_state(root: Path, selection: str) -> str:
    """Return whether the standings of a selection are done, stale or missing."""
    from faultscape.ranking.recommended import chosen_by
    from faultscape.stages.pairs import corpus_key
    from faultscape.study.json_text import read_object
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers

    path = selections.path(root, selection, "json", stem="standings")
    if not path.exists():
        return "missing"
    try:
        held = read_object(path.read_bytes())
        made, models = held["provenance"], held["models"]
        slots, drawn_from = selections.read_selection(root, selection)
        discarded = sorted(set(Answers(root).discarded()) & {row.image for row in slots.rows})
        settings = read_settings(root)
        known = all(model in settings.models for model in slots.models)
        if not known or slots.definition.get("concordance_file", "") != plug.digest(slots.definition.get("concordance", "")):
            return "stale"
        now = {"drawn_from": drawn_from, "truth": evidence.truth_key(root, made["truth"]), "discarded": discarded}
        now["predictions"] = corpus_key(root, settings, slots.models)
        if groups := drawn_whole(root, chosen_by(slots.rows), made.get("population", "pool")):
            now["groups"] = groups_key(groups)
        return "done" if made["inputs"] == now and models == list(slots.models) else "stale"
    except (ValueError, KeyError, TypeError):
        return "stale"
