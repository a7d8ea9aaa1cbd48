"""The standings of a selection: standings.json, or standings-NAME.json."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faultscape import plug
from faultscape.errors import RankingError, counted
from faultscape.nouns import Json, JsonObject, Slots
from faultscape.reading.artefact import (
    METHOD,
    Again,
    Artefact,
    Provenance,
    arguments_of,
    files_key,
    gone_file,
    provenance_of,
)
from faultscape.reading.evidence import chosen_by_models
from faultscape.reading.snapshot import Snapshot
from faultscape.selection.definitions import draws_evenly
from faultscape.standings import is_open
from faultscape.study.parts import key_of
from faultscape.study.tables import selections
from faultscape.terminal_lines import option_words
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank.benchmark import read_benchmark
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 5  # raised when rankings or intervals are computed differently
_UNREADABLE = "its file cannot be read"


def made_from_now(
    snapshot: Snapshot,
    name: str,
    truth: str,
    against: Sequence[str] = (),
    ranking: Sequence[str] = (),
    benchmark: str | None = None,
    all_labels: bool = False,
) -> dict[str, str]:
    """Return what standings of a selection by a truth are made from: the groups of images, which intervals
    for data to come redraw whole, your own rankings (``ranking``, file.py:name), the file of a closed
    ``benchmark``, and ``all_labels`` if those of other images count too.
    """
    slots, models = snapshot.selections[name][0], snapshot.current(name).models
    images = {row.image for row in slots.rows}
    # standings say who leads by each of them
    truths = {other: labels.key(snapshot, other) for other in snapshot.truths if other != truth}
    return {
        "models": ",".join(models),
        "selection": selection.key(snapshot, name),
        "concordance": plug.digest(slots.definition.get("concordance", "")),
        "maps": snapshot.drawn_from(models),
        # a note names them
        "added": ",".join(model for model in snapshot.models if model not in models),
        "labels": labels.key(snapshot, truth),
        "discards": labels.discards_key(snapshot, None if all_labels else name),
        # images decide the order of sums and of the bootstrap
        "photos": snapshot.photos_key(None if all_labels else images),
        **_others(snapshot, name),
        **({"groups": key_of(sorted(snapshot.groups.items()))} if snapshot.groups else {}),
        **({"parents": key_of(parents)} if (parents := snapshot.settings.classes.counted_parents) else {}),
        **{f"selection {other}": _of_selection(snapshot, other) for other in against},
        **({"rankings": key_of([(source, plug.digest(source)) for source in ranking])} if ranking else {}),
        **({"benchmark": files_key(benchmark)} if benchmark else {}),
        **({"truths": key_of(sorted(truths.items()))} if truths else {}),
        # standings name the class on which the leading model fails
        **(
            {"names": key_of(snapshot.settings.classes.names)}
            if snapshot.settings.classes.first_names
            else {}
        ),
        METHOD: str(METHOD_NUMBER),
    }


def _of_selection(snapshot: Snapshot, name: str) -> str:
    """Return a key of a selection as it counts now, or '' if there is none of this name."""
    return (
        key_of(selection.key(snapshot, name), labels.discards_key(snapshot, name))
        if name in snapshot.selections
        else ""
    )


def _others(snapshot: Snapshot, name: str) -> dict[str, str]:
    """Return what standings of draws depend on in other selections: which of the images these chose, because
    their labels are not random, and even draws, which show how models score where they agree.
    """
    own = snapshot.selections[name][0]
    if not own.draws:
        return {}
    drawn_from = snapshot.drawn_from(own.models) if snapshot.knows(own.models) else ""
    found: list[object] = [*sorted(_chosen_elsewhere(snapshot, own))]
    if not draws_evenly(own.definition):  # even draws include images on which models agree
        for other, (slots, other_from) in snapshot.selections.items():
            if draws_evenly(slots.definition) and slots.models == own.models and other_from == drawn_from:
                found.append([_of_selection(snapshot, other), sorted(_chosen_elsewhere(snapshot, slots))])
    return {"others": key_of(found)} if found else {}


def _chosen_elsewhere(snapshot: Snapshot, own: Slots) -> set[str]:
    """Return which images of a selection others chose because of the models' predictions."""
    return {row.image for row in own.rows} & chosen_by_models(
        slots for slots in snapshot.drawn if slots is not own
    )


