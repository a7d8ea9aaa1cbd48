"""Choices of people between two models: those that count, whose answers count, and each model's score by them
on each image.

Conventions: a choice counts while both models' maps of the image are the ones that were shown, by their
digests, and its image is not discarded. Each person has one vote per image and pair of models: repeats in the
other order are averaged. People are known by their pseudonyms; leaving people out changes nothing that is
stored. Weights are those of `labelling.people.answer_weights`, estimated from the answers that count, of
repeated choices from the first. Source: Yan et al. 2021, 4.4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from faultscape.labelling.answers import WORDS, Answer, latest
from faultscape.ranking.choice_shares import Shares
from faultscape.study.answers.choices import Choice
from faultscape.study.answers.points import VOID, PointAnswer
from faultscape.study.parts import Part
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

if TYPE_CHECKING:
    from faultscape.reading.study import Study

# for the first model; a skip does not count
WORTH = {"first": 1.0, "second": 0.0, "both good": 0.5, "both bad": 0.5, "not sure": 0.5}


def map_digest(code: bytes) -> str:
    """Return the digest that a choice stores of a map that was shown.

    >>> map_digest(b"runs")
    '021b73f5b3ff04f6'
    """
    return hashlib.blake2b(code, digest_size=8).hexdigest()


def digests(study: Study, models: Iterable[str], images: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return {(model, image): the digest of its map} of the existing maps."""
    return Digests().of(study, models, images)


class Digests:
    """Digests of the maps of a study; unchanged parts are not read twice."""

    def __init__(self) -> None:
        self._held = dict[tuple[str, int], tuple[str, frozenset[str], dict[str, str]]]()

    def of(self, study: Study, models: Iterable[str], images: Iterable[str]) -> dict[tuple[str, str], str]:
        """Return {(model, image): the digest of its map} of the existing maps."""
        by_shard: dict[int, set[str]] = {}
        for image, shard in study.corpus.shards_of(images).items():
            by_shard.setdefault(shard, set()).add(image)
        out: dict[tuple[str, str], str] = {}
        for model in models:
            folder = label_maps.predictions(study.root, model)
            parts = study.manifest(folder)
            for shard, mine in sorted(by_shard.items()):
                if part := parts.get(part_name(shard)):
                    found = self._of_part(folder, shard, part, mine)
                    out |= {(model, image): found[image] for image in mine if image in found}
        return out

    def _of_part(self, folder: Path, shard: int, part: Part, images: set[str]) -> dict[str, str]:
        """Return {image: digest} of at least those ``images`` of a part that have a map."""
        before, asked, found = self._held.get((folder.name, shard), ("", frozenset[str](), {}))
        if before != part.sha256 or not images <= asked:
            wanted = asked | images if before == part.sha256 else frozenset(images)
            maps = label_maps.read_maps(folder, shard, part)
            found = {image: map_digest(code) for image, code in maps.items() if image in wanted}
            self._held[folder.name, shard] = part.sha256, wanted, found
        return found


def counting(
    study: Study,
    truth: str,
    models: Collection[str],
    discarded: Collection[str] = (),
) -> tuple[list[Choice], int]:
    """Return the choices of a truth between these models that count, none on images that trained one of the
    two, and how many do not because a map was remade since.
    """
    trained = {model: study.trained_on(model) for model in models}
    said = [
        one
        for one in study.choices.choices(truth)
        if one.first in trained
        and one.second in trained
        and one.image not in discarded
        and one.image not in trained[one.first]
        and one.image not in trained[one.second]
    ]
    now = digests(
        study, dict.fromkeys(m for one in said for m in (one.first, one.second)), [one.image for one in said]
    )
    kept = [
        one
        for one in said
        if _same(one.first_shown, now.get((one.first, one.image)))
        and _same(one.second_shown, now.get((one.second, one.image)))
    ]
    return kept, len(said) - len(kept)


