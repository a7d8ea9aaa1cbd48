"""How often people are marked who are careful, and who are not: ``python benchmarks/careless_people.py
[--repeats N]`` prints the numbers of docs/how-to/people.md.

Six people answer items of which half are hard; careful ones are right on 75 to 95 % of the others. The first
person is careful, answers at random, or always chooses the left.
"""

from __future__ import annotations

import argparse

import numpy as np

from faultscape.labelling.people.careless import CHANCE, ONE_SIDE, AnswerColumns, care_tests

SKILLS = ([0.9] * 6, [0.95, 0.95, 0.95, 0.95, 0.95, 0.75])
HARD, SHRUNK = 0.5, 0.4  # share of hard items, and what is left there of being better than chance
FIRST = 0.7  # share of items on which the first class is true


def campaign(
    rng: np.random.Generator, skills: list[float], items: int, overlap: int, first_does: str = ""
) -> AnswerColumns:
    """Return the choices of a campaign."""
    who = np.concatenate([rng.permutation(len(skills))[:overlap] for _ in range(items)])
    item = np.repeat(np.arange(items), overlap)
    truth, hard = (rng.random(items) < FIRST).astype(int), rng.random(items) < HARD
    skill = np.array(skills)[who]
    if first_does == CHANCE:
        skill[who == 0] = 0.5
    right = rng.random(len(who)) < np.where(hard[item], 0.5 + SHRUNK * (skill - 0.5), skill)
    label, first_left = np.where(right, truth[item], 1 - truth[item]), rng.integers(0, 2, len(who))
    if first_does == ONE_SIDE:
        label = np.where(who == 0, 1 - first_left, label)
    left = np.where(label == 0, first_left, 1 - first_left)
    seconds = rng.lognormal(np.log(3), 0.6, len(who))
    return AnswerColumns(item, who, label, seconds, np.ones(len(who), bool), left)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    print("people        answers  items  anyone careful  at random  always left")
    for skills in SKILLS:
        for overlap in (2, 3, 5):
            for items in (50, 150, 400):
                rng, wrong, found = np.random.default_rng(1), 0, {CHANCE: 0, ONE_SIDE: 0}
                for _ in range(repeats):
                    tests = care_tests(campaign(rng, skills, items, overlap))
                    wrong += any(test.marked for one in tests for test in one.values())
                    for sign in found:
                        first, *_ = care_tests(campaign(rng, skills, items, overlap, sign))
                        found[sign] += first[sign].marked
                shares = "  ".join(f"{100 * n / repeats:8.1f} %" for n in (wrong, *found.values()))
                print(f"{skills[-1]:.2f} to {skills[0]:.2f}  {overlap:7}  {items:5}  {shares}", flush=True)


if __name__ == "__main__":
    main()
