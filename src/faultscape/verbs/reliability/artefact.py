"""The card that `reliability` wrote into the study: reliability/reliability.json."""

from __future__ import annotations

import json

from faultscape.errors import counted
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import (
    METHOD,
    Again,
    Artefact,
    Provenance,
    arguments_of,
    gone_file,
    provenance_of,
)
from faultscape.reading.study import Study
from faultscape.study.part_folders import made
from faultscape.study.parts import key_of
from faultscape.study.tables import label_maps
from faultscape.terminal_lines import option_words
from faultscape.verbs.label import artefact as labels

METHOD_NUMBER = 3  # raised when a number of the card is computed differently
_FOLDER = "reliability"


def made_from_now(study: Study, truth: str) -> dict[str, str]:
    """Return what a card of all models would be made from: their maps and counts, labels, and the sets that
    it evaluates.
    """
    root = study.root
    settings = study.settings
    maps = {
        model: (
            sorted((name, part.sha256) for name, part in parts.items()),
            label_maps.stamps_of(label_maps.predictions(root, model)),
        )
        for model, parts in study.stored_maps.items()
    }
    counts = {
        folder.relative_to(root).as_posix(): sorted(
            (name, part.sha256) for name, part in study.manifest(folder).items()
        )
        for folder in made(root, _FOLDER)
    }
    anomaly = sorted(
        (name, part.sha256) for name, part in study.manifest(label_maps.truth(root, "anomaly")).items()
    )
    sets = json.loads(study.stress.model_dump_json())
    return {
        "models": key_of({name: about.model_dump() for name, about in study.settings.models.items()}),
        "maps": key_of({name: held for name, (held, _) in maps.items()}),
        "networks": key_of(
            {
                name: {part: stamp.rpartition(":")[0] for part, stamp in stamps.items()}
                for name, (_, stamps) in maps.items()
            }
        ),
        "counts": key_of(sorted(counts.items())),
        **({"labels": labels.key(study, truth)} if truth in study.truths else {}),
        "anomaly": key_of(anomaly),
        "sets": key_of(sets["sets"], sets["holdouts"], sorted(study.set_keys.items())),
        **({"groups": key_of(sorted(study.groups.items()))} if study.groups else {}),
        "size": settings.size,
        "classes": key_of(settings.classes.counted),
        METHOD: str(METHOD_NUMBER),
    }


def read_card(study: Study) -> JsonObject | None:
    """Return the card of a study, or None if it has none that can be read."""
    return study.document(study.root / _FOLDER / "reliability.json")


def are_done(study: Study) -> bool:
    """Whether the card is made from the current contents of the study."""
    return _made_from(study, "") == _made_from_now(study, "")


def card_key(study: Study) -> str:
    """Return a digest of the card's numbers and of whether it is out of date, or '' without a card."""
    card = read_card(study)
    return "" if card is None else key_of(card.get("models"), card.get("cells"), are_done(study))


def _provenance(study: Study) -> Provenance | None:
    return provenance_of(read_card(study))


def _truth(study: Study) -> str:
    return str((_provenance(study) or {}).get("truth", ""))


def _instances(study: Study) -> list[str]:
    return [""] if (study.root / _FOLDER / "reliability.json").exists() else []


def _made_from(study: Study, _name: str) -> dict[str, str]:
    held = _provenance(study)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(study: Study, _name: str) -> dict[str, str]:
    return {} if _provenance(study) is None else made_from_now(study, _truth(study))


def again(study: Study, _name: str = "") -> Again:
    """Return how to remake the card: with its recorded options."""
    given = arguments_of(_provenance(study))
    gone = [name for name in _listed(given.get("models")) if name not in study.settings.models]
    left = {name: value for name, value in given.items() if name != "models" or not gone}
    said = (f"{', '.join(gone)} is no longer a model, so all models are evaluated",) if gone else ()
    return Again(left, said, gone_file(given, ("misclassified",), "judge"))


def _listed(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _line(study: Study, _name: str) -> str:
    return " ".join([f"faultscape reliability {study.place}", *option_words(again(study).options)])


RELIABILITY = Artefact(
    name="reliability",
    verb="reliability",
    inputs=("maps", "sets", "labels"),
    reasons={
        "models": "models changed",
        "maps": "maps changed",
        "networks": "networks changed",
        "counts": "counts were added",
        "labels": "labels changed",
        "anomaly": "labels of anomaly changed",
        "sets": "made sets changed",
        "groups": "groups changed",
        "size": "the working size changed",
        "classes": "classes changed",
        METHOD: "an earlier version made it",
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda study, _: f"the card of {counted(len(study.models), 'model')}",
    line=_line,
    again=again,
    waits=lambda _study, _name: True,
    method=METHOD_NUMBER,
)
