"""What `measure` wrote into the study: measures/measure.json, against one truth."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape import plug
from faultscape.nouns import JsonObject
from faultscape.reading import evidence
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
from faultscape.study.parts import key_of
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.terminal_lines import option_words
from faultscape.verbs.label import artefact as labels

METHOD_NUMBER = 3  # raised when a metric or an interval is computed differently


def made_from_now(study: Study, truth: str, metrics: Sequence[str] = ()) -> dict[str, str]:
    """Return what measures of all models against a truth are made from, with your own ``metrics``
    (file.py:NAME).
    """
    folders = {model: label_maps.predictions(study.root, model) / "confidence" for model in study.models}
    aside = {part_name(shard) for shard in study.corpus.aside}
    held = {
        model: sorted(
            (name, part.sha256)
            for name, part in study.manifest(folder).items()
            if name[: len(part_name(0))] not in aside
        )
        for model, folder in folders.items()
    }
    kept = {model: parts for model, parts in held.items() if parts}
    chosen = (
        evidence.measured_by_choice(study, truth, study.drawn, study.discarded)
        if truth in study.truths
        else 0
    )
    return {
        "maps": study.drawn_from(study.models),
        **({"confidence": key_of(kept)} if kept else {}),
        "models": ",".join(study.models),
        "labels": labels.key(study, truth),
        # images decide the order of sums and of the bootstrap, and the page shows some
        "photos": (study.photos_key()),
        **({"colours": key_of(colours)} if (colours := study.settings.classes.colours) else {}),
        **({"groups": key_of(sorted(study.groups.items()))} if study.groups else {}),
        **({"names": key_of(study.settings.classes.names)} if study.settings.classes.first_names else {}),
        **({"metrics": key_of([(source, plug.digest(source)) for source in metrics])} if metrics else {}),
        **({"chosen": str(chosen)} if chosen else {}),
        METHOD: str(METHOD_NUMBER),
    }


def _provenance(study: Study) -> Provenance | None:
    return provenance_of(study.document(study.root / "measures" / "measure.json"))


def _truth(study: Study) -> str:
    return str((_provenance(study) or {}).get("truth", ""))


def _instances(study: Study) -> list[str]:
    """A table of several data sets does not count as the study's own."""
    path = study.root / "measures" / "measure.json"
    held = study.document(path)
    return [""] if path.exists() and (held is None or "datasets" not in held) else []


def _made_from(study: Study, _name: str) -> dict[str, str]:
    held = _provenance(study)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(study: Study, _name: str) -> dict[str, str]:
    if _provenance(study) is None:
        return {}
    metrics = arguments(study).get("metric")
    return made_from_now(
        study, _truth(study), [str(one) for one in metrics] if isinstance(metrics, list) else ()
    )


def arguments(study: Study) -> JsonObject:
    """Return the options that were given when this was made, without defaults."""
    return arguments_of(_provenance(study))


def again(study: Study, _name: str = "") -> Again:
    """Return how to remake the measures: with their own truth, so that they wait for it if it is missing."""
    truth = _truth(study)
    given = {**({"truth": truth} if truth not in ("", labels.LABELS) else {}), **arguments(study)}
    if truth and truth not in study.truths:
        line = f"`faultscape label import {study.place} SOURCE --truth {truth}`"
        return Again(
            given,
            (),
            f"truth {truth} no longer has labels; import some with {line}, or measure against another"
            " --truth",
        )
    return Again(given, (), gone_file(given, ("metric",), "measure"))


def _line(study: Study, _name: str) -> str:
    truth = _truth(study)
    if truth and truth not in study.truths:
        return ""  # nothing is left to measure against
    return " ".join([f"faultscape measure {study.place}", *option_words(again(study).options)])


MEASURES = Artefact(
    name="measures",
    verb="measure",
    inputs=("maps", "labels"),
    reasons={
        "maps": "images, predictions or classes changed",
        "models": "models were added, renamed or removed",
        "confidence": "confidence changed",
        "photos": "image files changed",
        "colours": "colours of classes changed",
        "labels": "the truth changed",
        "groups": "groups of images changed",
        "names": "classes were renamed",
        "chosen": "selections now cover other measured images",
        "metrics": "the file of a metric changed",
        METHOD: "an earlier version made them",
        "file": "measures/measure.json cannot be read",
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda study, _: f"against {_truth(study)}" if _truth(study) else "measures/measure.json",
    line=_line,
    again=again,
    method=METHOD_NUMBER,
)
