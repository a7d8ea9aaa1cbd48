"""The card that `reliability` wrote into the study: reliability/reliability.json."""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.errors import counted
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import Artefact, Input, Instance, by_method, texts
from faultscape.reading.study import Study
from faultscape.study.part_folders import made as made_folders
from faultscape.study.parts import key_of
from faultscape.study.tables import label_maps
from faultscape.verbs import inputs

METHOD_NUMBER = 4  # raised when a number of the card is computed differently
_FOLDER = "reliability"


def _digests(study: Study, folder: Path) -> list[tuple[str, str]]:
    return sorted((name, part.sha256) for name, part in study.manifest(folder).items())


def _models(made: Instance) -> str:
    return key_of({name: about.model_dump() for name, about in made.study.settings.models.items()})


def _maps(made: Instance) -> str:
    held = made.study.stored_maps.items()
    return key_of(
        {model: sorted((name, part.sha256) for name, part in parts.items()) for model, parts in held}
    )


def _networks(made: Instance) -> str:
    stamps = {
        model: label_maps.stamps_of(label_maps.predictions(made.study.root, model))
        for model in made.study.stored_maps
    }
    return key_of(
        {
            model: {part: stamp.rpartition(":")[0] for part, stamp in of_parts.items()}
            for model, of_parts in stamps.items()
        }
    )


def _counts(made: Instance) -> str:
    root = made.study.root
    folders = made_folders(root, _FOLDER)
    return key_of(
        sorted((folder.relative_to(root).as_posix(), _digests(made.study, folder)) for folder in folders)
    )


def _labels(made: Instance) -> str | None:
    return inputs.labels_key(made.study, made.truth) if made.truth in made.study.truths else None


def _sets(made: Instance) -> str:
    sets = json.loads(made.study.stress.model_dump_json())
    return key_of(sets["sets"], sets["holdouts"], sorted(made.study.set_keys.items()))


def card_key(study: Study) -> str | None:
    """Return a digest of the card's numbers and of whether it is out of date, or None without a card."""
    card = study.document(RELIABILITY.path(study))
    return None if card is None else key_of(card.get("models"), card.get("cells"), RELIABILITY.is_done(study))


class _Reliability(Artefact):
    def options_again(self, study: Study, _name: str) -> tuple[JsonObject, tuple[str, ...]]:
        given = dict(self.options(study))
        gone = [model for model in texts(given.get("models")) if model not in study.settings.models]
        if not gone:
            return given, ()
        del given["models"]
        return given, (f"{', '.join(gone)} is no longer a model, so all models are evaluated",)

    def describe(self, study: Study, _name: str) -> str:
        return f"the card of {counted(len(study.models), 'model')}"

    def waits(self, _study: Study, _name: str) -> bool:
        return True


RELIABILITY = _Reliability(
    "reliability",
    verb="reliability",
    follows=("maps", "sets", "labels"),
    where=f"{_FOLDER}/reliability.json",
    reads=(
        Input("models", _models, "models changed"),
        Input("maps", _maps, "maps changed"),
        Input("networks", _networks, "networks changed"),
        Input("counts", _counts, "counts were added"),
        Input("labels", _labels, "labels changed"),
        Input(
            "anomaly",
            lambda made: key_of(_digests(made.study, label_maps.truth(made.study.root, "anomaly"))),
            "labels of anomaly changed",
        ),
        Input("sets", _sets, "made sets changed"),
        inputs.GROUPS,
        Input("size", lambda made: made.study.settings.size, "the working size changed"),
        inputs.CLASSES,
        by_method(METHOD_NUMBER, "an earlier version made it"),
    ),
    own_files=("misclassified",),
)
