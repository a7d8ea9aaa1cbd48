"""The plan: plan.json, how many labels each question needs."""

from __future__ import annotations

from faultscape import plug
from faultscape.nouns import JsonObject
from faultscape.stages.artefacts import labels, selection, standings
from faultscape.stages.artefacts.artefact import METHOD, Artefact, Provenance, arguments_of, provenance_of
from faultscape.stages.evidence import LABELS, find_truth
from faultscape.stages.given_options import option_words
from faultscape.stages.snapshot import Snapshot
from faultscape.study.parts import key_of

METHOD_NUMBER = 3  # raised when forecasts are computed in another way


def made_from_now(snapshot: Snapshot, truth: str) -> dict[str, str]:
    """Return what a plan is made from: the predictions of all models, what was chosen and discarded, the labels of a truth ('': there were none, and any that counts would be used), and what standings leave open."""
    left = {name: open_ for name in snapshot.selections if (open_ := standings.open_questions(snapshot, name))}
    return {
        "maps": snapshot.drawn_from(snapshot.models),
        "selections": key_of({name: selection.key(snapshot, name) for name in snapshot.selections}),
        "discards": key_of(sorted(snapshot.discarded)),
        "labels": labels.key(snapshot, truth or find_truth(snapshot.root)),
        "models": ",".join(snapshot.models),
        "photos": snapshot.photos_key(),  # they decide who is drawn among equals
        **({"files": key_of(files)} if (files := _own_files(snapshot)) else {}),
        **({"groups": key_of(sorted(snapshot.groups.items()))} if snapshot.groups else {}),
        **({"open": key_of(left)} if left else {}),
        METHOD: str(METHOD_NUMBER),
    }


def _own_files(snapshot: Snapshot) -> dict[str, str]:
    """Return digests of the files of a person's own that selections name as selector or concordance."""
    named = [
        str(slots.definition.get(key, "")) for slots, _ in snapshot.selections.values() for key in ("selector", "concordance")
    ]
    return {name: plug.digest(name) for name in sorted(set(named)) if plug.is_own(name)}


def _provenance(snapshot: Snapshot) -> Provenance | None:
    return provenance_of(snapshot.document(snapshot.root / "plan.json"))


def arguments(snapshot: Snapshot) -> JsonObject:
    """Return the options that were given when this was made, where they differ from the defaults."""
    return arguments_of(_provenance(snapshot))


def _made_from(snapshot: Snapshot, _name: str) -> dict[str, str]:
    held = _provenance(snapshot)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(snapshot: Snapshot, _name: str) -> dict[str, str]:
    held = _provenance(snapshot)
    return {} if held is None else made_from_now(snapshot, str(held.get("truth", "labels")))


def options_again(snapshot: Snapshot) -> JsonObject:
    """Return the options of `plan` that make this again: those that were given, and the truth that it was made with."""
    truth = str((_provenance(snapshot) or {}).get("truth", ""))
    return {**({"truth": truth} if truth not in ("", LABELS) else {}), **arguments(snapshot)}


PLAN = Artefact(
    name="plan",
    verb="plan",
    inputs=("maps", "selection", "labels", "discards", "standings"),
    options=("cost", "wage", "within", "selection", "truth", "goal", "seed"),
    reasons={
        "maps": "images or predictions changed",
        "selections": "a selection was made or extended",
        "discards": "images were discarded",
        "groups": "groups of images changed",
        "labels": "labels changed",
        "open": "standings are out of date, settled a question, or left one open",
        "models": "models were added, renamed or removed",
        "photos": "photos changed",
        "files": "the file of a selector or of a concordance changed, or is gone",
        METHOD: "an earlier version made it",
        "file": "plan.json cannot be read",
    },
    instances=lambda snapshot: [""] if (snapshot.root / "plan.json").exists() else [],
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda _snapshot, _name: "plan.json",
    line=lambda snapshot, _: " ".join([f"faultscape plan {snapshot.place}", *option_words(options_again(snapshot))]),
    waits=lambda _snapshot, _name: True,
    method=METHOD_NUMBER,
)
