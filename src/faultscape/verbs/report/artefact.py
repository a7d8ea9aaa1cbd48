"""The report of a selection: report.html, or report-NAME.html; its head records what it was made from."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Collection
from pathlib import Path

from faultscape.corpus.parquet_rows import row_of
from faultscape.nouns import JsonObject
from faultscape.reading.artefact import (
    METHOD,
    Again,
    Artefact,
    Provenance,
    arguments_of,
    files_key,
    gone_file,
)
from faultscape.reading.pairs import missing, wanted
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.store import is_address
from faultscape.study.tables import selections
from faultscape.terminal_lines import option_words
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank import artefact as standings
from faultscape.verbs.rank.open_selections import open_selections
from faultscape.verbs.reliability import artefact as reliability
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 7  # raised when the page changes
META = "faultscape-made-from"
_HEAD = 65536  # bytes at the beginning that contain the note
_OF_DUELS = (
    ("reference_images", "--reference-images", "images chosen for a class"),
    ("better", "--better", "duels of label maps"),
)


def made_from_now(study: Study, name: str, truth: str, references: str | None = None) -> dict[str, str]:
    """Return what the report of a selection is made from: the selection as it counts now, its labels, the
    standings of all selections, and a folder of ``references``.
    """
    slots = study.selections[name].slots
    hierarchy = slots.definition.get("hierarchy")
    return {
        "models": ",".join(study.models),
        "selection": selection.key(study, name),
        "labels": labels.key(study, truth),
        # for maps, the page shows what each constraint chooses
        "discards": labels.discards_key(study, None if slots.duels else name),
        "photos": study.photos_key({row.image for row in slots.rows}),
        **({"hierarchy": files_key(hierarchy)} if hierarchy else {}),
        "maps": study.drawn_from(study.models),  # all: the page shows how far each pair agrees
        "failures": str(study.failures),
        **({"names": key_of(study.settings.classes.names)} if study.settings.classes.first_names else {}),
        **({"colours": key_of(colours)} if (colours := study.settings.classes.colours) else {}),
        **{
            f"standings of {other}": _of_standings(study, other)
            for other in study.selections
            if standings.key(study, other)
        },
        **({"card": card} if (card := reliability.card_key(study)) else {}),
        **_of_tags(study, {row.image for row in slots.rows}),
        **({"references": files_key(references)} if references else {}),
        METHOD: str(METHOD_NUMBER),
    }


def _of_tags(study: Study, images: set[str]) -> dict[str, str]:
    """Return a digest of what a page shows about kinds of failure, empty if none of its images has a tag;
    their intervals resample whole groups.
    """
    if not (tags := study.tags_key(images)):
        return {}
    return {
        "tags": key_of(
            tags, sorted((image, group) for image, group in study.groups.items() if image in images)
        )
    }


def unshown_images(study: Study, name: str) -> dict[str, str]:
    """Return {id: file} of the images of a selection whose files are missing, or which never had one ('');
    files in a store are not checked.
    """
    wanted = sorted(set(study.selection(name).now.images))
    rows = study.corpus.rows_of(wanted, "id", "source").to_pylist()
    sources = {row["id"]: os.fsdecode(row["source"]) for row in rows}
    files = {
        id_: (row_of(source) or (source, 0))[0] for id_, source in sources.items() if not is_address(source)
    }
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


def _of_standings(study: Study, selection_: str) -> str:
    """Return a digest of standings, and of whether they are done, which the page shows."""
    return key_of(standings.key(study, selection_), standings.are_done(study, selection_))


def truth_shown(study: Study, name: str) -> str:
    """Return the truth whose labels a page shows: the one used for ranking, else the one that counts, or
    ''.
    """
    ranked = str((standings.provenance(study, name) or {}).get("truth", ""))
    return ranked if ranked in study.truths else study.find_truth()


def note(made_from: dict[str, str], arguments: JsonObject) -> str:
    """Return the note in a page's head that records what it was made from."""
    return json.dumps({"inputs": made_from, "arguments": arguments}, ensure_ascii=True)


def read_note(path: Path) -> Provenance | None:
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


def page(study: Study, name: str) -> Path:
    """Return the path of a selection's report."""
    return selections.path(study.root, name, "html", stem="report")


def _instances(study: Study) -> list[str]:
    """Return the selections whose pages are due, and those that have a page. Every ranked selection is due,
    except replaced ones; if none is ranked, main is, or without it the first.
    """
    names = selection.in_order(study)
    due = [
        name
        for name in names
        if standings.provenance(study, name) is not None and not selection.is_replaced(study, name)
    ]
    if not due:
        due = [selections.MAIN if selections.MAIN in names or not names else names[0]]
    return [name for name in names if name in due or page(study, name).exists()] or due


def _made_from(study: Study, name: str) -> dict[str, str] | None:
    path = page(study, name)
    if name not in study.selections or not path.exists():
        return None
    return {str(k): str(v) for k, v in (read_note(path) or {"inputs": {}})["inputs"].items()}


def _made_from_now(study: Study, name: str) -> dict[str, str]:
    if name not in study.selections:
        return {}
    references = arguments(study, name).get("reference_images")
    now = made_from_now(study, name, truth_shown(study, name), str(references) if references else None)
    held = _made_from(study, name) or {}
    if (
        "images" in held
    ):  # check for missing files only if the page could not show some, and of the same images
        same = all(held.get(key) == now.get(key) for key in ("selection", "discards"))
        now |= images_key(unshown_images(study, name)) if same else {"images": held["images"]}
    return now | (uncompared_key(study, name, truth_shown(study, name)) if "compared" in held else {})


def arguments(study: Study, name: str) -> JsonObject:
    """Return the options that were given when a page was made, without defaults."""
    return arguments_of(read_note(page(study, name)) if page(study, name).exists() else None)


def again(study: Study, name: str) -> Again:
    """Return how to remake a page: without options for duels if its selection now has draws."""
    given = dict(arguments(study, name))
    left_out = list[str]()
    if name in study.selections and study.selections[name].slots.draws and not study.settings.classifies:
        left_out = [
            f"{option} is left out: it needs {what}"
            for key, option, what in _OF_DUELS
            if given.pop(key, None)
        ]
    return Again(given, tuple(left_out), gone_file(given, ("reference_images",), "report"))


def _line(study: Study, name: str) -> str:
    if name not in study.selections or not standings.are_done(study, name):
        return ""
    options = {"selection": None if name == selections.MAIN else name, **again(study, name).options}
    return " ".join([f"faultscape report {study.place}", *option_words(options)])


REPORT = Artefact(
    name="report",
    verb="report",
    inputs=("selection", "labels", "discards", "standings"),
    reasons={
        "selection": "the selection was extended or replaced",
        "labels": "labels changed",
        "discards": "images were discarded",
        "models": "models were added, renamed or removed",
        "maps": "images or predictions changed",
        "photos": "images that it shows changed",
        "hierarchy": "the hierarchy of classes changed, or is gone",
        "compared": "labels were compared with the models since",
        "failures": "failures.csv changed",
        "card": "the reliability card changed",
        "tags": "tags of its images changed",
        "names": "classes were renamed",
        "colours": "colours of classes changed",
        "references": "the folder of reference images changed, or is gone",
        "images": "missing image files are back, or others are gone",
        METHOD: "an earlier version made it",
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=lambda study, name: page(study, name).name,
    line=_line,
    again=again,
    waits=lambda study, _name: bool(open_selections(study)),
    method=METHOD_NUMBER,
)
