"""Notes on the card: what is missing, left out or without effect, and which models have seen the images they
are judged on: in training or validation, or when a temperature or method was fitted or searched; and which
learnt from the family of unknown objects that they are judged on.

Conventions: withheld classes have no family of objects, because nothing learns from them. A made image counts
as its original. Nothing is known about a model that `train` did not make in
this study. Missing or damaged files are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import FaultscapeError, counted
from faultscape.metrics.intervals.units import LEAST
from faultscape.prediction.sources.network_folder import folder_of
from faultscape.reading.evidence import trained_notes
from faultscape.reading.scorers import fitted_again as methods_fitted_again
from faultscape.reading.scorers import methods_of_model, unknown_methods
from faultscape.reading.study import Study
from faultscape.study.json_text import read_object
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.uncertainty.method_files import MethodAbout
from faultscape.verbs.reliability.card import Judgement
from faultscape.verbs.reliability.components import METRIC
from faultscape.verbs.reliability.conditions import Condition, Units
from faultscape.verbs.reliability.numbers import ModelNumbers
from faultscape.verbs.stress.object_families import family_of_set
from faultscape.verbs.train.labelled_images import of_sets_or_role
from faultscape.verbs.train.training_record import training_of

if TYPE_CHECKING:
    from faultscape.verbs.options import ReliabilityOptions

_SEEN: Mapping[str, Callable[[MethodAbout], tuple[str, ...]]] = {
    "fitted to": lambda about: _of_all(about, lambda one: one.sets),
    "searched with": lambda about: _of_all(about, lambda one: (one.validation,)),
    "taught with": lambda about: _of_all(about, lambda one: (one.negatives,)),
}
_AND = " and "  # between the families of a set


def _of_all(about: MethodAbout, sets: Callable[[MethodAbout], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the sets of a method and of those that it joins, each once."""
    return tuple(dict.fromkeys(name for one in (about, *about.parts) for name in sets(one) if name))


def seen_beforehand(study: Study, names: Sequence[str], conditions: Sequence[Condition]) -> list[str]:
    """Return a note for every model that some of the images trained, that has seen some of those that judge
    it, or that has a temperature.
    """
    asked = _asked(study, conditions)
    notes = trained_notes(study, names, asked, "image")
    for name in names:
        if seen := len(asked & _trained_on(study, name) - study.trained_on(name)):
            notes.append(
                f"{name}: was trained or validated on {seen:,} of the {len(asked):,} images it is"
                " evaluated on; its numbers there are too good"
            )
        if label_maps.lacks_temperature(study.root, name, study.manifest):
            notes.append(f"{name}: its maps were made before its temperature was fitted; predict it again")
        elif values := study.settings.models[name].options.get("temperature"):
            what = f"a temperature of {values[0]:.3g}" if len(values) == 1 else "a temperature for each class"
            fitted = len(asked & _fitted_to(study, name))
            also = (
                f", fitted to {fitted:,} of the {len(asked):,} images it is evaluated on; its "
                "calibration there is too good"
            )
            notes.append(f"{name}: its logits are divided by {what}{also if fitted else ''}")
    return notes


def seen_by_methods(study: Study, names: Sequence[str], conditions: Sequence[Condition]) -> list[str]:
    """Return a note for each model about methods that were fitted to, searched with or taught with sets whose
    images it is judged on.
    """
    asked = _asked(study, conditions)
    notes = list[str]()
    for name in names:
        for how, sets_of in _SEEN.items():
            scorers: dict[tuple[str, ...], list[str]] = {}
            for scorer, about in methods_of_model(study, name).items():
                scorers.setdefault(sets_of(about), []).append(scorer)
            for sets, some in scorers.items():
                if sets and (seen := len(asked & _of(study, list(sets), ""))):
                    notes.append(
                        f"{name}: {', '.join(some)} {'was' if len(some) == 1 else 'were'} {how} "
                        f"{', '.join(sets)}, which {'includes' if len(sets) == 1 else 'include'} "
                        f"{seen:,} of the {len(asked):,} images it is evaluated on; numbers on these are "
                        "too good, so evaluate on other images"
                    )
    return notes


def tested_family(study: Study, condition: Condition) -> str:
    """Return the family of the unknown objects of a condition; '' if its anomalies are withheld classes."""
    if not condition.with_anomalies or condition.holdout:
        return ""
    return " and ".join(dict.fromkeys(family_of_set(study, name) for name in condition.sets))


def same_families(study: Study, names: Sequence[str], conditions: Sequence[Condition]) -> list[str]:
    """Return a note for the families that taught a model or a method and that it is evaluated on."""
    tested: dict[str, list[str]] = {}
    for condition in conditions:
        for family in tested_family(study, condition).split(_AND):
            tested.setdefault(family, []).append(condition.name)
    notes = []
    for name in names:
        training = training_of(study.settings.models[name])
        taught = [(name, training["family"])] if training is not None else []
        for scorer, about in methods_of_model(study, name).items():
            taught += [(f"{name} {scorer}", family) for family in about.families]
        for who, families in taught:
            shared = [family for family in families.split(_AND) if family and family in tested]
            if shared:
                shown = list(dict.fromkeys(name for family in shared for name in tested[family]))
                notes.append(
                    f"{who}: learnt from {_AND.join(shared)}, which {', '.join(shown)} also"
                    f" {'shows' if len(shown) == 1 else 'show'}; evaluate it on another family too"
                )
    return notes


