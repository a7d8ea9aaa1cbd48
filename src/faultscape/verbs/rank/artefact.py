"""The standings of a selection: standings.json, or standings-NAME.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

from faultscape import plug
from faultscape.choices import DistanceKind
from faultscape.errors import RankingError, counted
from faultscape.nouns import JsonObject, Slots
from faultscape.ranking.standings_json import from_json
from faultscape.reading.artefact import Artefact, Input, Instance, by_method, files_key, named, texts
from faultscape.reading.evidence import chosen_by_models
from faultscape.reading.study import Study
from faultscape.selection.definitions import draws_evenly
from faultscape.standings import Standings, is_open
from faultscape.study.parts import key_of
from faultscape.study.tables import selections
from faultscape.study.tables.selections import MAIN
from faultscape.verbs import inputs
from faultscape.verbs.inputs import boxes_digest, discards_key, files_of, key_if_any, labels_key
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank.benchmark import read_benchmark
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 6  # raised when rankings or intervals are computed differently


def _models(made: Instance) -> Sequence[str]:
    return made.study.selection(made.name).now.models


def _concordance(made: Instance) -> str:
    return plug.digest(made.study.selections[made.name].slots.definition.get("concordance", ""))


def _added(made: Instance) -> str:
    """Return the models that the selection lacks, which a note names."""
    return ",".join(model for model in made.study.models if model not in _models(made))


def _counts_all(made: Instance) -> bool:
    """Whether labels of images outside the selection count too."""
    return bool(made.options.get("all_labels"))


def _is_points(made: Instance) -> bool:
    """Whether a selection asks about points, which speak about all images that they were drawn from."""
    return bool(made.study.selections[made.name].slots.points)


def _boxes(made: Instance) -> str | None:
    return boxes_digest(made.study, made.truth) if _is_points(made) else None


def _photos(made: Instance) -> str:
    """Return a key of the images, which decide the order of sums and of the bootstrap."""
    images = {row.image for row in made.study.selections[made.name].slots.rows}
    return made.study.photos_key(None if _counts_all(made) else images)


def _against(made: Instance) -> dict[str, str]:
    return {other: _of_selection(made.study, other) for other in made.listed("against")}


def _of_selection(study: Study, name: str) -> str:
    """Return a key of a selection as it counts now, or '' if there is none of this name."""
    return key_of(selection.key(study, name), discards_key(study, name)) if name in study.selections else ""


def _others(made: Instance) -> str | None:
    """Return what standings of draws depend on in other selections: which of the images these chose, because
    their labels are not random, and even draws, which show how models score where they agree.
    """
    study = made.study
    own = study.selections[made.name].slots
    if not own.draws:
        return None
    drawn_from = study.drawn_from(own.models) if study.knows(own.models) else ""
    found: list[object] = [*sorted(_chosen_elsewhere(study, own))]
    if not draws_evenly(own.definition):  # even draws include images on which models agree
        for other, held in study.selections.items():
            same = held.slots.models == own.models and held.drawn_from == drawn_from
            if same and draws_evenly(held.slots.definition):
                found.append([_of_selection(study, other), sorted(_chosen_elsewhere(study, held.slots))])
    return key_if_any(found)


def _chosen_elsewhere(study: Study, own: Slots) -> set[str]:
    """Return which images of a selection others chose because of the models' predictions."""
    return {row.image for row in own.rows} & chosen_by_models(
        slots for slots in study.drawn if slots is not own
    )


def _other_studies(made: Instance) -> dict[str, str]:
    return {place: _standings_file(Path(place), made.name) for place in made.listed("against_study")}


def _standings_file(root: Path, name: str) -> str:
    """Return a digest of the standings of another study that a selection is compared with, or ''."""
    known = selections.names(root)
    return files_key(
        str(STANDINGS.path(Study(root), name if name in known else selections.the_name(root, MAIN)))
    )


def _benchmark(made: Instance) -> str | None:
    file = made.options.get("benchmark")
    return files_key(str(file)) if file else None


def _distance(made: Instance) -> str | None:
    named = str(made.options.get("distance") or "")
    return files_key(named) if named not in ("", *get_args(DistanceKind)) else None


def _truths(made: Instance) -> str | None:
    """Return a key of the labels of other truths: standings say who leads by each of them."""
    study = made.study
    return key_if_any(sorted((of, labels_key(study, of)) for of in study.truths if of != made.truth))


def is_by_chance(study: Study, name: str) -> bool:
    """Whether the images, or points, of a selection were drawn at random."""
    # ranking loads scipy, which `status` rarely needs
    from faultscape.ranking.catalogue import CHANCE, POINTS, chosen_by

    return chosen_by(study.selections[name].slots.rows) in (CHANCE, POINTS)


def key(study: Study, name: str) -> str:
    """Return a digest of what the standings of a selection were made from, and with which options, or ''."""
    held = STANDINGS.record(study, name)
    return "" if held is None else key_of(held)


def open_questions(study: Study, name: str) -> tuple[str, ...]:
    """Return which of the questions "best" and "order" the standings of a selection leave open; none if they
    are not done.
    """
    found = STANDINGS.table(study, name) if STANDINGS.is_done(study, name) else None
    return tuple(question for question in ("best", "order") if found is not None and is_open(found, question))