def choice_rows(study: Study, truth: str, removed: Collection[str]) -> list[tuple[str, ...]]:
    """Return the choices of a truth that count, sorted, without those about ``removed`` images, normalised so
    that the order of the two models does not matter: what a key of the truth is made of.
    """
    rows = list[tuple[str, ...]]()
    for one in study.choices.choices(truth):
        choice = one if one.first <= one.second else one.turned
        if choice.image not in removed:
            named = (choice.image, choice.first, choice.second, choice.chosen, choice.annotator)
            rows.append((*named, str(choice.repeat), choice.first_shown, choice.second_shown))
    return sorted(rows)


def shares(choices: Iterable[Choice], weights: Mapping[str, float] | None = None) -> Shares:
    """Return {(image, model, other): (share of the choices for the model, number of people)}: ties and "not
    sure" are half, skips are left out (Yan et al. 2021). With ``weights`` {annotator: weight} a share is the
    weighted mean of people's votes; people of weight 0 are left out, and those without one count 1.

    >>> said = [
    ...     Choice("x", "a", "b", "first", "ann"),
    ...     Choice("x", "b", "a", "not sure", "ben"),
    ...     Choice("x", "a", "b", "skip", "eve"),
    ... ]
    >>> shares(said), shares([*said, Choice("x", "a", "b", "second", "ann", repeat=1)])
    ({('x', 'a', 'b'): (0.75, 2)}, {('x', 'a', 'b'): (0.5, 2)})
    >>> shares(said, {"ann": 3.0, "ben": 1.0}), shares(said, {"ann": 0.0, "ben": 1.0})
    ({('x', 'a', 'b'): (0.875, 2)}, {('x', 'a', 'b'): (0.5, 1)})
    """
    found = votes(one for one in choices if one.chosen in WORTH)
    if weights is None:
        return {key: (fmean(said.values()), len(said)) for key, said in found.items()}
    out: dict[tuple[str, str, str], tuple[float, int]] = {}
    for key, said in found.items():
        if counted := {who: weight for who in said if (weight := weights.get(who, 1.0)) > 0}:
            out[key] = fmean([said[who] for who in counted], weights=list(counted.values())), len(counted)
    return out