def is_by_chance(snapshot: Snapshot, name: str) -> bool:
    """Whether the images of a selection were drawn at random."""
    # ranking loads scipy, which `status` rarely needs
    from faultscape.ranking.catalogue import CHANCE, chosen_by

    return chosen_by(snapshot.selections[name][0].rows) == CHANCE


def provenance(snapshot: Snapshot, name: str) -> Provenance | None:
    """Return what the standings of a selection record about how they were made; None if there are none, or
    these cannot be read.
    """
    from faultscape.ranking.standings_json import is_whole

    held = snapshot.document(selections.path(snapshot.root, name, "json", stem="standings"))
    return provenance_of(held) if held is not None and is_whole(held) else None


def key(snapshot: Snapshot, name: str) -> str:
    """Return a digest of what the standings of a selection were made from, and with which options, or ''."""
    held = provenance(snapshot, name)
    return "" if held is None else key_of(held)


def _instances(snapshot: Snapshot) -> list[str]:
    """Return the selections that have standings, or should; replaced selections need none."""
    return [
        name
        for name in selection.in_order(snapshot)
        if not selection.is_replaced(snapshot, name) or _made_from(snapshot, name) is not None
    ]


def _made_from(snapshot: Snapshot, name: str) -> dict[str, str] | None:
    if not selections.path(snapshot.root, name, "json", stem="standings").exists():
        return None
    held = provenance(snapshot, name)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(snapshot: Snapshot, name: str) -> dict[str, str]:
    if (held := provenance(snapshot, name)) is None:
        return {}
    if not snapshot.knows(snapshot.current(name).models):
        return {**held["inputs"], "models": "removed"}
    given = arguments_of(held)
    against, ranking = ([str(one) for one in _listed(given.get(key))] for key in ("against", "ranking"))
    closed = given.get("benchmark")
    closed_file = None if closed is None else str(closed)
    all_labels = bool(given.get("all_labels"))
    truth = str(held.get("truth", "labels"))
    return made_from_now(snapshot, name, truth, against, ranking, closed_file, all_labels)


def _listed(held: Json) -> Sequence[Json]:
    return held if isinstance(held, list) else ()


def are_done(snapshot: Snapshot, name: str) -> bool:
    """Whether the standings of a selection exist and follow from the current study."""
    held = _made_from(snapshot, name)
    return held is not None and held == _made_from_now(snapshot, name)


