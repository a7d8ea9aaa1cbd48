"""Which truth counts, which labels it has, and each model's score by them: concordances of label maps, or
which classifier is right.

Conventions: a truth is a name under which people's labels or answers were imported. Images are in corpus
order, models in the order asked for; (J, I), higher is better, NaN if a model has no answer or a label does
not decide. Discarded images are left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultscape.comparison import concordance
from faultscape.errors import StudyError, closest
from faultscape.labelling.answers import majority
from faultscape.labelling.correctness import right_or_wrong, ties_text
from faultscape.labelling.discards import discards_text
from faultscape.nouns import KEPT_OUT, Definition, Slots
from faultscape.reading.answers import read_label_sets, read_predictions
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.pairs import read_block, read_manifests
from faultscape.selection.definitions import draws_evenly
from faultscape.selection.spares import effective
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.labels import Answers
from faultscape.study.parts import key_of, read_manifest
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import part_name, read_columns, read_corpus, read_ids, shards, shards_of
from faultscape.study.tables.removed_images import read_removed, removed_by_shard

LABELS = "labels"  # the default name of a truth


def truths(root: Path) -> list[str]:
    """Return the sorted names under which labels are stored; answers to questions and choices between two
    models count as labels.
    """
    answered = Answers(root).truths() if read_settings(root).classifies else Choices(root).truths()
    return sorted({*label_maps.truths(root), *answered})


def find_truth(root: Path, asked: str | None = None) -> str:
    """Return the truth that counts: the one asked for, else `labels`, else the only one; '' if there is none,
    or several.
    """
    known = truths(root)
    if asked is not None:
        return asked if asked in known else ""
    return LABELS if LABELS in known else known[0] if len(known) == 1 else ""


def choose_truth(root: Path, asked: str | None = None) -> str:
    """Return the truth that counts: the one asked for, else `labels`, else the only one; otherwise StudyError
    with a list of the truths.
    """
    if truth := find_truth(root, asked):
        return truth
    if not (known := truths(root)):
        raise StudyError(
            f"there is no truth {asked or LABELS!r}; there are no labels yet; import some with `faultscape"
            f" label import {root} SOURCE`"
        )
    if asked is None:
        raise StudyError(
            f"there are several truths ({', '.join(known)}), and none is called {LABELS!r}; choose one with"
            f" --truth{_merging(root)}"
        )
    raise StudyError(f"there is no truth {asked!r}; available: {', '.join(known)}.{closest(asked, known)}")


def _merging(root: Path) -> str:
    """Return the command that merges the masks of several annotators, as another way; '' without any."""
    from faultscape.verbs.graph import undone

    return "".join(f", or merge them: `{node.line}`" for node in undone(root, "joined labels"))


def truth_words(root: Path, truth: str) -> list[str]:
    """Return the option of a command that names a truth; [] for none, and for the one it takes by itself."""
    return [f"--truth {shlex.quote(truth)}"] if truth and find_truth(root, None) != truth else []


def scores(
    root: Path,
    models: tuple[str, ...],
    truth: str,
    definition: Definition,
    discarded: Collection[str] = (),
    voices: Voices = EVERYBODY,
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images and (J, I) each model's score on them: concordance with the truth, or for
    classifiers 1 if right and 0 if wrong by the answers of ``voices``.
    """
    if read_settings(root).classifies:
        return correctness(root, models, truth, discarded, voices)[:2]
    return accuracies(root, models, truth, definition, discarded)


def accuracies(
    root: Path, models: tuple[str, ...], truth: str, definition: Definition, discarded: Collection[str] = ()
) -> tuple[list[str], np.ndarray]:
    """Return the labelled images in corpus order and (J, I) each model's concordance with the truth on
    them.
    """
    settings = read_settings(root)
    images: list[str] = []
    blocks = []
    held = read_manifests(root, settings, [truth])
    for number, rows in shards(read_corpus(root)).items():
        part = held.truths[truth].get(part_name(number))
        labelled = label_maps.read_maps(label_maps.truth(root, truth), number, part) if part else {}
        at = [k for k, image in enumerate(rows) if image.id in labelled and image.id not in discarded]
        if at:
            pairs = read_block(root, settings, rows, models, [truth], held)
            blocks.append(
                concordance.accuracies(
                    pairs, definition["concordance"], over=definition["over"], truth=truth
                )[:, at]
            )
            images += [rows[k].id for k in at]
    return images, np.concatenate(blocks, axis=1) if blocks else np.zeros((len(models), 0))