def votes(choices: Iterable[Choice]) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return {(image, model, other): {person: the mean of their choices for the model}}, sorted; NaN for a
    person who only skipped.

    >>> votes([Choice("x", "b", "a", "first", "ann"), Choice("x", "a", "b", "skip", "eve")])
    {('x', 'a', 'b'): {'ann': 0.0, 'eve': nan}}
    """
    said: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for one in choices:
        choice = one if one.first <= one.second else one.turned
        mine = said.setdefault((choice.image, choice.first, choice.second), {}).setdefault(
            choice.annotator, []
        )
        mine += [WORTH[choice.chosen]] if choice.chosen in WORTH else []
    return {
        key: {who: fmean(own) if own else nan for who, own in people.items()}
        for key, people in sorted(said.items())
    }


def worth(chosen: str) -> float | None:
    """Return the value of a choice for its first model, NaN for a skip and None for a choice that was taken
    back.

    >>> worth("first"), worth("both bad"), worth("skip"), worth("")
    (1.0, 0.5, nan, None)
    """
    return WORTH.get(chosen, nan) if chosen else None


def answered(choices: Iterable[Choice]) -> Mapping[tuple[str, frozenset[str]], int]:
    """Return {(image, two models): how many people chose one of them, or neither}."""
    return {(image, frozenset((a, b))): number for (image, a, b), (_, number) in shares(choices).items()}


def _same(shown: str, now: str | None) -> bool:
    return not shown or shown == now


def image_values(found: Shares, images: Sequence[str], models: Sequence[str]) -> np.ndarray:
    """Return (J, I) each model's mean share of choices on each image over its pairs there, NaN without any.

    >>> image_values(
    ...     {("x", "a", "b"): (0.75, 2), ("x", "a", "c"): (0.25, 1)}, ["x"], ["a", "b", "d"]
    ... ).ravel().tolist()
    [0.5, 0.25, nan]
    """
    said: dict[tuple[str, str], list[float]] = {}
    for (image, a, b), (share, _) in found.items():
        said.setdefault((a, image), []).append(share)
        said.setdefault((b, image), []).append(1 - share)
    return np.array(
        [[fmean(said.get((model, image), [nan])) for image in images] for model in models]
    ).reshape(len(models), -1)


_CLASSES = {"no": 0, "yes": 1}
_SIDES = {"first": 0, "second": 1}
assert set(_CLASSES) < set(WORDS)


@dataclass(frozen=True)
class Voices:
    """All people but those ``without``; ``weighted`` by estimated accuracy, or all the same."""

    without: frozenset[str] = frozenset()
    weighted: bool = False

    def answers(self, rows: Sequence[Answer]) -> list[Answer]:
        """Return the answers of those who count."""
        return [row for row in rows if row[2] not in self.without]

    def choices(self, rows: Sequence[Choice]) -> list[Choice]:
        """Return the choices of those who count."""
        return [row for row in rows if row.annotator not in self.without]

    def weights_of_answers(self, rows: Sequence[Answer]) -> Mapping[str, float] | None:
        """Return {person: weight} by these answers; None if all count the same."""
        if not self.weighted:
            return None
        said = [row for row in latest(rows) if row[3] in _CLASSES]
        return _weights(
            [row[:2] for row in said],
            [row[2] for row in said],
            [_CLASSES[row[3]] for row in said],
            symmetric=False,
        )

    def weights_of_choices(self, rows: Sequence[Choice]) -> Mapping[str, float] | None:
        """Return {person: weight} by these choices; None if all count the same."""
        if not self.weighted:
            return None
        turned = (one if one.first <= one.second else one.turned for one in rows if not one.repeat)
        said = [one for one in turned if one.chosen in _SIDES]
        return _weights(
            [(one.image, one.first, one.second) for one in said],
            [one.annotator for one in said],
            [_SIDES[one.chosen] for one in said],
            symmetric=True,
        )

    def weights_of_points(
        self, rows: Sequence[PointAnswer], names: Sequence[str]
    ) -> Mapping[str, float] | None:
        """Return {person: weight} by these answers to points, each person's first, of classes of these names;
        void is one more, and borders and who cannot tell decide nothing. None if all count the same.
        """
        if not self.weighted:
            return None
        place = {name: k for k, name in enumerate((*names, VOID))}
        said = [one for one in rows if one.answer in place]
        return _weights(
            [(one.image, str(one.row), str(one.column)) for one in said],
            [one.annotator for one in said],
            [place[one.answer] for one in said],
            len(place),
            symmetric=False,
        )


EVERYBODY = Voices()


def _weights(
    items: Sequence[tuple[str, ...]],
    people: Sequence[str],
    said: Sequence[int],
    classes: int = 2,
    *,
    symmetric: bool,
) -> dict[str, float] | None:
    # only where it was asked for, as its estimate loads scipy
    from faultscape.labelling.people.estimated_accuracy import answer_weights

    numbers = {item: k for k, item in enumerate(dict.fromkeys(items))}
    who, person = np.unique(np.array(people, dtype=np.str_), return_inverse=True)
    found = answer_weights([numbers[item] for item in items], person, said, classes, symmetric=symmetric)
    if np.isnan(found.accuracy).all():
        return None
    return dict(zip(who.tolist(), found.weight.round(6).tolist(), strict=True))


def weights_note(weights: Mapping[str, float] | None) -> str:
    """Return a sentence on weights that were asked for."""
    if weights is None:
        return (
            "people's answers count the same: nobody's accuracy can be estimated, which takes 20 items in"
            " common with each of two others, who share 20 with each other"
        )
    listed = ", ".join(f"{who} {weight:.2f}" for who, weight in sorted(weights.items()))
    return f"answers are weighted by the estimated accuracy of who gave them (log-odds: {listed})"
