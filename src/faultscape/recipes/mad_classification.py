"""Wang et al. 2020, "MAD competition for comparing classifiers", top to bottom: Algorithm 1, then Algorithm
2, as sequences of verbs.

Conventions: IMAGES is the large unlabelled set D (or a CSV file of ids, if only predictions exist), models
are the set F as {name: source}. Between `algorithm_1_until_labels` and `algorithm_1_from_labels` people
answer two yes/no questions per image. Run as ``python -m faultscape.recipes.mad_classification STUDY IMAGES
CLASSES NAME=SOURCE NAME=SOURCE ...`` and again with ``answers=FILE.csv`` once answers exist.
Source: Wang et al., "I am going MAD: maximum discrepancy competition for comparing classifiers adaptively"
(Wang et al. 2020).
"""

from __future__ import annotations

import sys
from pathlib import Path

import faultscape as fs
from faultscape.nouns import Slots
from faultscape.standings import Standings


def algorithm_1_until_labels(
    study: str, images: str, classes: str, models: dict[str, str], *, only: str | None = None, top: int = 30
) -> Slots:
    """Do lines 1 to 10 of Algorithm 1: predict, measure distances over WordNet, choose the k images with the
    largest distance for each pair; then export the questions.
    """
    # 3.1: D covers 200 of the 1,000 classes
    fs.collect(study, images, task="classification", classes=classes, only_classes=only)
    fs.predict(study, models)  # lines 2-4: {f_i(x) | x in D}
    # lines 5-10: eq. 3 and 4, min(p_i, p_j) >= T, three images per predicted label
    slots = fs.select(study, top=top, classifiers=fs.options.ClassifierRules(confidence=0.8, cap=3))
    # 2.1: "Does x contain an f_i(x)?", "... an f_j(x)?"
    fs.label.export(study, str(Path(study) / "questions.csv"))
    return slots


def algorithm_1_from_labels(study: str, answers: str, benchmark: str | None = None) -> Standings:
    """Do lines 12 to 15 of Algorithm 1: import the answers, compute A (eq. 1), B and Perron's rank (eq. 5);
    compare with a closed benchmark (Table 1).
    """
    # line 12: majority vote; with more than three of five unsure, the k+1-th image replaces a discarded one
    fs.label.import_(study, answers)
    standings = fs.rank(study, benchmark=benchmark)  # lines 13-15
    fs.report(study)  # Figs. 3-9
    return standings


def algorithm_2(study: str, model: dict[str, str]) -> Slots:
    """Add a classifier by running the same verbs again, which choose images only for its own pairs; S and its
    labels stay (Algorithm 2, lines 2-7).
    """
    fs.predict(study, model)  # line 2
    slots = fs.select(study)  # lines 3-7
    # line 8: only unanswered questions
    fs.label.export(study, str(Path(study) / f"questions-{'-'.join(model)}.csv"))
    return slots


def other_distances(study: str, distances: tuple[str, ...] = ("01", "hops")) -> Standings:
    """Select again under other distances, including eq. 2, and compare the rankings with the one
    under eq. 3.
    """
    for distance in distances:
        fs.select(study, as_=f"by-{distance}", classifiers=fs.options.ClassifierRules(distance=distance))
    return fs.rank(study, against=[f"by-{distance}" for distance in distances])


def main(words: list[str]) -> None:
    """Run the recipe from the command line."""
    if len(words) < 5:
        sys.exit(
            "usage: python -m faultscape.recipes.mad_classification STUDY IMAGES CLASSES NAME=SOURCE"
            " NAME=SOURCE ... [only=FILE] [answers=FILE.csv] [benchmark=FILE.csv]"
        )
    study, images, classes, *rest = words
    named = dict(word.split("=", 1) for word in rest)
    only, answers, benchmark = (named.pop(key, None) for key in ("only", "answers", "benchmark"))
    print(repr(algorithm_1_until_labels(study, images, classes, named, only=only)))
    if answers:
        print(repr(algorithm_1_from_labels(study, answers, benchmark)))


if __name__ == "__main__":
    main(sys.argv[1:])