def correctness(
    root: Path,
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
    settings = read_settings(root)
    verdicts = verdicts_of(root, truth, voices)
    answered = {image for image, _ in verdicts}
    everything = [image.id for image in read_corpus(root) if image.id not in discarded]
    held = truth in label_maps.truths(root)
    sets = read_label_sets(root, settings, truth, everything) if held else [None] * len(everything)
    known = [
        k
        for k, (id_, labels) in enumerate(zip(everything, sets, strict=True))
        if labels is not None or id_ in answered
    ]
    predictions = read_predictions(root, settings, models, [everything[k] for k in known])
    correct = right_or_wrong(predictions, [sets[k] for k in known], verdicts)
    return [*predictions.images], correct, ties_text(verdicts, settings.classes.names)


def verdicts_of(root: Path, truth: str, voices: Voices = EVERYBODY) -> dict[tuple[str, str], bool | None]:
    """Return {(image, class): whether more said yes than no} by the answers of ``voices``, None for a tie."""
    rows = voices.answers(Answers(root).answers(truth))
    return majority(rows, voices.weights_of_answers(rows))


def partly_decided(root: Path, models: Sequence[str], images: Sequence[str], correct: np.ndarray) -> set[str]:
    """Return those of the ``images`` that labels decide (`correctness`) for some of the models that have an
    answer there, but not all.
    """
    said = read_predictions(root, read_settings(root), models, images).labels
    lacks = np.asarray((np.isnan(correct) & (said >= 0)).any(0))
    return {image for image, lack in zip(images, lacks.tolist(), strict=True) if lack}


def truth_key(root: Path, truth: str) -> str:
    """Return a key of all labels of a truth, and of the answers that count with it."""
    labels = [
        (name, part.sha256) for name, part in sorted(read_manifest(label_maps.truth(root, truth)).items())
    ]
    settings = read_settings(root)
    answers, first = (
        (Answers(root).answers(truth) if settings.classifies else []),
        settings.classes.first_name_of,
    )
    removed = {image.id for image in read_removed(root)}
    answers = [
        (image, first.get(class_, class_), *more) for image, class_, *more in answers if image not in removed
    ]
    gone = sorted(labels_gone(root, truth).items()) if removed else []
    chosen = [] if settings.classifies else sorted(_choice_rows(root, truth, removed))
    return key_of(
        labels,
        *([answers] if answers or gone else []),
        *([gone] if gone else []),
        *([["choices", *chosen]] if chosen else []),
    )


def _choice_rows(root: Path, truth: str, removed: Collection[str]) -> list[tuple[str, ...]]:
    """Return the choices of a truth that count, normalised so that the order of the two models does not
    matter.
    """
    rows = []
    for one in Choices(root).choices(truth):
        choice = one if one.first <= one.second else one.turned
        if choice.image not in removed:
            named = (
                choice.image,
                choice.first,
                choice.second,
                choice.chosen,
                choice.annotator,
                str(choice.repeat),
            )
            rows.append((*named, choice.first_shown, choice.second_shown))
    return rows


def labels_gone(root: Path, truth: str) -> dict[int, list[str]]:
    """Return {shard: its images that have a label of a truth and left the corpus}; their labels are kept but
    not counted.
    """
    if not (removed := removed_by_shard(root)):
        return {}
    where = label_maps.truth(root, truth)
    parts = read_manifest(where)
    out: dict[int, list[str]] = {}
    for shard, images in removed.items():
        if part := parts.get(part_name(shard)):
            held = set(label_maps.read_ids(where, shard, part))
            if mine := sorted(image.id for image in images if image.id in held):
                out[shard] = mine
    return out


def undecidable(root: Path, models: Sequence[str], truth: str, voices: Voices = EVERYBODY) -> set[str]:
    """Return the images whose predicted classes were all asked about, with a tie among the answers: nothing
    more is expected unless they are asked again.
    """
    settings = read_settings(root)
    if not settings.classifies:
        return set()
    verdicts = verdicts_of(root, truth, voices)
    images = list(dict.fromkeys(image for (image, _), verdict in verdicts.items() if verdict is None))
    said = read_predictions(root, settings, models, images).labels
    names = settings.classes.names
    return {
        image
        for image, labels in zip(images, said.T.tolist(), strict=True)
        if all((image, names[label]) in verdicts for label in labels if label >= 0)
    }


def measured_by_choice(root: Path, truth: str, drawn: Sequence[Slots], discarded: Collection[str]) -> int:
    """Return how many of the images with a label of a truth the selections ``drawn``, including removed ones,
    chose because of the models' predictions.

    0 if labels do not depend on a choice: they cover the whole pool, or complete random selections.
    """
    if not (chosen := chosen_by_models(drawn)):
        return 0
    where, corpus = label_maps.truth(root, truth), read_columns(root, ["id", "role"])
    held = {
        id_
        for part, entry in read_manifest(where).items()
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
    chosen = (slots.rows for slots in drawn if not draws_evenly(slots.definition))
    return {row.image for rows in chosen for row in rows if row.place <= KEPT_OUT}


def chosen_elsewhere(root: Path, selection: str) -> set[str]:
    """Return the images that other selections of the study, including removed ones, chose because of the
    models' predictions.
    """
    others = [
        selections.read_selection(root, name)[0] for name in selections.names(root) if name != selection
    ]
    return chosen_by_models(others + selections.read_removed(root))


def labelled_among(root: Path, images: Collection[str]) -> set[str]:
    """Return those of some images that have a label, or an answer, under any truth."""
    wanted, answers = set(images), Answers(root)
    out = {row[0] for truth in answers.truths() for row in answers.answers(truth)} & wanted
    numbers = set(shards_of(root, wanted).values())
    for where in (label_maps.truth(root, truth) for truth in label_maps.truths(root)):
        parts = read_manifest(where)
        for number in sorted(numbers):
            if part := parts.get(part_name(number)):
                out |= wanted & set(label_maps.read_ids(where, number, part))
    return out


def with_models_left(slots: Slots, known: Collection[str]) -> Slots:
    """Return a selection with those of its models that are ``known``, where it can do without the others: the
    probability of a draw does not depend on which models are ranked later (Farquhar et al. 2021), as long as
    two are left; a duel has no meaning without its models.
    """
    left = tuple(model for model in slots.models if model in known)
    return replace(slots, models=left) if slots.draws and len(left) > 1 else slots


def current(root: Path, selection: str, discarded: Mapping[str, str]) -> Slots:
    """Return a selection as it counts now: images that were discarded or left the corpus are replaced by
    spares, and draws do without models that left the study.
    """
    slots = with_models_left(selections.read_selection(root, selection)[0], read_settings(root).models)
    gone = {row.image for row in slots.rows} - read_ids(root)
    return effective(slots, {**dict(discarded), **dict.fromkeys(gone, "left the corpus")})


def tell_discards(root: Path, images: Collection[str]) -> None:
    """Print how each selection with newly discarded images counts now."""
    discarded = Answers(root).discarded() if images else {}
    for name in selections.names(root) if images else ():
        slots = selections.read_selection(root, name)[0]
        if not set(slots.images).isdisjoint(images):
            print(f"selection {name}: {discards_text(slots, current(root, name, discarded), discarded)}")


def true_classes(
    root: Path, settings: Settings, truth: str, images: Sequence[str], voices: Voices = EVERYBODY
) -> dict[str, str]:
    """Return {image: its true class} for labels that name exactly one: a set of one class, or one class with
    the answer yes by ``voices``.
    """
    names, out = settings.classes.names, dict[str, str]()
    yes: dict[str, list[str]] = {}
    for (image, class_), verdict in sorted(verdicts_of(root, truth, voices).items()):
        if verdict:
            yes.setdefault(image, []).append(class_)
    out |= {image: said[0] for image, said in yes.items() if len(said) == 1}
    if truth in label_maps.truths(root):
        sets = read_label_sets(root, settings, truth, images)
        for image, places in zip(images, sets, strict=True):
            if places is not None:
                out.pop(image, None)
                if len(places) == 1:
                    out[image] = names[next(iter(places))]
    return {image: name for image, name in out.items() if image in set(images)}
