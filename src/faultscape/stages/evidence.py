"""What the labels of a study say of its models: concordances of label maps with a truth, or which classifier is right.

Conventions: images are in corpus order, models in the order asked for; (J, I), large = good, NaN where a model has no answer or a label does not decide. Discarded
images are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import counted

LABELS = "labels"  # the truth beside which people's answers to questions count


def scores(
    root: Path, models: tuple[str, ...], truth: str, definition: dict[str, Any], discarded: Collection[str] = ()
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images and (J, I) what each model is worth on them: concordance with the truth, or of classifiers 1 where right and 0 where wrong."""
    from faultscape.study.settings import read_settings

    if read_settings(root).classifies:
        return correctness(root, models, truth, discarded)[:2]
    return accuracies(root, models, truth, definition, discarded)


def accuracies(
    root: Path, models: tuple[str, ...], truth: str, definition: dict[str, Any], discarded: Collection[str] = ()
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images in corpus order and (J, I) each model's concordance with the truth on them."""
    from faultscape.comparison import concordance
    from faultscape.stages.compare.counts import read_block
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.corpus import read_corpus, shards

    settings = read_settings(root)
    images: list[str] = []
    blocks = []
    for number, rows in shards(read_corpus(root)).items():
        labelled = label_maps.read_maps(label_maps.truth(root, truth), number)
        at = [k for k, image in enumerate(rows) if image.id in labelled and image.id not in discarded]
        if at:
            pairs = read_block(root, settings, rows, models, [truth])
            blocks.append(concordance.accuracies(pairs, definition["concordance"], over=definition["over"], truth=truth)[:, at])
            images += [rows[k].id for k in at]
    return images, np.concatenate(blocks, axis=1) if blocks else np.zeros((len(models), 0))


def correctness(
    root: Path, models: Sequence[str], truth: str, discarded: Collection[str] = ()
) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the labelled images, (J, I) 1 where a classifier is right, 0 where it is wrong, NaN where nothing said decides, and what to say of the labels.

    A set of labels decides for every model. Of answers to questions, "yes" decides for the models that said this class, "no" against them; a tie decides nothing.
    """
    from faultscape.labelling.answers import majority
    from faultscape.stages.compare.answers import read_label_sets, read_predictions
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import read_corpus

    settings = read_settings(root)
    verdicts = majority(Answers(root).answers()) if truth == LABELS else {}
    place = {name: k for k, name in enumerate(settings.classes.names)}
    answered = {image for image, _ in verdicts}
    everything = [image.id for image in read_corpus(root) if image.id not in discarded]
    held = truth in label_maps.truths(root)
    sets = read_label_sets(root, settings, truth, everything) if held else [None] * len(everything)
    known = [k for k, (id_, labels) in enumerate(zip(everything, sets, strict=True)) if labels is not None or id_ in answered]
    images = [everything[k] for k in known]
    said = read_predictions(root, settings, models, images)
    correct = np.full(said.labels.shape, np.nan)
    for column, (id_, k) in enumerate(zip(images, known, strict=True)):
        labels = said.labels[:, column]
        if (full := sets[k]) is not None:
            correct[:, column] = np.isin(labels, list(full))
        else:
            for label in set(labels.tolist()) - {-1}:
                verdict = verdicts.get((id_, settings.classes.names[label]))
                correct[labels == label, column] = np.nan if verdict is None else float(verdict)
        correct[labels < 0, column] = np.nan
    ties = sum(verdict is None for (_, class_), verdict in verdicts.items() if class_ in place)
    notes = (
        [f"{counted(ties, 'question stands', 'questions stand')} at a tie, or everybody was unsure: nothing is decided by that"]
        if ties
        else []
    )
    return images, correct, notes


def truth_key(root: Path, truth: str) -> str:
    """Return a key of all labels of a truth, and of the answers that count beside it."""
    from faultscape.study.parts import key_of, read_manifest
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.answers import Answers

    labels = [(name, part.sha256) for name, part in sorted(read_manifest(label_maps.truth(root, truth)).items())]
    answers = Answers(root).answers() if truth == LABELS and read_settings(root).classifies else []
    return key_of(labels, answers) if answers else key_of(labels)


def truths(root: Path) -> list[str]:
    """Return the names under which labels are kept; answers to questions count as labels."""
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.answers import Answers

    known = label_maps.truths(root)
    if LABELS not in known and read_settings(root).classifies and Answers(root).answers():
        return sorted([*known, LABELS])
    return known


def undecidable(root: Path, models: Sequence[str], truth: str) -> set[str]:
    """Return the images of which every class that a model names was asked about, and an answer stands at a tie: nothing more is to come, unless it is asked again."""
    from faultscape.labelling.answers import majority
    from faultscape.stages.compare.answers import read_predictions
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.answers import Answers

    settings = read_settings(root)
    if not settings.classifies or truth != LABELS:
        return set()
    verdicts = majority(Answers(root).answers())
    images = list(dict.fromkeys(image for (image, _), verdict in verdicts.items() if verdict is None))
    said = read_predictions(root, settings, models, images).labels
    names = settings.classes.names
    return {
        image
        for image, labels in zip(images, said.T.tolist(), strict=True)
        if all((image, names[label]) in verdicts for label in labels if label >= 0)
    }


def measured_by_choice(root: Path, images: Sequence[str]) -> int:
    """Return how many of the images with a truth a selection chose for what models say of them.

    0 where no choice decided which images have a truth: it covers the whole pool, or random selections that are labelled whole.
    """
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import pool, read_corpus

    there, discarded = set(images), set(Answers(root).discarded())
    if not (chosen := chosen_elsewhere(root, "") & there):
        return 0
    if all(image.id in there or image.id in discarded for image in pool(read_corpus(root))):
        return 0
    drawn = [selections.read_selection(root, name)[0] for name in selections.names(root)]
    random = [set(slots.images) for slots in drawn if slots.definition.get("selector") == "random"]
    whole = [own for own in random if own - discarded <= there]
    return 0 if there <= set().union(*whole) else len(chosen)


def chosen_elsewhere(root: Path, selection: str) -> set[str]:
    """Return the images that other selections of the study chose for what models say of them: all but random draws."""
    from faultscape.study.tables import selections

    out: set[str] = set()
    for name in selections.names(root):
        if name != selection:
            slots = selections.read_selection(root, name)[0]
            out |= set() if slots.definition.get("selector") == "random" else {row.image for row in slots.rows}
    return out


def current(root: Path, selection: str, discarded: Any) -> Any:
    """Return a selection as it counts now: without the images that were discarded or left the corpus, spares moved up."""
    from faultscape.selection.spares import effective
    from faultscape.study.tables.corpus import read_ids
    from faultscape.study.tables.selections import read_selection

    slots, _ = read_selection(root, selection)
    gone = {row.image for row in slots.rows} - read_ids(root)
    return effective(slots, {**dict(discarded), **dict.fromkeys(gone, "left the corpus")})


def discards_told(slots: Any, now: Any, discarded: Collection[str]) -> str:
    """Return how many images that a selection chose are discarded, and how many spares take their places; nothing where none is.

    ``now`` is the selection as it counts now. Of images drawn for all models at once no other takes the place.
    """
    from faultscape.nouns import Draw

    gone = set(slots.images) & set(discarded)
    if not gone:
        return ""
    if isinstance(slots.chosen[0], Draw):
        return f"{counted(len(gone), 'drawn image is', 'drawn images are')} discarded, and no other takes the place"
    spares, short = len(set(now.images) - set(slots.images)), len(slots.chosen) - len(now.chosen)
    moved = f"{counted(spares, 'spare image moves', 'spare images move')} up" if spares else "no spare image moves up"
    left = f"; {counted(short, 'slot has', 'slots have')} no spare left" if short else ""
    return f"{counted(len(gone), 'chosen image is', 'chosen images are')} discarded, and {moved}{left}"


def tell_discards(root: Path, images: Collection[str]) -> None:
    """Say of each selection that chose one of the images just discarded how it counts now."""
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.selections import names, read_selection

    discarded = Answers(root).discarded() if images else {}
    for name in names(root) if images else ():
        slots = read_selection(root, name)[0]
        if not set(slots.images).isdisjoint(images):
            print(f"selection {name}: {discards_told(slots, current(root, name, discarded), discarded)}")