def few_units(units: Units, place: str) -> list[str]:
    """Return a note if there are too few units for intervals, with what to do."""
    if units.count >= LEAST:
        return []
    if not units.grouped:
        return [f"{counted(units.count, 'image')}: intervals need at least {LEAST}"]
    groups = counted(units.count, "group")
    line = f"`faultscape collect {place} --block N`"
    why = f"intervals resample whole groups, need at least {LEAST}, and the images are of {groups}"
    return [f"{why}: {line} cuts groups into runs of N consecutive images"]


def unanswered(study: Study, models: Sequence[ModelNumbers], conditions: Sequence[Condition]) -> list[str]:
    """Return a note for each model that lacks images whose shards were counted."""
    out = []
    asked = list(dict.fromkeys(id_ for c in conditions if c.kind != "misclassified" for id_ in c.images))
    for model in models:
        if missing := model.unanswered([study.image_rows[id_] for id_ in asked]):
            what = "answered" if study.settings.models[model.name].kind == "submission" else "mapped"
            out.append(
                f"{model.name}: {missing:,} of {len(asked):,} images were not {what} and are left out of "
                "its numbers; see failures.csv"
            )
    return out


def idle(found: Judgement, options: ReliabilityOptions) -> list[str]:
    """Return notes about options without effect, and why."""
    out = []
    metrics = {(model, metric) for model, _, _, metric in found.evidence}
    if options.track and not any(metric == METRIC for _, metric in metrics):
        out.append(
            f"--track {options.track} has no effect: component F1 needs stored doubt, which `predict "
            "--scorer` keeps without --measure"
        )
    if (
        options.reference
        and (options.reference, "corruption_error") not in metrics
        and any(m == "relative_drop" for _, m in metrics)
    ):
        out.append(
            f"--reference {options.reference}: it was not evaluated on corrupted sets, so there are no "
            "relative errors"
        )
    return out


def constant(found: Judgement) -> list[str]:
    """Return notes about scorers that are constant on a condition."""
    return [
        f"{model}: {scorer} is constant on {', '.join(where[:4])}{', ...' if len(where) > 4 else ''}, so "
        "it cannot rank pixels"
        for (model, scorer), where in found.constant.items()
    ]


def undeclared(settings: Settings, names: Sequence[str]) -> list[str]:
    """Return notes about submissions that do not declare their training data."""
    silent = [
        n
        for n in names
        if settings.models[n].kind == "submission" and not settings.models[n].options.get("ood_data")
    ]
    return [
        f"{name} does not declare whether it was trained with unknown objects; give --ood-data none, or "
        "their source"
        for name in silent
    ]


def fitted_again(study: Study, models: Sequence[str]) -> list[str]:
    """Return notes about methods that were fitted again since they scored, and about methods whose files are
    missing.
    """
    out = []
    for model in models:
        if again := methods_fitted_again(study, model):
            out.append(
                f"{model}: {', '.join(again)} was fitted again since these scores were made; run "
                "`faultscape predict` again to update them"
            )
        if unknown := unknown_methods(study, model):
            out.append(
                f"{model}: the file of {', '.join(unknown)} is missing, so it is unknown whether it was "
                "tuned with unknown objects"
            )
    return out


def _asked(study: Study, conditions: Sequence[Condition]) -> set[str]:
    """Return the images that models are judged on; made images are replaced by their originals."""
    return {_origin(study, id_) for condition in conditions for id_ in condition.images}


def _origin(study: Study, id_: str) -> str:
    while (parent := study.image_rows[id_].parent) in study.image_rows:
        id_ = parent
    return id_


def _trained_on(study: Study, name: str) -> set[str]:
    """Return the images that a network, or any network it was initialized from, was trained or
    validated on.
    """
    about = study.settings.models[name]
    models = (study.root / "models").resolve()
    found = set[str]()
    seen = set[Path]()
    folder = folder_of(about.source).resolve() if about.kind == "trained" else None
    while folder and folder.parent == models and folder not in seen:
        seen.add(folder)
        arguments = _arguments(folder / "network.json")
        found |= _of(study, arguments.get("set_"), "train") | _of(
            study, arguments.get("validation"), "validation"
        )
        folder = models / str(arguments["init"]) if arguments.get("init") else None
    return found


def _fitted_to(study: Study, name: str) -> set[str]:
    """Return the images that a model's temperature was fitted to."""
    path = study.root / "methods" / name / "temperature.json"
    return _of(study, _arguments(path).get("validation"), "validation") if path.is_file() else set()


def _of(study: Study, sets: Any, role: str) -> set[str]:
    named = [sets] if isinstance(sets, str) else sets
    return {_origin(study, image.id) for image in of_sets_or_role(study.image_rows, named, role)}


def _arguments(path: Path) -> dict[str, Any]:
    """Return the arguments recorded in a provenance file."""
    try:
        held: Any = read_object(path.read_bytes())
        return dict(held["provenance"]["arguments"])
    except (OSError, ValueError, KeyError, TypeError, FaultscapeError):
        return {}