def _is_to_be_ranked(study: Study, name: str) -> bool:
    """Whether a selection exists that can be ranked, or redrawn so that it can."""
    there = name in study.selections
    return there and (
        study.knows(study.selection(name).now.models) or not selection.is_superseded(study, name)
    )


def _wrong_benchmark(given: Mapping[str, object], models: Sequence[str]) -> str:
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


class _Standings(Artefact):
    def instances(self, study: Study) -> list[str]:
        """Return the selections that have standings, or should; replaced selections need none."""
        return [
            name
            for name in selection.in_order(study)
            if not selection.is_replaced(study, name) or self.exists(study, name)
        ]

    def table(self, study: Study, name: str) -> Standings | None:
        """Return the standings of a selection; None if there are none, or these cannot be read."""
        which = "standings", name
        if which not in study.computed:  # many artefacts depend on them, and reading them whole takes long
            held = study.document(self.path(study, name))
            study.computed[which] = None
            with suppress(RankingError):
                study.computed[which] = from_json(held) if held is not None else None
        return study.computed[which]

    def read(self, study: Study, name: str) -> JsonObject | None:
        return super().read(study, name) if self.table(study, name) is not None else None

    def made_from_now(self, study: Study, name: str = "") -> dict[str, str]:
        held = self.made_from(study, name)
        if held and not study.knows(study.selection(name).now.models):
            return {**held, "models": "removed"}
        return super().made_from_now(study, name)

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        given = dict(self.options(study, name))
        left_out = list[str]()
        against = texts(given.get("against"))
        if gone := [other for other in against if not _is_to_be_ranked(study, other)]:
            given["against"] = [other for other in against if other not in gone] or None
            left_out += [f"selection {other} of --against is gone and is left out" for other in gone]
        if "population" in given and not is_by_chance(study, name):
            del given["population"]
            left_out.append("--population is left out: it applies only to images drawn at random")
        return {**named(name, self.truth_again(study, name)), **given}, tuple(left_out)

    def truth_again(self, study: Study, name: str) -> str:
        """Return the truth that a selection was ranked by, if it exists, else the one that counts."""
        ranked_by = self.truth(study, name)
        return ranked_by if ranked_by in study.truths else study.truth_of(name)

    def in_the_way(self, study: Study, name: str, options: Mapping[str, object]) -> str:
        """Return what prevents ranking a selection with these options, and what to do about it; '' if nothing
        does, or something else comes first: labels, or its own command.
        """
        truth = str(options.get("truth") or self.truth_again(study, name))
        if not selection.is_rankable(study, name):
            return ""
        now = study.selection(name).now
        if not now.asked:
            back = (
                f"`faultscape label remove {study.place} --selection {name} --discards` takes the discards"
                " back"
            )
            return (
                f"all its images are discarded; {back}, `faultscape select {study.place} --remove {name}`"
                " removes it"
            )
        if labels.is_short(study, name, truth):
            return ""
        if labels.are_void(study, name, truth):
            return (
                f"the labels of its {counted(now.asked, 'image')} (truth {truth}) are void everywhere and"
                " show nothing about any model; label other images, or discard these"
            )
        for other in texts(options.get("against")):
            if not study.knows(study.selection(other).now.models) or labels.is_silent(study, other, truth):
                return (
                    f"selection {other} of --against cannot be ranked yet; redraw or label it, or rank"
                    f" without --against {other}"
                )
        models = study.selection(name).now.models
        return super().in_the_way(study, name, options) or _wrong_benchmark(options, models)

    def is_later(self, study: Study, name: str) -> bool:
        return (
            (self.record(study, name) is None and selection.is_replaced(study, name))
            or not selection.is_rankable(study, name)
            or labels.is_short(study, name, self.truth_again(study, name))
        )


STANDINGS = _Standings(
    "standings",
    verb="rank",
    follows=("selection", "labels", "discards", "maps"),
    where="standings-NAME.json",
    reads=(
        Input(
            "models", lambda made: ",".join(_models(made)), "a model of the selection was renamed or removed"
        ),
        selection.CONTENTS,
        Input("concordance", _concordance, "the file of the concordance changed"),
        Input("maps", lambda made: made.study.drawn_from(_models(made)), "images or predictions changed"),
        Input("added", _added, "models were added or removed"),
        inputs.LABELS,
        Input(
            "discards",
            lambda made: discards_key(
                made.study, None if _counts_all(made) or _is_points(made) else made.name
            ),
            "images were discarded",
        ),
        Input("boxes", _boxes, "boxes changed"),
        Input("photos", _photos, "files of labelled images changed"),
        Input("others", _others, "another selection that affects this ranking was made, changed or removed"),
        inputs.GROUPS,
        Input(
            "parents",
            lambda made: key_if_any(made.study.settings.classes.counted_parents),
            "groups of classes changed",
        ),
        Input("selection", _against),
        Input("standings of", _other_studies),
        Input("rankings", lambda made: files_of(made.listed("ranking")), "the file of a ranking changed"),
        Input("distance", _distance, "the file of distances changed, or is gone"),
        Input("benchmark", _benchmark, "the file of the benchmark changed, or is gone"),
        Input("truths", _truths, "labels of another truth changed"),
        # standings name the class on which the leading model fails
        inputs.NAMES,
        by_method(METHOD_NUMBER, "an earlier version made them"),
    ),
    own_files=("benchmark", "ranking", "distance", "against_study"),
)