def open_questions(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    """Return which of the questions "best" and "order" the standings of a selection leave open; none if they
    are not done.
    """
    if not are_done(snapshot, name):
        return ()
    from faultscape.ranking.duel_standings import from_json

    held = snapshot.document(selections.path(snapshot.root, name, "json", stem="standings"))
    found = from_json(held) if held is not None else None
    return tuple(question for question in ("best", "order") if found is not None and is_open(found, question))


def again(snapshot: Snapshot, name: str, truth: str = "") -> Again:
    """Return how to remake standings by a ``truth``, or by the one they were made with."""
    given, left_out = _options_again(snapshot, name)
    # its own command, or what is in the way, comes first
    stale = not selection.is_rankable(snapshot, name)
    return Again(
        given, left_out, "" if stale else _in_the_way(snapshot, name, given, truth or _truth(snapshot, name))
    )


def _options_again(snapshot: Snapshot, name: str) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the recorded options that still apply, and a text about the others."""
    given, left_out = dict(arguments_of(provenance(snapshot, name))), list[str]()
    against = [str(other) for other in _listed(given.get("against"))]
    if gone := [other for other in against if not _is_to_be_ranked(snapshot, other)]:
        given["against"] = [other for other in against if other not in gone] or None
        left_out += [f"selection {other} of --against is gone and is left out" for other in gone]
    if "population" in given and not is_by_chance(snapshot, name):
        del given["population"]
        left_out.append("--population is left out: it applies only to images drawn at random")
    return given, tuple(left_out)


def _is_to_be_ranked(snapshot: Snapshot, name: str) -> bool:
    """Whether a selection exists that can be ranked, or redrawn so that it can."""
    there = name in snapshot.selections
    return there and (
        snapshot.knows(snapshot.current(name).models) or not selection.is_superseded(snapshot, name)
    )


def _truth(snapshot: Snapshot, name: str) -> str:
    """Return the truth that a selection was ranked by, if it exists, else the one that counts."""
    ranked_by = str((provenance(snapshot, name) or {}).get("truth", ""))
    return ranked_by if ranked_by in snapshot.truths else snapshot.truth


def _in_the_way(snapshot: Snapshot, name: str, given: JsonObject, truth: str) -> str:
    """Return what prevents ranking a selection with these options, and what to do about it; '' if nothing
    does, or only labels are missing, which have their own line.
    """
    if not (images := snapshot.current(name).images):
        back = (
            f"`faultscape label remove {snapshot.place} --selection {name} --discards` takes the discards"
            " back"
        )
        return (
            f"all its images are discarded; {back}, `faultscape select {snapshot.place} --remove {name}`"
            " removes it"
        )
    if labels.is_short(snapshot, name, truth):
        return ""
    if labels.are_void(snapshot, name, truth):
        return (
            f"the labels of its {counted(len(images), 'image')} (truth {truth}) are void everywhere and show"
            " nothing about any model; label other images, or discard these"
        )
    for other in (str(one) for one in _listed(given.get("against"))):
        if not snapshot.knows(snapshot.current(other).models) or labels.is_silent(snapshot, other, truth):
            return (
                f"selection {other} of --against cannot be ranked yet; redraw or label it, or rank without"
                f" --against {other}"
            )
    return gone_file(given, ("benchmark", "ranking"), "rank") or _wrong_benchmark(
        given, snapshot.current(name).models
    )


def _wrong_benchmark(given: JsonObject, models: Sequence[str]) -> str:
    """Return what is wrong with the file of a closed benchmark of these models, and what to do about it, or
    ''.
    """
    if (path := given.get("benchmark")) is None:
        return ""
    try:
        closed = read_benchmark(str(path))
    except RankingError as error:
        return f"{error}; fix the file, or rank without --benchmark"
    lacking = [model for model in models if not math.isfinite(closed.get(model, math.nan))]
    return (
        f"{path} of --benchmark has no score for {lacking[0]!r}; add it, or rank without --benchmark"
        if lacking
        else ""
    )


def _line(snapshot: Snapshot, name: str) -> str:
    if provenance(snapshot, name) is None and selection.is_replaced(snapshot, name):
        return ""
    truth = _truth(snapshot, name)
    if not selection.is_rankable(snapshot, name) or labels.is_short(snapshot, name, truth):
        return ""
    asked = None if truth == labels.LABELS else truth
    options = {
        "selection": None if name == selections.MAIN else name,
        "truth": asked,
        **_options_again(snapshot, name)[0],
    }
    return " ".join([f"faultscape rank {snapshot.place}", *option_words(options)])


STANDINGS = Artefact(
    name="standings",
    verb="rank",
    inputs=("selection", "labels", "discards", "maps"),
    reasons={
        "selection": "the selection was extended or replaced",
        "models": "a model of the selection was renamed or removed",
        "concordance": "the file of the concordance changed",
        "maps": "images or predictions changed",
        "photos": "files of labelled images changed",
        "others": "another selection that affects this ranking was made, changed or removed",
        "added": "models were added or removed",
        "labels": "labels changed",
        "truths": "labels of another truth changed",
        "discards": "images were discarded",
        "groups": "groups of images changed",
        "parents": "groups of classes changed",
        "names": "classes were renamed",
        "rankings": "the file of a ranking changed",
        "benchmark": "the file of the benchmark changed, or is gone",
        METHOD: "an earlier version made them",
        "file": _UNREADABLE,
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda snapshot, name: (
        f"{name}: {selections.path(snapshot.root, name, 'json', stem='standings').name}"
    ),
    line=_line,
    again=again,
    method=METHOD_NUMBER,
)
