"""Which truth counts, which labels it has, what is unusual about them, and each model's score by them:
concordances of label maps, or which classifier is right.

Conventions: a truth is a name under which people's labels or answers were imported. Images are in corpus
order, models in the order asked for; (J, I), higher is better, NaN if a model has no answer or a label does
not decide. Discarded images are left out. Shares of pixels, of void and of models, are taken from at most
``_MOST`` labelled images, spread over the study, because decoding all would take long.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.comparison import concordance
from faultscape.comparison.combinations import PQ, segment_quality
from faultscape.errors import FaultscapeError, counted
from faultscape.labelling.answers import majority
from faultscape.labelling.correctness import right_or_wrong, ties_text
from faultscape.labelling.discards import discards_text
from faultscape.maps import runs
from faultscape.nouns import KEPT_OUT, UNKNOWN, Definition, Slots
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.instances.shard_segments import ShardSegments
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.selection.definitions import draws_evenly
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name

# CamVid leaves 4 % void, VOC 6, Cityscapes 12, BDD100K 13; more is left where images are labelled in part
_MUCH_VOID = 0.3
# below it, predictions of a class that does not occur are the mistakes that every model makes
_MUCH_PREDICTED = 0.01
_MOST = 64
_NAMED = 6


def truth_words(study: Study, truth: str) -> list[str]:
    """Return the option of a command that names a truth; [] for none, and for the one it takes by itself."""
    return [f"--truth {shlex.quote(truth)}"] if truth and study.find_truth() != truth else []


def scores(
    study: Study,
    models: tuple[str, ...],
    truth: str,
    definition: Definition,
    discarded: Collection[str] = (),
    voices: Voices = EVERYBODY,
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images and (J, I) each model's score on them: concordance with the truth, or for
    classifiers 1 if right and 0 if wrong by the answers of ``voices``.
    """
    if study.classifies:
        return correctness(study, models, truth, discarded, voices)[:2]
    return accuracies(study, models, truth, definition, discarded)


