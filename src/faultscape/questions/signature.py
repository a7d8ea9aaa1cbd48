"""which_is_better and where_they_fail: whole questions about models in memory, each in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from faultscape.arguments import ClassList
from faultscape.choices import Goal, Task
from faultscape.questions.answers import Better, Failures
from faultscape.questions.given import Models
from faultscape.questions.work import better, failures


def which_is_better(
    maps: Mapping[str, Any],
    *,
    label: Callable[[int | str], Any] | Any,
    images: Sequence[Any] | Mapping[str, Any] | None = None,
    classes: ClassList | None = None,
    void: int | Sequence[int] = (),
    task: Task | None = None,
    budget: int = 100,
    goal: Goal = "order",
    seed: int = 0,
) -> Better:
    """Return which of some models in memory is better, from the labels of at most ``budget`` images, which
    are chosen; all of it without a study of your own.

    The same as the verbs `collect`, `predict`, `compare`, `select`, `label.import_` and `rank` give on
    these images and maps in files, to the last digit: they do it, in a temporary folder.

    Parameters
    ----------
    maps
        {name: a model}, at least two: label maps (I, H, W), a tensor, a list of arrays or PIL images, {id:
        map} or pairs (id, map); class ids (I,) for classifiers; a function of an image (H, W, 3) uint8, or a
        torch module of (N, 3, H, W), as `predict` takes them.
    label
        The truth, maps or class ids, of which only the chosen images are read: an array, a list, a dataset
        that takes an image's place, or {id: mask}. Or a function that is asked for one chosen image at a
        time: by its place, 0..I-1, or by its id where maps are {id: map}; it returns the mask (H, W) or the
        class id, or None where none can be given.
    images
        For functions and modules: arrays (H, W, 3) uint8, PIL images or paths. With maps they are optional:
        near-duplicates are found, and ties follow their digests instead of their ids.
    classes
        A number C, a built-in name, names, or a Classes; default: as many as the largest id in ``maps``
        needs.
    void
        Ids that stand for no class, for example 255.
    task
        Of functions and modules alone: segmentation (default) or classification.
    budget
        How many labels are asked for at most; fewer where fewer images can be drawn.
    goal
        order (of all models) or best (only which model is best): ten labels at a time, each time from what
        the labels show.
    seed
        Seed of the draws, and of the bootstrap.

    Returns
    -------
    Better
        The standings, with ``verdict`` and ``labelled``: the images whose labels were used.

    Raises
    ------
    FaultscapeError
        ModelError for models that do not belong together, LabellingError for a label that does not fit its
        image, OptionError for a budget below 1; one line each.

    Examples
    --------
    >>> import numpy as np
    >>> import faultscape as fs
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, (40, 6, 6)).repeat(4, 1).repeat(4, 2)
    >>> maps = {
    ...     name: np.where(rng.random(truth.shape) < wrong, rng.integers(0, 3, truth.shape), truth)
    ...     for name, wrong in {"unet": 0.1, "fcn": 0.4}.items()
    ... }
    >>> found = fs.which_is_better(maps, label=lambda image: truth[image], budget=20)
    >>> found.verdict.models, len(found.labelled)
    (('unet',), 20)
    """
    return better(Models(maps, images, classes, void, task), label, budget, goal, seed)


def where_they_fail(
    maps: Mapping[str, Any],
    *,
    label: Callable[[int | str], Any] | Any = None,
    images: Sequence[Any] | Mapping[str, Any] | None = None,
    classes: ClassList | None = None,
    void: int | Sequence[int] = (),
    task: Task | None = None,
    per_class: int | None = None,
    top: int | None = None,
    seed: int = 0,
) -> Failures:
    """Return the images on which models in memory differ most, and which classes they confuse there: duels,
    as `select` chooses them (Yan et al. 2021; of classifiers Wang et al. 2020).

    Parameters
    ----------
    maps
        As in `which_is_better`.
    label
        As in `which_is_better`, of the chosen images; with labels the models are ranked on these images.
        None: nothing is asked.
    images
        As in `which_is_better`.
    classes
        As in `which_is_better`.
    void
        As in `which_is_better`.
    task
        As in `which_is_better`.
    per_class
        Images for each defender, attacker and class of label maps (default 1).
    top
        Images for each pair of classifiers (default 30).
    seed
        Seed of the order among equally good images, and of the bootstrap.

    Returns
    -------
    Failures
        ``cases``, the worst first, ``images``, and with labels ``standings``.

    Raises
    ------
    FaultscapeError
        As in `which_is_better`; one line each.

    Examples
    --------
    >>> import numpy as np
    >>> import faultscape as fs
    >>> truth = np.zeros((6, 8, 8), int)
    >>> other = truth.copy()
    >>> other[3, :4] = 1
    >>> found = fs.where_they_fail({"unet": truth, "fcn": other}, label=truth)
    >>> found.cases[0]
    image 3: unet says class-0, fcn says class-1 on 50.0 % of it; it is class-0
    """
    return failures(Models(maps, images, classes, void, task), label, per_class, top, seed)
