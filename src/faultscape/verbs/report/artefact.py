"""The report of a selection: report.html, or report-NAME.html; its head records what it was made from."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Collection
from pathlib import Path

from faultscape.formats.packed.places import file_of
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import Artefact, Input, Instance, by_method, files_key, named
from faultscape.reading.pairs import missing, wanted
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.store import is_address
from faultscape.study.tables import selections
from faultscape.verbs import inputs
from faultscape.verbs.label.artefact import points_wait
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.rank.artefact import key as key_of_standings
from faultscape.verbs.rank.open_selections import open_selections
from faultscape.verbs.reliability.artefact import card_key
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 7  # raised when the page changes
META = "faultscape-made-from"
_HEAD = 65536  # bytes at the beginning that contain the note
_OF_DUELS = (
    ("reference_images", "--reference-images", "images chosen for a class"),
    ("better", "--better", "duels of label maps"),
)


def _images(made: Instance) -> set[str]:
    return {row.image for row in made.study.selections[made.name].slots.rows}


def _discards(made: Instance) -> str:
    """Return a digest of discards: of duels, the page shows what each constraint chooses among all images."""
    slots = made.study.selections[made.name].slots
    of_all = slots.duels or slots.points  # points speak about all images
    return inputs.discards_key(made.study, None if of_all else made.name)


def _hierarchy(made: Instance) -> str | None:
    file = made.study.selections[made.name].slots.definition.get("hierarchy")
    return files_key(file) if file else None


def _standings(made: Instance) -> dict[str, str]:
    """Return digests of all standings, and of whether they are done, which the page shows."""
    study = made.study
    return {
        of: key_of(key, STANDINGS.is_done(study, of))
        for of in study.selections
        if (key := key_of_standings(study, of))
    }


def _tags(made: Instance) -> str | None:
    """Return a digest of what a page shows about kinds of failure; None if none of its images has a tag.
    Their intervals resample whole groups.
    """
    images = _images(made)
    if not (tags := made.study.tags_key(images)):
        return None
    return key_of(
        tags, sorted((image, group) for image, group in made.study.groups.items() if image in images)
    )


def _references(made: Instance) -> str | None:
    folder = made.options.get("reference_images")
    return files_key(str(folder)) if folder else None


def unshown_images(study: Study, name: str) -> dict[str, str]:
    """Return {id: file} of the images of a selection whose files are missing, or which never had one ('');
    files in a store are not checked.
    """
    wanted = sorted(set(study.selection(name).now.images))
    images = study.corpus.images(wanted)
    files = {image.id: file_of(image.source) for image in images if not is_address(image.source)}
    return {id_: files[id_] for id_ in wanted if id_ in files and not os.path.isfile(files[id_])}


def images_key(unshown: Collection[str]) -> dict[str, str]:
    """Return a digest of what a page shows about missing images, empty if there are none."""
    return {"images": key_of(list(unshown))} if unshown else {}


def uncompared_key(study: Study, name: str, truth: str) -> dict[str, str]:
    """Return a digest of what a page shows about labels that have not been compared with the models yet,
    empty if there are none.
    """
    if study.settings.classifies or truth not in study.truths:
        return {}
    models = study.selections[name].slots.models
    parts = wanted(study, sorted(study.shard_sizes), [truth])
    return (
        {"compared": "not yet"} if missing(study, [p for p in parts if p.truth and p.name in models]) else {}
    )


def truth_shown(study: Study, name: str) -> str:
    """Return the truth whose labels a page shows: the one used for ranking, else the one that counts, or
    ''.
    """
    ranked = STANDINGS.truth(study, name)
    return ranked if ranked in study.truths else study.find_truth()


def note(made_from: dict[str, str], arguments: JsonObject) -> str:
    """Return the note in a page's head that records what it was made from."""
    return json.dumps({"inputs": made_from, "arguments": arguments}, ensure_ascii=True)


def read_note(path: Path) -> JsonObject | None:
    """Return what a page records about how it was made, or None."""
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace")
    if (found := re.search(rf'<meta name="{META}" content="([^"]*)">', head)) is None:
        return None
    try:
        held = json.loads(html.unescape(found[1]))
        return held if isinstance(held["inputs"], dict) else None
    except (ValueError, KeyError, TypeError):
        return None


def _missing(made: Instance) -> str | None:
    """Return a digest of the missing files; they are looked for only if the page could not show some of the
    same images.
    """
    held = made.recorded
    if "images" not in held:
        return None
    if (held.get("selection"), held.get("discards")) != (
        selection.key(made.study, made.name),
        _discards(made),
    ):
        return str(held["images"])
    return images_key(unshown_images(made.study, made.name)).get("images")


def _uncompared(made: Instance) -> str | None:
    if "compared" not in made.recorded:
        return None
    return uncompared_key(made.study, made.name, made.truth).get("compared")


class _Report(Artefact):
    def instances(self, study: Study) -> list[str]:
        """Return the selections whose pages are due, and those that have a page. Every ranked selection is
        due, except replaced ones; if none is ranked, main is, or without it the first.
        """
        names = selection.in_order(study)
        due = [
            name
            for name in names
            if STANDINGS.record(study, name) is not None and not selection.is_replaced(study, name)
        ]
        if not due:
            due = [selections.MAIN if selections.MAIN in names or not names else names[0]]
        return [name for name in names if name in due or self.path(study, name).exists()] or due

    def exists(self, study: Study, name: str) -> bool:
        return name in study.selections and self.path(study, name).exists()

    def read(self, study: Study, name: str) -> JsonObject:
        """Return what the page's head records; a page without it was made by an earlier version."""
        return {**(read_note(self.path(study, name)) or {"inputs": {}}), "truth": truth_shown(study, name)}

    def describe(self, study: Study, name: str) -> str:
        return self.path(study, name).name

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        """Leave out options for duels if its selection now has draws."""
        given = dict(self.options(study, name))
        left_out = list[str]()
        if name in study.selections and study.selections[name].slots.draws and not study.settings.classifies:
            left_out = [
                f"{option} is left out: it needs {what}"
                for key, option, what in _OF_DUELS
                if given.pop(key, None)
            ]
        return {**named(name), **given}, tuple(left_out)

    def is_later(self, study: Study, name: str) -> bool:
        return name not in study.selections or not STANDINGS.is_done(study, name)

    def waits(self, study: Study, _name: str) -> bool:
        return bool(open_selections(study)) or points_wait(study)


REPORT = _Report(
    "report",
    verb="report",
    follows=("selection", "labels", "discards", "standings"),
    where="report-NAME.html",
    reads=(
        inputs.MODELS,
        selection.CONTENTS,
        inputs.LABELS,
        Input("discards", _discards, "images were discarded"),
        Input("photos", lambda made: made.study.photos_key(_images(made)), "images that it shows changed"),
        Input("hierarchy", _hierarchy, "the hierarchy of classes changed, or is gone"),
        inputs.MAPS,  # of all models: the page shows how far each pair agrees
        Input("failures", lambda made: str(made.study.failures), "failures.csv changed"),
        inputs.NAMES,
        inputs.COLOURS,
        Input("standings of", _standings),
        Input("card", lambda made: card_key(made.study), "the reliability card changed"),
        Input("tags", _tags, "tags of its images changed"),
        Input("references", _references, "the folder of reference images changed, or is gone"),
        by_method(METHOD_NUMBER, "an earlier version made it"),
        Input("images", _missing, "missing image files are back, or others are gone"),
        Input("compared", _uncompared, "labels were compared with the models since"),
    ),
    own_files=("reference_images",),
)