def accuracies(
    study: Study, models: tuple[str, ...], truth: str, definition: Definition, discarded: Collection[str] = ()
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images in corpus order and (J, I) each model's concordance with the truth on
    them.
    """
    images: list[str] = []
    blocks = []
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder)
    for number, rows in study.corpus.each_shard():
        part = parts.get(part_name(number))
        labelled = label_maps.read_maps(folder, number, part) if part else {}
        at = [k for k, image in enumerate(rows) if image.id in labelled and image.id not in discarded]
        if not at:
            continue
        mine = [rows[k] for k in at]
        images += [image.id for image in mine]
        if definition["concordance"] == PQ:
            blocks.append(_panoptic(study, models, truth, mine))
            continue
        pairs = read_block(study, rows, models, [truth])
        blocks.append(
            concordance.accuracies(pairs, definition["concordance"], over=definition["over"], truth=truth)[
                :, at
            ]
        )
    return images, np.concatenate(blocks, axis=1) if blocks else np.zeros((len(models), 0))


def _panoptic(study: Study, models: Sequence[str], truth: str, images: Sequence[Image]) -> np.ndarray:
    """Return (J, I) the panoptic quality of each model against the truth on some images of one shard."""
    held = ShardSegments(study, models, truth, images)
    out = np.full((len(models), len(images)), np.nan)
    for k, image in enumerate(images):
        true = held.truth(image.id)
        for j, model in enumerate(models):
            said = held.of(model, image.id)
            if true is not None and said is not None:
                out[j, k] = segment_quality(true, said, len(study.classes))
    return out


def correctness(
    study: Study,
    models: Sequence[str],
    truth: str,
    discarded: Collection[str] = (),
    voices: Voices = EVERYBODY,
) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the labelled images, (J, I) 1 if a classifier is right, 0 if it is wrong, NaN if nothing
    decides, and a text about the labels.

    A set of labels decides for every model. An answer "yes" counts for the models that predict this class,
    "no" against them; a tie decides nothing. Only answers of ``voices`` count.
    """
    verdicts = verdicts_of(study, truth, voices)
    answered = {image for image, _ in verdicts}
    everything = [image for image in study.images if image not in discarded]
    held = truth in study.label_folders
    sets = read_label_sets(study, truth, everything) if held else [None] * len(everything)
    known = [
        k
        for k, (id_, labels) in enumerate(zip(everything, sets, strict=True))
        if labels is not None or id_ in answered
    ]
    predictions = read_predictions(study, models, [everything[k] for k in known])
    correct = right_or_wrong(predictions, [sets[k] for k in known], verdicts)
    return [*predictions.images], correct, ties_text(verdicts, study.classes.names)


def distances_to_labels(
    study: Study, models: Sequence[str], truth: str, images: Sequence[str], distances: np.ndarray
) -> dict[str, np.ndarray]:
    """Return {image: (J,) how far each model's answer is from the nearest class of its full label}, by (C, C)
    ``distances``; NaN for a model without an answer. Images whose label names no class, or is a partial one,
    are left out.
    """
    sets = read_label_sets(study, truth, images) if truth in study.label_folders else [None] * len(images)
    said = read_predictions(study, models, images).labels
    return {
        image: np.where(labels >= 0, distances[labels][:, sorted(true)].min(1), np.nan)
        for image, true, labels in zip(images, sets, said.T, strict=True)
        if true
    }


def verdicts_of(study: Study, truth: str, voices: Voices = EVERYBODY) -> dict[tuple[str, str], bool | None]:
    """Return {(image, class): whether more said yes than no} by the answers of ``voices``, None for a tie."""
    rows = voices.answers(study.answers.answers(truth))
    return majority(rows, voices.weights_of_answers(rows))


def partly_decided(
    study: Study, models: Sequence[str], images: Sequence[str], correct: np.ndarray
) -> set[str]:
    """Return those of the ``images`` that labels decide (`correctness`) for some of the models that have an
    answer there, but not all.
    """
    said = read_predictions(study, models, images).labels
    lacks = np.asarray((np.isnan(correct) & (said >= 0)).any(0))
    return {image for image, lack in zip(images, lacks.tolist(), strict=True) if lack}


def undecidable(study: Study, models: Sequence[str], truth: str, voices: Voices = EVERYBODY) -> set[str]:
    """Return the images whose predicted classes were all asked about, with a tie among the answers: nothing
    more is expected unless they are asked again.
    """
    if not study.classifies:
        return set()
    verdicts = verdicts_of(study, truth, voices)
    images = list(dict.fromkeys(image for (image, _), verdict in verdicts.items() if verdict is None))
    said = read_predictions(study, models, images).labels
    names = study.classes.names
    return {
        image
        for image, labels in zip(images, said.T.tolist(), strict=True)
        if all((image, names[label]) in verdicts for label in labels if label >= 0)
    }


def measured_by_choice(study: Study, truth: str, drawn: Sequence[Slots], discarded: Collection[str]) -> int:
    """Return how many of the images with a label of a truth the selections ``drawn``, including removed ones,
    chose because of the models' predictions.

    0 if labels do not depend on a choice: they cover the whole pool, or complete random selections.
    """
    if not (chosen := chosen_by_models(drawn)):
        return 0
    where = label_maps.truth(study.root, truth)
    corpus = study.corpus.columns("id", "role")
    held = {
        id_
        for part, entry in study.manifest(where).items()
        for id_ in label_maps.read_ids(where, int(part), entry)
    }
    there = held & set(corpus["id"].to_pylist())
    pool = {
        id_
        for id_, role in zip(corpus["id"].to_pylist(), corpus["role"].to_pylist(), strict=True)
        if role == "pool"
    }
    random = [set(slots.images) for slots in drawn if draws_evenly(slots.definition)]
    whole = [own for own in random if own - set(discarded) <= there]
    if not chosen & there or pool - set(discarded) <= there or there <= set().union(*whole):
        return 0
    return len(chosen & there)


def chosen_by_models(drawn: Iterable[Slots]) -> set[str]:
    """Return the images that selections chose because of the models' predictions, or have as spares: all but
    even draws, and but those that a cap keeps out.
    """
    # points ask for no label of their image
    chosen = (slots.rows for slots in drawn if not draws_evenly(slots.definition) and not slots.points)
    return {row.image for rows in chosen for row in rows if row.place <= KEPT_OUT}


def chosen_elsewhere(study: Study, selection: str) -> set[str]:
    """Return the images that other selections of the study, including removed ones, chose because of the
    models' predictions.
    """
    others = [held.slots for name, held in study.selections.items() if name != selection]
    return chosen_by_models(others + study.removed_selections)


def labelled_among(study: Study, images: Collection[str]) -> set[str]:
    """Return those of some images that have a label, or, for classifiers, an answer, under any truth."""
    wanted = set(images)
    answers = study.answers
    answered = answers.truths() if study.classifies else ()
    out = {row[0] for truth in answered for row in answers.answers(truth)} & wanted
    numbers = set(study.corpus.shards_of(wanted).values())
    for where in (label_maps.truth(study.root, truth) for truth in study.label_folders):
        parts = study.manifest(where)
        for number in sorted(numbers):
            if part := parts.get(part_name(number)):
                out |= wanted & set(label_maps.read_ids(where, number, part))
    return out


def trained_notes(study: Study, models: Sequence[str], images: Collection[str], what: str) -> list[str]:
    """Return a sentence for each model that some of these images trained, or resemble images that did
    (`trained_on`); ``what`` is the word for one of them.
    """
    counts = {model: len(study.trained_on(model).intersection(images)) for model in models}
    one = "trained {0} or resembles an image that did: it does"
    many = "trained {0} or resemble images that did: they do"
    return [
        f"{counted(number, what)} {(one if number == 1 else many).format(model)} not judge {model}"
        for model, number in counts.items()
        if number
    ]


def pool_that_trained(study: Study, models: Sequence[str]) -> set[str]:
    """Return the images of the pool that trained any of these models, or resemble images that did."""
    trained = frozenset().union(*(study.trained_on(model) for model in models))
    rows = study.corpus.images(trained) if trained else []
    return {image.id for image in rows if image.role == "pool"}


def tell_discards(study: Study, images: Collection[str]) -> None:
    """Print how each selection with newly discarded images counts now."""
    for name, held in study.selections.items() if images else ():
        if not {row.image for row in held.slots.chosen}.isdisjoint(images):
            print(f"selection {name}: {discards_text(held.slots, held.now, study.discarded)}")


def true_classes(
    study: Study, truth: str, images: Sequence[str], voices: Voices = EVERYBODY
) -> dict[str, str]:
    """Return {image: its true class} for labels that name exactly one: a set of one class, or one class with
    the answer yes by ``voices``.
    """
    names = study.classes.names
    out = dict[str, str]()
    yes: dict[str, list[str]] = {}
    for (image, class_), verdict in sorted(verdicts_of(study, truth, voices).items()):
        if verdict:
            yes.setdefault(image, []).append(class_)
    out |= {image: said[0] for image, said in yes.items() if len(said) == 1}
    if truth in study.label_folders:
        sets = read_label_sets(study, truth, images)
        for image, places in zip(images, sets, strict=True):
            if places is not None:
                out.pop(image, None)
                if len(places) == 1:
                    out[image] = names[next(iter(places))]
    return {image: name for image, name in out.items() if image in set(images)}


def unusual(study: Study, truth: str) -> tuple[str, ...]:
    """Return a sentence each about void pixels and about classes that are missing in a truth, if that is
    unusual.
    """
    classes = study.classes
    folder = label_maps.truth(study.root, truth)
    n = len(classes)
    places = table(classes)
    parts = study.manifest(folder)
    missing = {*range(n)}
    labelled = list[tuple[int, str]]()
    for name, part in sorted(parts.items()):
        shard = int(name)
        if missing:
            maps = label_maps.read_maps(folder, shard, part)
            missing -= {place for code in maps.values() for place in places[runs.labels(code)].tolist()}
        labelled += [(shard, id_) for id_ in sorted(label_maps.read_ids(folder, shard, part))]
    shown = labelled[:: -(-len(labelled) // _MOST)] if labelled else []
    counts = np.zeros(n + 1)
    for shard, id_ in shown:
        code = label_maps.read_map(folder, shard, parts[part_name(shard)], id_)
        counts += 0 if code is None else _counts(code, places, n)
    said = []
    if counts.sum() and (share := counts[n] / counts.sum()) > _MUCH_VOID:
        said.append(f"note: {share:.0%} of the pixels of truth {truth} are void".replace("%", " %"))
    if missing and len(missing) < n:
        said += _predicted(study, truth, shown, sorted(missing))
    return tuple(said)


def _predicted(
    study: Study, truth: str, images: Sequence[tuple[int, str]], missing: Sequence[int]
) -> list[str]:
    """Return a sentence about the ``missing`` classes that models predict on these images."""
    shares = {model: _shares(study, model, images) for model in study.models}
    known = {model: share for model, share in shares.items() if share is not None}
    line = only_predicted(f"truth {truth}", study.classes.names, missing, known)
    return [f"note: {line}"] if line else []


def only_predicted(
    truth: str, names: Sequence[str], missing: Sequence[int], shares: Mapping[str, np.ndarray]
) -> str:
    """Return a sentence about the classes that are ``missing`` in a truth although models predict them often,
    or ''; ``shares`` is {model: share of the pixels (C + 1,) that it gives each class}.
    """
    if not shares:
        return ""
    mean = np.mean([*shares.values()], axis=0)
    found = [place for place in missing if mean[place] >= _MUCH_PREDICTED]
    if not found:
        return ""
    named = ", ".join(names[place] for place in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    on = {model: share[found].sum() for model, share in shares.items()}
    each = ", ".join(f"{model} on {100 * part:.0f} %" for model, part in on.items() if part >= 0.005)
    them = "it" if len(found) == 1 else "them"
    return f"{truth} never has {named}{more}, but models predict {them} ({each} of the pixels)"


def _shares(study: Study, model: str, images: Sequence[tuple[int, str]]) -> np.ndarray | None:
    """Return (C + 1,), the share of pixels that a model gives each class on these images; None if it has no
    map of them that can be read.
    """
    classes = study.classes
    folder = label_maps.predictions(study.root, model)
    counts = np.zeros(len(classes) + 1)
    try:
        parts = study.manifest(folder)
        places = table(classes, study.settings.models[model].labels)
        for shard, id_ in images:
            part = parts.get(part_name(shard))
            code = label_maps.read_map(folder, shard, part, id_) if part is not None else None
            if code is not None:
                counts += _counts(code, places, len(classes))
    except FaultscapeError:
        return None  # whoever compares its maps says so
    return counts / counts.sum() if counts.sum() else None


def _counts(code: bytes, places: np.ndarray, n: int) -> np.ndarray:
    """Return (C + 1,), how many pixels of a map have each place; other values are left out."""
    found = np.bincount(places[runs.decode(code)].ravel(), minlength=UNKNOWN + 1)
    return found[: n + 1]
