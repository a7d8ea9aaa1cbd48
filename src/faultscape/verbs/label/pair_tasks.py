"""Which of two models' maps is better, asked in an external tool: images and tasks are exported, choices
imported.

Conventions: each file is the image with a map overlaid, under a name that does not reveal the model; the seed
decides which model is on the left. A task's id changes with its maps, so that choices about outdated maps are
recognised and left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import LabellingError
from faultscape.formats import png
from faultscape.formats.label_tools.label_studio_choices import PairAnswer, PairTask
from faultscape.labelling.catalogue import PairFormat
from faultscape.labelling.format_calls import checked_files, plain_errors
from faultscape.maps import runs
from faultscape.maps.paint import palette
from faultscape.maps.resize import nearest
from faultscape.progress import progress
from faultscape.reading import evidence
from faultscape.reading.choices import digests
from faultscape.reading.label_counts import ChoiceItem, choice_items, item_id, second_is_left
from faultscape.study.answers.choices import Choice, Choices, question_of
from faultscape.study.answers.labels import Answers
from faultscape.study.folder import put
from faultscape.study.lock import writing
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, read_corpus
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.options import ExportOptions, ImportOptions
from faultscape.verbs.label.result import ChoicesTaken, Exported, import_line, returned_to, steps_text

_WORDS = {"left": "first", "right": "second"}  # answers, if the first model is on the left
_STRENGTH = 0.6  # opacity of a map over its image


def export(root: Path, study: str, options: ExportOptions, form: PairFormat) -> Exported:
    """Write the choices between two models that a selection asks for and that no one has made yet;
    LabellingError if it asks for none.
    """
    settings, folder, truth = read_settings(root), Path(options.out), options.truth or evidence.LABELS
    slots = evidence.current(root, options.selection, Answers(root).discarded())
    images = {image.id: image for image in read_corpus(root)}
    wanted = [item for item in choice_items(slots) if item.image in images]
    if not wanted:
        raise LabellingError(
            f"selection {options.selection!r} has no duels of two models, so there is nothing to choose"
            " between"
        )
    asked = {(one.image, one.models) for one in map(question_of, Choices(root).choices(truth))}
    shown = digests(root, settings.models, [item.image for item in wanted])
    todo = [
        item
        for item in wanted
        if (item.image, (item.first, item.second)) not in asked
        and {(item.first, item.image), (item.second, item.image)} <= shown.keys()
    ]
    then = import_line(study, returned_to(options.out, form.returned), truth, options.format)
    if todo:
        with progress("export", len(todo)) as tick:

            def tasks() -> Iterator[PairTask]:
                for item in todo:
                    yield _task(
                        root,
                        settings,
                        folder,
                        item,
                        images[item.image],
                        (shown[item.first, item.image], shown[item.second, item.image]),
                    )
                    tick(1)

            for path, data in checked_files(form, folder, lambda: form.write(folder, tasks())):
                if path.exists() and path.read_bytes() != data:
                    raise LabellingError(
                        f"{path}: already exists with other contents and is never overwritten; give another"
                        " folder"
                    )
                put(path, data)
    steps = steps_text(form.says, options.out, form.returned)
    made = len(wanted) - len(todo)
    return Exported(options.out, len(todo), form.name, "", made, then, steps, what="choice")


def import_(root: Path, options: ImportOptions, form: PairFormat, files: Sequence[Path]) -> ChoicesTaken:
    """Import the choices from a tool's files; LabellingError if none can be used."""
    with writing(root):
        settings = read_settings(root)
        ids = {image.id for image in read_corpus(root)}
        answers, wrong = list[PairAnswer](), list[tuple[str, str]]()
        for file in files:
            with plain_errors(form, file):
                rows, sentences = form.read(file)
            answers += rows
            wrong += [("", sentence) for sentence in sentences]
        shown = digests(root, settings.models, [one.image for one in answers if one.image in ids])
        choices = []
        for one in answers:
            if why := _wrong(one, ids, settings, shown):
                wrong.append((one.image, f"{one.where}: {why}"))
                continue
            now = (
                (shown.get((one.left, one.image), ""), shown.get((one.right, one.image), ""))
                if one.id
                else ("", "")
            )
            seconds = None if math.isnan(one.seconds) else one.seconds
            chosen = _WORDS.get(one.choice, one.choice)
            choices.append(
                Choice(
                    one.image,
                    one.left,
                    one.right,
                    chosen,
                    one.annotator or "somebody",
                    *now,
                    "first",
                    0,
                    seconds,
                    options.truth,
                )
            )
        failures = [Failure("label", options.truth, image, why) for image, why in wrong]
        replace_failures(
            root,
            "label",
            options.truth,
            [f for f in read_failures(root) if (f.stage, f.name) != ("label", options.truth)] + failures,
        )
        if not choices:
            raise LabellingError(
                f"{options.source}: no choice could be used;"
                f" {f'the first: {wrong[0][1]}' if wrong else 'it has no choices yet'}"
            )
        new = Choices(root).add_all(choices, options.source)
        log_import(root, options.source, truth=options.truth)
    return ChoicesTaken(
        options.truth,
        new,
        len({one.annotator for one in choices}),
        len(failures),
        failures[0].reason if failures else "",
    )


def _wrong(one: PairAnswer, images: set[str], settings: Settings, shown: dict[tuple[str, str], str]) -> str:
    """Return what is wrong with a choice, or ''."""
    if one.image not in images:
        return f"{one.image[:80]!r} is not an image of the study"
    if lost := next((model for model in (one.left, one.right) if model not in settings.models), ""):
        return f"{lost[:80]!r} is not a model of the study"
    first, second = sorted((one.left, one.right))
    now = _id(
        one.image, first, second, (shown.get((first, one.image), ""), shown.get((second, one.image), ""))
    )
    return "one of its maps was remade since; export the task again" if one.id and one.id != now else ""


def _id(image: str, first: str, second: str, shown: tuple[str, str]) -> str:
    return item_id(image, first, second, *shown)


def _task(
    root: Path, settings: Settings, folder: Path, item: ChoiceItem, image: Image, shown: tuple[str, str]
) -> PairTask:
    """Write the images of one task, and return it."""
    id_ = _id(item.image, item.first, item.second, shown)
    names = (f"pairs/{id_}-a.png", f"pairs/{id_}-b.png")
    swapped = second_is_left(id_)
    rgb = read_photo(image)[0]
    for name, model in zip(
        names, (item.second, item.first) if swapped else (item.first, item.second), strict=True
    ):
        if not (folder / name).exists():
            code = label_maps.read_maps(label_maps.predictions(root, model), image.shard)[item.image]
            places = nearest(
                runs.decode(code, narrow(table(settings.class_list, settings.models[model].labels))),
                (image.width, image.height),
            )
            put(folder / name, png.encode_pixels(_over(rgb, places, palette(settings.class_list))))
    return PairTask(
        id_, item.image, (item.first, item.second), (names[1], names[0]) if swapped else names, swapped
    )


def _over(rgb: np.ndarray, places: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Return an image (H, W, 3) overlaid with a map of places; void shows the plain image."""
    known = (places < len(colours) - 1)[..., None]
    painted = colours[np.minimum(places, len(colours) - 1)].astype(np.float32)
    return np.where(known, (1 - _STRENGTH) * rgb + _STRENGTH * painted, rgb).astype(np.uint8)
