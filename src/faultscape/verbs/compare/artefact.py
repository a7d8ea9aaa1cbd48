"""The counts of every pair of models, one part per shard and model; classifiers need none."""

from __future__ import annotations

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


class _Pairs(Artefact):
    def instances(self, study: Study) -> list[str]:
        return [""] if len(study.models) >= 2 and not study.settings.classifies else []

    def made_from(self, study: Study, _name: str = "") -> dict[str, str]:
        now = self.made_from_now(study)
        held = {
            f"{model} {part}": entry.key
            for model, parts in study.stored_pairs.items()
            for part, entry in parts.items()
        }
        # parts of truths and of former models do not matter
        return {part: key for part, key in held.items() if part in now}

    def made_from_now(self, study: Study, _name: str = "") -> dict[str, str]:
        return {f"{part.name} {part.part}": part.key for part in study.wanted_pairs}

    def describe(self, study: Study, _name: str) -> str:
        held = self.made_from(study)
        now = self.made_from_now(study)
        return f"{sum(held.get(part) == key for part, key in now.items())} of {len(now)} parts"


PAIRS = _Pairs("pairs", verb="compare", follows=("maps",), in_parts=True)
