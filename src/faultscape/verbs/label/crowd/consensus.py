"""The consensus of several annotators: a truth by vote, pixel by pixel, the images that they should discuss,
and how far each two agree.

Conventions: annotators are the truths of their labels, in the order of their names, so the order in which
they are given does not matter. A person who checked a mask counts like one who drew it, unless a mark on it
is open. Maps are read a shard at a time, twice: once to count, once to vote. With
``skill`` a tie goes to the annotator who agrees most with the others, by the mean mIoU with each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.errors import LabellingError, LabelMapError, OptionError, closest
from faultscape.labelling.people.annotator_agreement import MaskAgreement, mask_agreement, mask_counts
from faultscape.labelling.people.mask_consensus import Dispute, Tie, consensus, dispute, images_to_discuss
from faultscape.maps import runs
from faultscape.nouns import Classes
from faultscape.reading.second_round import SecondRound, is_by
from faultscape.reading.study import Study, opened
from faultscape.study.folder import check_name, refuse_twin
from faultscape.study.tables import label_maps
from faultscape.study.tables.consensus import Joined, keep_joined
from faultscape.study.tables.corpus import Image, part_name, shards
from faultscape.study.tables.logs import log, replace_failures
from faultscape.verbs.label.crowd.result import Consensus
from faultscape.verbs.label.masks import keep_labels

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelConsensusOptions


def join_labels(options: LabelConsensusOptions) -> Consensus:
    """Write the truth on which annotators agree by vote; OptionError or LabellingError for unknown
    annotators, StudyError for an invalid name.
    """
    study = opened(options.study)
    root = study.root
    with study.writing():
        names = tuple(sorted(set(options.of)))
        checked = study.second_round
        _check(study, names, options, checked)
        images = study.corpus.images()
        votes = _Votes(study, names)
        agreement = mask_agreement(*mask_counts(votes.alike(images), len(names), len(study.classes)))
        work = _Work(votes, study.classes, options, _skill(agreement))
        people = {image.id: votes.people(image, checked) for image in images if votes.number(image)}
        asked = {
            image.id: partial(work.joined, image)
            for image in images
            if people.get(image.id, 0) >= options.least
        }
        alone = len(people) - len(asked)
        marks = checked.words(people, names)
        if not asked:
            raise LabellingError(
                f"no image has labels from {options.least} of {', '.join(names)}, so there is nothing to"
                " merge; --least 1 accepts images that one person labelled, and others who check them"
                f" (`faultscape label serve`) count too{f', once no mark is open: {marks}' if marks else ''}"
            )
        kept = keep_labels(study, options.truth, asked, images)
        replace_failures(root, "label", options.truth, kept.failures)
        keep_joined(root, options.truth, _how_joined(study, names, options))
        log(root, "label consensus", of=names, truth=options.truth)
    disputes = list(work.disputes.items())
    discuss = tuple(
        (disputes[k][0], disputes[k][1].disputed, disputes[k][1].miou)
        for k in images_to_discuss([one for _, one in disputes])
    )
    pairs = tuple(
        (names[a], names[b], float(agreement.miou[a, b]), int(agreement.images[a, b]))
        for a, b in combinations(range(len(names)), 2)
    )
    wrong = kept.failures
    first = wrong[0].reason if wrong else ""
    return Consensus(
        options.truth,
        names,
        kept.new,
        kept.replaced,
        alone,
        len(wrong),
        discuss,
        pairs,
        options.least,
        first,
        kept.unchanged,
        marks,
    )


def _how_joined(study: Study, names: Sequence[str], options: LabelConsensusOptions) -> Joined:
    others = [name for name in study.label_folders if name.startswith(f"{options.truth}-")]
    return Joined(
        of=list(names),
        others=[name for name in others if name not in names],
        tie=options.tie,
        least=options.least,
        inputs={name: study.truth_key(name) for name in names},
    )


def _check(study: Study, names: Sequence[str], options: LabelConsensusOptions, checked: SecondRound) -> None:
    if study.classifies:
        raise OptionError(
            "label consensus applies to masks only; answers about classes are already combined by majority"
            " vote"
        )
    known = study.label_folders
    if len(names) < 2 and not any(truth in names for truth, _ in checked.checkers):
        raise OptionError(
            "give two or more annotators with --of, or one whose masks others checked; there are"
            f" {', '.join(known) or 'no labels yet'}"
        )
    for name in names:
        if name not in known:
            raise LabellingError(
                f"there is no truth {name!r}; there are"
                f" {', '.join(known) or 'no labels yet'}.{closest(name, known)}"
            )
    if options.truth in names:
        raise OptionError(
            f"--truth {options.truth} is one of the annotators; give the consensus another name"
        )
    check_name(options.truth, "truth")
    refuse_twin(options.truth, study.truths, "truth")
    if options.truth in study.models:
        raise OptionError(f"{options.truth!r} is the name of a model; choose another name with --truth NAME")
    if options.tie == "void" and not study.classes.void:
        raise LabellingError(
            "pixels without a majority become void, but the study's classes have no void id; use --tie skill"
        )


def _skill(agreement: MaskAgreement) -> np.ndarray:
    """Return (A,) each annotator's mean mIoU with the others; 0 for one with no image in common with the
    others.
    """
    known = ~np.isnan(agreement.miou)
    return np.where(known, agreement.miou, 0).sum(1) / np.maximum(known.sum(1), 1)


class _Votes:
    """The maps of some truths, one shard at a time."""

    def __init__(self, study: Study, names: Sequence[str]) -> None:
        self._folders = [label_maps.truth(study.root, name) for name in names]
        self._places = narrow(table(study.classes))
        self._parts = [study.manifest(folder) for folder in self._folders]
        self._shard = -1
        self._maps = list[dict[str, bytes]]()
        self._held: dict[str, list[str]] = {}
        for truth, folder, parts in zip(names, self._folders, self._parts, strict=True):
            for name, part in parts.items():
                for id_ in label_maps.read_ids(folder, int(name), part):
                    self._held.setdefault(id_, []).append(truth)

    def number(self, image: Image) -> int:
        """Return how many annotators have a map of an image."""
        return len(self._held.get(image.id, ()))

    def people(self, image: Image, checked: SecondRound) -> int:
        """Return how many people have a map of an image, or checked one on which no mark is open."""
        truths = self._held.get(image.id, ())
        checkers = {who for truth in truths for who in checked.agreeing((truth, image.id))}
        return len(truths) + sum(not any(is_by(truth, who) for truth in truths) for who in checkers)

    def of(self, image: Image) -> tuple[list[int], list[np.ndarray]]:
        """Return who has a map of an image, and the maps as places; LabelMapError if their sizes differ, or a
        value has no meaning.
        """
        if image.shard != self._shard:
            at = part_name(image.shard)
            self._maps = [
                label_maps.read_maps(folder, image.shard, parts[at]) if at in parts else {}
                for folder, parts in zip(self._folders, self._parts, strict=True)
            ]
            self._shard = image.shard
        who = [k for k, held in enumerate(self._maps) if image.id in held]
        maps = [runs.decode(self._maps[k][image.id], self._places) for k in who]
        if len({one.shape for one in maps}) > 1:
            sizes = " and ".join(sorted({f"{one.shape[1]} x {one.shape[0]}" for one in maps}))
            raise LabelMapError(f"its masks have {sizes} pixels; import those with the wrong size again")
        return who, maps

    def alike(self, images: Sequence[Image]) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """Yield who has a map of an image, and the maps, for each image with two or more maps of one size."""
        for rows in shards(list(images)).values():
            for image in rows:
                if self.number(image) > 1:
                    try:
                        yield self.of(image)
                    except LabelMapError:
                        continue  # reported when the votes are merged


class _Work:
    """Merges the votes image by image, and records how disputed they are."""

    def __init__(
        self, votes: _Votes, known: Classes, options: LabelConsensusOptions, skill: np.ndarray
    ) -> None:
        self._votes = votes
        self._tie = options.tie
        self._skill = skill
        self._classes = len(known)
        self._ids = np.array([*known.ids, known.void[0] if known.void else 0], np.uint16)
        self.disputes: dict[str, Dispute] = {}

    def joined(self, image: Image, _left_out: Counter[str]) -> np.ndarray:
        """Return the (H, W) ids that an image's annotators agree on, a `Reader` of maps, which have no shapes
        to leave out; LabelMapError if their maps cannot be merged.
        """
        who, maps = self._votes.of(image)
        tie: Tie = "skill" if self._tie == "skill" else "void"
        found = consensus(maps, self._classes, tie=tie, skill=self._skill[who])
        self.disputes[image.id] = dispute(maps, self._classes)
        return self._ids[found]
