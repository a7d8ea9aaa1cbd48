"""The standings of a selection: standings.json, or standings-NAME.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

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
from faultscape.reading.study import Study
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
    study: Study,
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
    slots = study.selections[name].slots
    models = study.selection(name).now.models
    images = {row.image for row in slots.rows}
    # standings say who leads by each of them
    truths = {other: labels.key(study, other) for other in study.truths if other != truth}
    return {
        "models": ",".join(models),
        "selection": selection.key(study, name),
        "concordance": plug.digest(slots.definition.get("concordance", "")),
        "maps": study.drawn_from(models),
        # a note names them
        "added": ",".join(model for model in study.models if model not in models),
        "labels": labels.key(study, truth),
        "discards": labels.discards_key(study, None if all_labels else name),
        # images decide the order of sums and of the bootstrap
        "photos": study.photos_key(None if all_labels else images),
        **_others(study, name),
        **({"groups": key_of(sorted(study.groups.items()))} if study.groups else {}),
        **({"parents": key_of(parents)} if (parents := study.settings.classes.counted_parents) else {}),
        **{f"selection {other}": _of_selection(study, other) for other in against},
        **({"rankings": key_of([(source, plug.digest(source)) for source in ranking])} if ranking else {}),
        **({"benchmark": files_key(benchmark)} if benchmark else {}),
        **({"truths": key_of(sorted(truths.items()))} if truths else {}),
        # standings name the class on which the leading model fails
        **({"names": key_of(study.settings.classes.names)} if study.settings.classes.first_names else {}),
        METHOD: str(METHOD_NUMBER),
    }


def _of_selection(study: Study, name: str) -> str:
    """Return a key of a selection as it counts now, or '' if there is none of this name."""
    return (
        key_of(selection.key(study, name), labels.discards_key(study, name))
        if name in study.selections
        else ""
    )


def _others(study: Study, name: str) -> dict[str, str]:
    """Return what standings of draws depend on in other selections: which of the images these chose, because
    their labels are not random, and even draws, which show how models score where they agree.
    """
    own = study.selections[name].slots
    if not own.draws:
        return {}
    drawn_from = study.drawn_from(own.models) if study.knows(own.models) else ""
    found: list[object] = [*sorted(_chosen_elsewhere(study, own))]
    if not draws_evenly(own.definition):  # even draws include images on which models agree
        for other, made in study.selections.items():
            same = made.slots.models == own.models and made.drawn_from == drawn_from
            if same and draws_evenly(made.slots.definition):
                found.append([_of_selection(study, other), sorted(_chosen_elsewhere(study, made.slots))])
    return {"others": key_of(found)} if found else {}


def _chosen_elsewhere(study: Study, own: Slots) -> set[str]:
    """Return which images of a selection others chose because of the models' predictions."""
    return {row.image for row in own.rows} & chosen_by_models(
        slots for slots in study.drawn if slots is not own
    )


def is_by_chance(study: Study, name: str) -> bool:
    """Whether the images of a selection were drawn at random."""
    # ranking loads scipy, which `status` rarely needs
    from faultscape.ranking.catalogue import CHANCE, chosen_by

    return chosen_by(study.selections[name].slots.rows) == CHANCE


# of each study that is looked at: a dozen artefacts depend on standings, and reading these whole takes long
_PROVENANCES = WeakKeyDictionary["Study", "dict[str, Provenance | None]"]()


def provenance(study: Study, name: str) -> Provenance | None:
    """Return what the standings of a selection record about how they were made; None if there are none, or
    these cannot be read.
    """
    found = _PROVENANCES.setdefault(study, {})
    if name not in found:
        from faultscape.ranking.standings_json import is_whole

        held = study.document(selections.path(study.root, name, "json", stem="standings"))
        found[name] = provenance_of(held) if held is not None and is_whole(held) else None
    return found[name]


def key(study: Study, name: str) -> str:
    """Return a digest of what the standings of a selection were made from, and with which options, or ''."""
    held = provenance(study, name)
    return "" if held is None else key_of(held)


def _instances(study: Study) -> list[str]:
    """Return the selections that have standings, or should; replaced selections need none."""
    return [
        name
        for name in selection.in_order(study)
        if not selection.is_replaced(study, name) or _made_from(study, name) is not None
    ]


def _made_from(study: Study, name: str) -> dict[str, str] | None:
    if not selections.path(study.root, name, "json", stem="standings").exists():
        return None
    held = provenance(study, name)
    return {"file": "damaged"} if held is None else {str(k): str(v) for k, v in held["inputs"].items()}


