"""run: do every stage that is not done yet, before and after labelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from faultscape.arguments import ClassList, Place, Source
from faultscape.choices import Question, Task
from faultscape.errors import OptionError, closest
from faultscape.terminal_lines import flag_of
from faultscape.verbs.select.options import ONLY_MAPS, check_points
from faultscape.verbs.status import Status
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import RunOptions


@dataclass(frozen=True)
class Ran:
    """What `run` did, stage by stage, and where the study stands now."""

    done: tuple[str, ...]  # what each stage printed, in order; () where nothing was to do
    status: Status  # status of the study afterwards
    not_ranked: str = ""  # why no model is ranked although there are labels, and what to do; else ''

    @property
    def exit_status(self) -> int:
        """2 if no model is ranked although there are labels, else 0."""
        return 2 if self.not_ranked else 0

    def __repr__(self) -> str:
        return "\n".join([*self.done, repr(self.status)])


def _check(options: RunOptions) -> None:
    goals = get_args(Question)
    if options.points is not None:
        _check_points(options, options.points)
    if options.goal is not None and options.goal not in goals:
        raise OptionError(
            f"--goal {options.goal!r} is not known; use {', '.join(goals)}.{closest(options.goal, goals)}"
        )


def _check_points(options: RunOptions, points: int) -> None:
    """Raise OptionError for points that cannot be drawn, before anything is made."""
    check_points(points)
    if options.task == "classification":
        raise OptionError(ONLY_MAPS)
    if options.goal == "failures":
        raise OptionError(
            "--points shows which model is better, and --goal failures where they fail; leave out one"
        )
    for name in ("scale", "per_class", "top", "distance", "concordance"):
        if getattr(options, name) is not None:
            flag = flag_of(name)
            raise OptionError(f"{flag} chooses images, and --points draws pixels; leave out one")


@verb("faultscape.verbs.run.stages:run_stages", changes_nothing=("engine",), check=_check)
def run(
    study: Place,
    *arguments: Place | Source,
    task: Task | None = None,
    classes: ClassList | None = None,
    size: str | None = None,
    scale: Place | None = None,
    per_class: int | None = None,
    top: int | None = None,
    distance: str | None = None,
    concordance: str | None = None,
    truth: str | None = None,
    goal: Question | None = None,
    points: int | None = None,
    engine: str = "processes",
) -> Ran:
    """Run every stage that is not done yet: collect, predict, compare and select; once there are labels, rank
    and report.

    Parameters
    ----------
    study
        The study folder.
    arguments
        Folders, globs or list files of images, and models as NAME=SOURCE; in Python also a dict. Without any,
        run continues with what the study has.
    task
        segmentation (default) or classification, for a new study.
    classes
        A class file or a built-in name: for a new study, or, as in `collect --classes`, for an existing one.
    size
        WIDTHxHEIGHT at which maps are compared, or own.
    scale
        The file that `faultscape scale` wrote.
    per_class
        Images for each defender, attacker and class (default 1).
    top
        For classifiers: images for each pair of models (default 30).
    distance
        For classifiers: wordnet, path, hops, 01, or a file of distances between classes.
    concordance
        For label maps, one of miou, fwiou, mpa, pixel_accuracy, dice, or file.py:function; default: miou.
        Several are joined by +, as in `select`.
    truth
        The labels that count; default: labels, or the only ones.
    goal
        order (which model is better), best (which one is best) or failures (where they fail: the duels of Yan
        et al.); by default a terminal asks, elsewhere it is order. A study with chosen images continues with
        them.
    points
        For label maps: draw this many pixels instead of images, about each of which a person says what it
        shows; a study that has them continues with them.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.

    >>> models = {"unet": "maps/unet/", "fcn": "maps/fcn/"}
    >>> fs.run("new", "images/", models, classes="classes.json", engine="local").status.next
    'faultscape label export new to-label/ ...'
    """
    ...
