"""The plan: plan.json, how many labels each question needs."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape import plug
from faultscape.nouns import JsonObject, Slots
from faultscape.reading.artefact import METHOD, Again, Artefact, Provenance, arguments_of, provenance_of
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.selections import MAIN
from faultscape.terminal_lines import option_words
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank import artefact as standings
from faultscape.verbs.rank.open_selections import open_selections
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 4  # raised when forecasts are computed differently


def made_from_now(study: Study, truth: str) -> dict[str, str]:
    """Return what a plan is made from: the predictions of all models, what was chosen and discarded, the
    labels of a truth ('' if there were none, and any that count would be used), what standings leave open,
    and what its own duels depend on.
    """
    left = {name: open_ for name in study.selections if (open_ := standings.open_questions(study, name))}
    return {
        "maps": study.drawn_from(study.models),
        "selections": key_of({name: selection.key(study, name) for name in study.selections}),
        "discards": labels.discards_key(study, None),
        "labels": labels.key(study, truth or study.find_truth()),
        "models": ",".join(study.models),
        "photos": study.photos_key(),  # they break ties in draws
        **({"files": key_of(files)} if (files := _own_files(study)) else {}),
        **({"groups": key_of(sorted(study.groups.items()))} if study.groups else {}),
        **({"open": key_of(left)} if left else {}),
        **_of_own_duels(study),
        METHOD: str(METHOD_NUMBER),
    }


def _own_files(study: Study) -> dict[str, str]:
    """Return digests of your own files that selections use as selector or concordance."""
    named = [
        str(made.slots.definition.get(key, ""))
        for made in study.selections.values()
        for key in ("selector", "concordance")
    ]
    return {name: plug.digest(name) for name in sorted(set(named)) if plug.is_own(name)}


def holds_duels(slots: Slots, models: Sequence[str]) -> bool:
    """Whether a selection, as it counts now, has duels between these models, which a plan then describes;
    otherwise the plan computes its own.
    """
    return slots.models == tuple(models) and bool(slots.chosen) and not slots.draws


def _of_own_duels(study: Study) -> dict[str, str]:
    """Return what else the duels of a plan of classifiers depend on: which classes are excluded, and the
    positions of classes in WordNet.
    """
    settings = study.settings
    classes = study.settings.classes
    if not settings.classifies or (
        MAIN in study.selections and holds_duels(study.selection(MAIN).now, study.models)
    ):
        return {}
    others = [
        first for name, first in classes.first_name_of.items() if settings.only and name not in settings.only
    ]
    return {"classes": key_of(others, classes.wnids)} if others or classes.wnids else {}


def _provenance(study: Study) -> Provenance | None:
    """Return what the plan records about how it was made; None if there is none, or it cannot be read."""
    held = study.document(study.root / "plan.json")
    return provenance_of(held) if held is not None and _has_pairs(held) else None


def _has_pairs(held: JsonObject) -> bool:
    """Whether the rows of a plan about two models each are such rows: a plan of earlier versions has none."""
    rows = held.get("pairs", [])
    return isinstance(rows, list) and all(isinstance(row, dict) and _is_pair(row) for row in rows)


def _is_pair(row: JsonObject) -> bool:
    models = row.get("models")
    numbers = [row.get(key) for key in ("labels", "low", "high")]
    return (
        isinstance(models, list)
        and len(models) == 2
        and all(isinstance(model, str) for model in models)
        and all(isinstance(number, int) for number in numbers)
        and isinstance(row.get("predictable"), bool)
    )


def arguments(study: Study) -> JsonObject:
    """Return the options that were given when this was made, without defaults."""
    return arguments_of(_provenance(study))


def again(study: Study, _name: str = "") -> Again:
    """Return how to remake the plan: without a selection that is gone, and with the truth that counts if its
    own is gone.
    """
    given = dict(arguments(study))
    left_out = list[str]()
    name = given.get("selection")
    truth = str(given.pop("truth", "") or (_provenance(study) or {}).get("truth", ""))
    if truth not in study.truths:
        left_out += (
            [f"truth {truth} no longer has labels and is left out"]
            if truth not in ("", labels.LABELS)
            else []
        )
        truth = study.likely_truth if study.truths else ""
    if truth not in ("", labels.LABELS):
        given = {"truth": truth, **given}
    if name is not None and not (study.truths and _can_say(study, str(name))):
        del given["selection"]
        why = "no longer shows how models differ" if name in study.selections else "is gone"
        left_out.append(f"selection {name} {why if study.truths else 'no longer has labels'} and is left out")
    return Again(given, tuple(left_out))


def _can_say(study: Study, name: str) -> bool:
    """Whether a selection that a plan should use exists, and can be a random draw from the current pool."""
    if name not in study.selections or not standings.is_by_chance(study, name):
        return False
    return not (selection.is_stale(study, name) and selection.is_superseded(study, name))


def _line(study: Study, _name: str) -> str:
    """A plan from a selection that must be redrawn waits for that."""
    options = again(study).options
    name = options.get("selection")
    if name is not None and selection.is_stale(study, str(name)):
        return ""
    return " ".join([f"faultscape plan {study.place}", *option_words(options)])


def _made_from(study: Study, _name: str) -> dict[str, str] | None:
    if not (study.root / "plan.json").exists():
        return None
    held = _provenance(study)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(study: Study, _name: str) -> dict[str, str]:
    held = _provenance(study)
    return {} if held is None else made_from_now(study, str(held.get("truth", "labels")))


PLAN = Artefact(
    name="plan",
    verb="plan",
    inputs=("maps", "selection", "labels", "discards", "standings"),
    reasons={
        "maps": "images or predictions changed",
        "selections": "a selection was made or extended",
        "discards": "images were discarded",
        "groups": "groups of images changed",
        "labels": "labels changed",
        "classes": "the classes asked about, or their WordNet ids, changed",
        "open": "standings are out of date, settled a question, or left one open",
        "models": "models were added, renamed or removed",
        "photos": "image files changed",
        "files": "the file of a selector or of a concordance changed, or is gone",
        METHOD: "an earlier version made it",
        "file": "plan.json cannot be read",
    },
    instances=lambda study: [""] if (study.root / "plan.json").exists() or open_selections(study) else [],
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda _study, _name: "plan.json",
    line=_line,
    again=again,
    waits=lambda study, _name: not open_selections(study),
    method=METHOD_NUMBER,
)
