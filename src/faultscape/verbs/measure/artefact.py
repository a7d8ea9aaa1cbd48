"""What `measure` wrote into the study: measures/measure.json, against one truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from faultscape.nouns import JsonObject
from faultscape.reading import evidence
from faultscape.reading.artefact import Artefact, Input, Instance, by_method, named
from faultscape.reading.boxes.evidence import box_answers, boxes_key
from faultscape.reading.presence.evidence import presence_key
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.verbs import inputs
from faultscape.verbs.label.artefact import points_wait
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 3  # raised when a metric or an interval is computed differently
POINTS_METHOD_NUMBER = 1  # the same, of measures from points
BOXES_METHOD_NUMBER = 1  # and from boxes
PRESENT_METHOD_NUMBER = 1  # and from the classes present


def _confidence(made: Instance) -> str | None:
    """Return a digest of the confidence of models; parts of images that are set aside do not matter."""
    study = made.study
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
    return inputs.key_if_any({model: parts for model, parts in held.items() if parts})


def _chosen(made: Instance) -> str | None:
    """Return how many measured images selections chose."""
    study = made.study
    if made.truth not in study.truths:
        return None
    return str(evidence.measured_by_choice(study, made.truth, study.drawn, study.discarded) or "") or None


class _Measures(Artefact):
    def instances(self, study: Study) -> list[str]:
        """A table of several data sets does not count as the study's own."""
        held = study.document(self.path(study)) or {}
        return [] if "datasets" in held else [*super().instances(study)]

    def describe(self, study: Study, name: str) -> str:
        truth = self.truth(study)
        return f"against {truth}" if truth else super().describe(study, name)

    def options_again(self, study: Study, _name: str) -> tuple[JsonObject, tuple[str, ...]]:
        """Keep its own truth, to wait for it if it is missing."""
        return {**named(truth=self.truth(study)), **self.options(study)}, ()

    def in_the_way(self, study: Study, name: str, options: Mapping[str, object]) -> str:
        truth = self.truth(study)
        if truth and truth not in study.truths:
            line = f"`faultscape label import {study.place} SOURCE --truth {truth}`"
            return (
                f"truth {truth} no longer has labels; import some with {line}, or measure against another"
                " --truth"
            )
        return super().in_the_way(study, name, options)

    def waits(self, study: Study, _name: str) -> bool:
        return points_wait(study)


MEASURES = _Measures(
    "measures",
    verb="measure",
    follows=("maps", "labels"),
    where="measures/measure.json",
    reads=(
        replace(inputs.MAPS, reason="images, predictions or classes changed"),
        Input("confidence", _confidence, "confidence changed"),
        inputs.MODELS,
        inputs.LABELS,
        inputs.PHOTOS,  # they decide the order of sums and of the bootstrap, and the page shows some
        inputs.COLOURS,
        inputs.GROUPS,
        inputs.NAMES,
        Input("metrics", lambda made: inputs.files_of(made.listed("metric")), "the file of a metric changed"),
        Input("chosen", _chosen, "selections now cover other measured images"),
        by_method(METHOD_NUMBER, "an earlier version made them"),
    ),
    own_files=("metric",),
)


class _PointMeasures(Artefact):
    def instances(self, study: Study) -> list[str]:
        """Return the selections of points that were measured."""
        points = [name for name, made in study.selections.items() if made.slots.points]
        return [name for name in points if self.exists(study, name)]

    def describe(self, study: Study, name: str) -> str:
        return f"from selection {name}, against {self.truth(study, name)}"

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        given = {"selection": name, **named(truth=self.truth(study, name)), **self.options(study, name)}
        return given, ()

    def waits(self, study: Study, _name: str) -> bool:
        return points_wait(study)


POINT_MEASURES = _PointMeasures(
    "point measures",
    verb="measure",
    follows=("selection", "maps", "labels", "discards"),
    where="measures-points/NAME/measure.json",
    reads=(
        replace(inputs.MAPS, reason="images, predictions or classes changed"),
        inputs.MODELS,
        selection.CONTENTS,
        inputs.LABELS,
        Input("discards", lambda made: inputs.discards_key(made.study, None), "images were discarded"),
        Input("boxes", lambda made: inputs.boxes_digest(made.study, made.truth), "boxes changed"),
        inputs.COLOURS,
        inputs.NAMES,
        by_method(POINTS_METHOD_NUMBER, "an earlier version made them"),
    ),
)


class _BoxMeasures(Artefact):
    def instances(self, study: Study) -> list[str]:
        """Return the truths with boxes, once there are models."""
        return box_answers(study).truths() if study.stored_maps else []

    def waits(self, _study: Study, _name: str) -> bool:
        """Bounds decide little, so that all else comes first."""
        return True

    def describe(self, _study: Study, name: str) -> str:
        return f"from boxes of truth {name}"

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        return {"boxes": True, **named(truth=name), **self.options(study, name)}, ()


BOX_MEASURES = _BoxMeasures(
    "box measures",
    verb="measure",
    follows=("maps", "discards"),
    where="measures-boxes/NAME/boxes.json",
    reads=(
        replace(inputs.MAPS, reason="images, predictions or classes changed"),
        inputs.MODELS,
        Input("boxes", lambda made: boxes_key(made.study, made.truth), "boxes or discards changed"),
        inputs.GROUPS,
        inputs.NAMES,
        by_method(BOXES_METHOD_NUMBER, "an earlier version made them"),
    ),
)


class _PresentMeasures(Artefact):
    def instances(self, study: Study) -> list[str]:
        """Return the truths with answers about the classes of images, once there are models."""
        wanted = study.stored_maps and not study.classifies
        return study.answers.truths() if wanted else []

    def waits(self, _study: Study, _name: str) -> bool:
        """Presence says little about where models are wrong, so that all else comes first."""
        return True

    def describe(self, _study: Study, name: str) -> str:
        return f"from classes present of truth {name}"

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        return {"present": True, **named(truth=name), **self.options(study, name)}, ()


PRESENT_MEASURES = _PresentMeasures(
    "present measures",
    verb="measure",
    follows=("maps", "discards"),
    where="measures-present/NAME/measure.json",
    reads=(
        replace(inputs.MAPS, reason="images, predictions or classes changed"),
        inputs.MODELS,
        Input("present", lambda made: presence_key(made.study, made.truth), "answers or discards changed"),
        inputs.LABELS,
        inputs.GROUPS,
        inputs.NAMES,
        by_method(PRESENT_METHOD_NUMBER, "an earlier version made them"),
    ),
)
