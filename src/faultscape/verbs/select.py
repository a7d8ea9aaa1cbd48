"""select: choose the few images that a person should label."""

from __future__ import annotations

from typing import Literal, overload

from faultscape.arguments import Place, needed_text
from faultscape.choices import Goal
from faultscape.errors import OptionError
from faultscape.nouns import Slots
from faultscape.stages.change_result import Changed
from faultscape.stages.chosen_result import ChosenImages
from faultscape.stages.select.options import ClassifierRules, MapRules, Printing, Sampling, SelectOptions


@overload
def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: Goal | None = None,
    per_class: int | None = None,
    top: int | None = None,
    budget: int | None = None,
    more: int | None = None,
    seed: int | None = None,
    truth: str | None = None,
    replace: bool = False,
    remove: None = None,
    dry_run: Literal[False] = False,
    engine: str = "processes",
    workers: int | None = None,
    maps: MapRules = MapRules(),
    classifiers: ClassifierRules = ClassifierRules(),
    sampling: Sampling = Sampling(),
    printing: Printing = Printing(),
) -> Slots: ...


@overload
def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: Goal | None = None,
    per_class: int | None = None,
    top: int | None = None,
    budget: int | None = None,
    more: int | None = None,
    seed: int | None = None,
    truth: str | None = None,
    replace: bool = False,
    remove: str | None = None,
    dry_run: bool = False,
    engine: str = "processes",
    workers: int | None = None,
    maps: MapRules = MapRules(),
    classifiers: ClassifierRules = ClassifierRules(),
    sampling: Sampling = Sampling(),
    printing: Printing = Printing(),
) -> Slots | Changed | ChosenImages: ...


def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: Goal | None = None,
    per_class: int | None = None,
    top: int | None = None,
    budget: int | None = None,
    more: int | None = None,
    seed: int | None = None,
    truth: str | None = None,
    replace: bool = False,
    remove: str | None = None,
    dry_run: bool = False,
    engine: str = "processes",
    workers: int | None = None,
    maps: MapRules = MapRules(),
    classifiers: ClassifierRules = ClassifierRules(),
    sampling: Sampling = Sampling(),
    printing: Printing = Printing(),
) -> Slots | Changed | ChosenImages:
    """Choose the images on which models disagree most, with spares behind; or draw images for all models at
    once, with known probabilities.

    mad lets models duel: segmentation models per ordered pair and class (S0), classifiers per pair (S2). The
    other selectors draw --budget images one after the other. A selection's definition is fixed when it is
    made. The same name with more places, spares or draws extends it, duels also after models were added; what
    is not given is then as it was. Draws are of the models that there were: for others draw anew under
    another name, labels carry over.

    Parameters
    ----------
    study
        The study folder.
    as_
        Name of the selection (default main, of images drawn for all models the selector's name, or the goal);
        a study keeps any number of them, and labels are shared.
    selector
        mad (default), random, disputed, entropy, expected-loss, vma, information, mad+information or
        model-picker, or file.py:NAME, a Selector of your own.
    goal
        order (of all models) or best (which model is best): draw images as measurements on real models
        recommend for it, instead of --selector.
    per_class
        Images for each defender, attacker and class (K of S0; default 1).
    top
        Images for each pair of classifiers (k of S2; default 30).
    budget
        How many images the other selectors draw (default 100; with --goal best 10, since the next are drawn
        with what labels say).
    more
        Draw so many more, from the labels that there are by now.
    seed
        Seed of the draws, and of the order among images that are equally good (default 0).
    truth
        Which labels selectors learn from that look at them (default labels).
    replace
        Make the selection of this name anew, with the options of this line. One that people labelled for is
        kept under a dated name, such as main-2026-11-23; labels count for both.
    remove
        Take a selection of this name away, with its standings and its report. Labels stay; of one that is
        labelled the files are kept in STUDY/removed.
    dry_run
        With --replace or --remove: say what becomes stale, and change nothing.
    engine
        local (this process), processes (all cores, once the work lasts longer than they take to start), ray,
        or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    maps
        Of label maps: `MapRules(concordance=...)`.
    classifiers
        Of classifiers: `ClassifierRules(distance=...)`.
    sampling
        How images are taken: `Sampling(spares=...)`.
    printing
        What is printed: `Printing(list_=...)`.
    """
    from faultscape.stages.select.choose import choose

    options = SelectOptions(
        needed_text(study, "study"),
        as_,
        selector,
        goal,
        budget,
        more,
        per_class,
        top,
        seed,
        truth,
        replace,
        remove,
        dry_run,
        maps,
        classifiers,
        sampling,
        engine,
        workers,
        printing,
    )
    if seed is not None and seed < 0:
        raise OptionError(f"seed cannot be negative; got {seed}")
    return choose(options)
