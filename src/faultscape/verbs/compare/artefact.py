"""The counts of every pair of models, one part per shard and model; classifiers need none."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study
from faultscape.study.parts import key_of

AGREEMENT = "agreement.json"  # how far models agree, and the warnings of it
_RULES = 3  # raised when what is computed changes


def agreement_key(corpus_key: str) -> str:
    """Return the key that the file of agreement has while it is up to date."""
    return key_of(_RULES, corpus_key)


def kept_warnings(study: Study) -> tuple[str, ...]:
    """Return what was found odd about the models, as far as it is up to date."""
    held = study.document(study.root / AGREEMENT) or {}
    found = held.get("warnings")
    if not isinstance(found, list) or held.get("key") != agreement_key(study.drawn_from(study.models)):
        return ()
    return tuple(map(str, found))


def _instances(study: Study) -> Sequence[str]:
    return [""] if len(study.models) >= 2 and not study.settings.classifies else []


def _made_from(study: Study, _name: str) -> dict[str, str]:
    now = _made_from_now(study, "")
    held = {
        f"{model} {part}": entry.key
        for model, parts in study.stored_pairs.items()
        for part, entry in parts.items()
    }
    # parts of truths and of former models do not matter
    return {part: key for part, key in held.items() if part in now}


def _made_from_now(study: Study, _name: str) -> dict[str, str]:
    return {f"{part.name} {part.part}": part.key for part in study.wanted_pairs}


def _describe(study: Study, _name: str) -> str:
    held = _made_from(study, "")
    now = _made_from_now(study, "")
    return f"{sum(held.get(part) == key for part, key in now.items())} of {len(now)} parts"


PAIRS = Artefact(
    name="pairs",
    verb="compare",
    inputs=("maps",),
    reasons={},
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=_describe,
    line=lambda study, _: f"faultscape compare {study.place}",
    in_parts=True,
)