def _made_from_now(study: Study, name: str) -> dict[str, str]:
    if (held := provenance(study, name)) is None:
        return {}
    if not study.knows(study.selection(name).now.models):
        return {**held["inputs"], "models": "removed"}
    given = arguments_of(held)
    against, ranking = ([str(one) for one in _listed(given.get(key))] for key in ("against", "ranking"))
    closed = given.get("benchmark")
    closed_file = None if closed is None else str(closed)
    all_labels = bool(given.get("all_labels"))
    truth = str(held.get("truth", "labels"))
    return made_from_now(study, name, truth, against, ranking, closed_file, all_labels)


def _listed(held: Json) -> Sequence[Json]:
    return held if isinstance(held, list) else ()


def are_done(study: Study, name: str) -> bool:
    """Whether the standings of a selection exist and follow from the current study."""
    held = _made_from(study, name)
    return held is not None and held == _made_from_now(study, name)


def open_questions(study: Study, name: str) -> tuple[str, ...]:
    """Return which of the questions "best" and "order" the standings of a selection leave open; none if they
    are not done.
    """
    if not are_done(study, name):
        return ()
    from faultscape.ranking.duel_standings import from_json

    held = study.document(selections.path(study.root, name, "json", stem="standings"))
    found = from_json(held) if held is not None else None
    return tuple(question for question in ("best", "order") if found is not None and is_open(found, question))


def again(study: Study, name: str, truth: str = "") -> Again:
    """Return how to remake standings by a ``truth``, or by the one they were made with."""
    given, left_out = _options_again(study, name)
    # its own command, or what is in the way, comes first
    stale = not selection.is_rankable(study, name)
    return Again(
        given, left_out, "" if stale else _in_the_way(study, name, given, truth or _truth(study, name))
    )


def _options_again(study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the recorded options that still apply, and a text about the others."""
    given = dict(arguments_of(provenance(study, name)))
    left_out = list[str]()
    against = [str(other) for other in _listed(given.get("against"))]
    if gone := [other for other in against if not _is_to_be_ranked(study, other)]:
        given["against"] = [other for other in against if other not in gone] or None
        left_out += [f"selection {other} of --against is gone and is left out" for other in gone]
    if "population" in given and not is_by_chance(study, name):
        del given["population"]
        left_out.append("--population is left out: it applies only to images drawn at random")
    return given, tuple(left_out)


def _is_to_be_ranked(study: Study, name: str) -> bool:
    """Whether a selection exists that can be ranked, or redrawn so that it can."""
    there = name in study.selections
    return there and (
        study.knows(study.selection(name).now.models) or not selection.is_superseded(study, name)
    )


def _truth(study: Study, name: str) -> str:
    """Return the truth that a selection was ranked by, if it exists, else the one that counts."""
    ranked_by = str((provenance(study, name) or {}).get("truth", ""))
    return ranked_by if ranked_by in study.truths else study.likely_truth


def _in_the_way(study: Study, name: str, given: JsonObject, truth: str) -> str:
    """Return what prevents ranking a selection with these options, and what to do about it; '' if nothing
    does, or only labels are missing, which have their own line.
    """
    if not (images := study.selection(name).now.images):
        back = (
            f"`faultscape label remove {study.place} --selection {name} --discards` takes the discards back"
        )
        return (
            f"all its images are discarded; {back}, `faultscape select {study.place} --remove {name}`"
            " removes it"
        )
    if labels.is_short(study, name, truth):
        return ""
    if labels.are_void(study, name, truth):
        return (
            f"the labels of its {counted(len(images), 'image')} (truth {truth}) are void everywhere and show"
            " nothing about any model; label other images, or discard these"
        )
    for other in (str(one) for one in _listed(given.get("against"))):
        if not study.knows(study.selection(other).now.models) or labels.is_silent(study, other, truth):
            return (
                f"selection {other} of --against cannot be ranked yet; redraw or label it, or rank without"
                f" --against {other}"
            )
    return gone_file(given, ("benchmark", "ranking"), "rank") or _wrong_benchmark(
        given, study.selection(name).now.models
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


def _line(study: Study, name: str) -> str:
    if provenance(study, name) is None and selection.is_replaced(study, name):
        return ""
    truth = _truth(study, name)
    if not selection.is_rankable(study, name) or labels.is_short(study, name, truth):
        return ""
    asked = None if truth == labels.LABELS else truth
    options = {
        "selection": None if name == selections.MAIN else name,
        "truth": asked,
        **_options_again(study, name)[0],
    }
    return " ".join([f"faultscape rank {study.place}", *option_words(options)])


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
    describe=lambda study, name: (
        f"{name}: {selections.path(study.root, name, 'json', stem='standings').name}"
    ),
    line=_line,
    again=again,
    method=METHOD_NUMBER,
)
