"""select: choose the few images that a person should label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from faultscape.arguments import Place
from faultscape.choices import PointGoal
from faultscape.errors import OptionError
from faultscape.verbs.select.chosen_result import ChosenImages, Selected
from faultscape.verbs.select.options import ClassifierRules, MapRules, Printing, Sampling
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions


def _check(options: SelectOptions) -> None:
    if options.seed is not None and options.seed < 0:
        raise OptionError(f"seed must be 0 or more; got {options.seed}")
    if options.printing.list_ and (options.dry_run or options.remove is not None):
        raise OptionError(
            "--list prints the images of an existing selection; leave out --remove or --dry-run"
        )


@overload
def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: PointGoal | None = None,
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
) -> Selected: ...


@overload
def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: PointGoal | None = None,
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
) -> Selected | Changed | ChosenImages: ...


@verb("faultscape.verbs.select.choose:choose", check=_check)
def select(
    study: Place,
    *,
    as_: str | None = None,
    selector: str | None = None,
    goal: PointGoal | None = None,
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
) -> Selected | Changed | ChosenImages:
    """Choose the images on which models disagree most, with spares in reserve; or draw images, or single
    pixels, for all models at once, with known probabilities.

    mad lets models duel: segmentation models per ordered pair and class (Yan et al. 2021), classifiers per
    pair (Wang et al. 2020). The other selectors draw --budget images one after another, or --points pixels
    of label maps. A selection's
    definition is fixed when it is made. To extend a selection, give its name and more places, spares or
    draws; options that you leave out keep their values. Duels can also be extended after you add models.
    Draws cover only the models of their time: for new models, draw again under another name; labels carry
    over.

    Parameters
    ----------
    study
        The study folder.
    as_
        Name of the selection (default main; for images drawn for all models the selector's name, or the
        goal). A study can have any number of selections; they share labels.
    selector
        One of random, disputed, entropy, expected-loss, vma, mad, information, mad+information, model-picker,
        points, or file.py:NAME, a Selector of your own; default: mad.
    goal
        order (of all models) or best (which model is best): draw images as measurements on real models
        recommend for this goal, instead of --selector. With --points also values (of each model alone).
    per_class
        Images for each defender, attacker and class (default 1).
    top
        Images for each pair of classifiers (default 30).
    budget
        How many images the other selectors draw (default 100; with --goal best 10, since later draws depend
        on the labels).
    more
        Draw this many more, using the labels that exist now.
    seed
        Seed of the draws, and of the order among equally good images (default 0).
    truth
        The labels that adaptive selectors learn from (default labels).
    replace
        Replace the selection of this name, using the options given here. A selection with labels is kept
        under a dated name, such as main-2026-11-23; labels count for both.
    remove
        Remove the selection of this name, with its standings and its report. Labels stay; the files of a
        labelled selection are kept in STUDY/removed.
    dry_run
        Report how many images would be chosen or added, how many of them are labelled already, and what
        would become stale; change nothing.
    engine
        local (this process), processes (all cores, if the work is long enough to be worth starting them),
        ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    maps
        For label maps: `MapRules(concordance=...)`.
    classifiers
        For classifiers: `ClassifierRules(distance=...)`.
    sampling
        How images, or pixels, are taken: `Sampling(spares=...)`.
    printing
        Printed output: `Printing(list_=...)`.

    >>> fs.select("study", as_="again", goal="order", budget=10).slots
    10
    """
    ...
