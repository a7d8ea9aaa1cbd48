"""run: do every stage that is not done yet, before and after labelling."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.arguments import ClassList, Place, Source, needed_text, place_text
from faultscape.choices import Question, Task
from faultscape.verbs.status import Status


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


_OF_DUELS = ("scale", "per_class", "top")


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
        For label maps: miou (default), fwiou, mpa, pixel_accuracy, dice, or file.py:function.
    truth
        The labels that count; default: labels, or the only ones.
    goal
        order (which model is better), best (which one is best) or failures (where they fail: the duels of Yan
        et al.); by default a terminal asks, elsewhere it is order. A study with chosen images continues with
        them.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    """
    from faultscape.errors import OptionError, closest
    from faultscape.reading.evidence import choose_truth, truths
    from faultscape.verbs.graph import undone
    from faultscape.verbs.run.question import QUESTIONS
    from faultscape.verbs.run.unranked_study import why_not_ranked
    from faultscape.verbs.status import status

    if goal is not None and goal not in QUESTIONS:
        raise OptionError(
            f"--goal {goal!r} is not known; use {', '.join(QUESTIONS)}.{closest(goal, [*QUESTIONS])}"
        )
    study, scale = needed_text(study, "study"), place_text(scale)
    given = [one if isinstance(one, Mapping) else place_text(one) for one in arguments]
    root, done = Path(study), []
    if truth is not None and truths(root):
        choose_truth(root, truth)  # otherwise an unknown name would silently rank nothing
    done += _collected_and_predicted(study, given, engine, task=task, classes=classes, size=size)
    if undone(root, "pairs"):
        from faultscape.verbs.compare import compare

        done.append(repr(compare(study, engine=engine)))
    asked = {
        "scale": scale,
        "per_class": per_class,
        "top": top,
        "distance": distance,
        "concordance": concordance,
    }
    done += _selected(
        study, {name: value for name, value in asked.items() if value is not None}, goal, engine
    )
    if truths(root):
        done += _ranked(study, truth, engine)
    done += _made_again(study, engine)
    return Ran(tuple(done), status(study), why_not_ranked(study))


def _collected_and_predicted(study: str, arguments: Sequence[Source], engine: str, **about: Any) -> list[str]:
    """Collect the images and predict the models that are named, with the settings ``about`` the study. If no
    model is named, predict the study's models that lack maps and whose sources exist. Made sets follow the
    images, before models see them.
    """
    from faultscape.errors import StudyError
    from faultscape.prediction.catalogue import source_of, there
    from faultscape.reading.study import Study
    from faultscape.terminal_lines import option_words
    from faultscape.verbs.collect import collect
    from faultscape.verbs.predict import predict
    from faultscape.verbs.predict.artefact import lacking_parts
    from faultscape.verbs.predict.models import named

    images = [a for a in arguments if isinstance(a, str) and (("=" not in a) or Path(a).exists())]
    models = [a for a in arguments if a not in images]
    about, there_is_one = (
        {name: value for name, value in about.items() if value is not None},
        (Path(study) / "study.toml").exists(),
    )
    if models and not images and not there_is_one:
        line = " ".join([f"faultscape run {shlex.quote(study)} IMAGES NAME=SOURCE ...", *option_words(about)])
        raise StudyError(f"{study} is not a study yet; name its images as well as the models: `{line}`")
    if models and not there_is_one:  # a study without its models would be left over
        task = str(about.get("task", "segmentation"))
        for name, source in named(models, task).items():
            source_of(name, source, task)
    done = [repr(collect(study, *images, **about))] if images or (about and there_is_one) else []
    if there_is_one:
        done += _stressed_again(study, engine)
    if models:
        return [*done, repr(predict(study, *models, engine=engine))]
    if not (Path(study) / "study.toml").exists():
        return done
    snapshot = Study(Path(study))
    lacking = {name: snapshot.settings.models[name].source for name in lacking_parts(snapshot)}
    todo = {name: source for name, source in lacking.items() if there(source)}
    if gone := [name for name in lacking if name not in todo]:
        done.append(f"{', '.join(gone)}: the source is no longer there; the stored maps are used")
    return [*done, repr(predict(study, todo, engine=engine))] if todo else done


def _stressed_again(study: str, engine: str) -> list[str]:
    """Remake the stale and missing made sets, each once, and sets made from these afterwards."""
    from faultscape.reading.study import Study
    from faultscape.verbs import stress
    from faultscape.verbs.given_options import call_again
    from faultscape.verbs.graph import undone

    root, made = Path(study), dict[str, str]()
    while todo := next((node.name for node in undone(root, "sets") if node.name not in made), ""):
        about = Study(root).stress.sets[todo]
        made[todo] = repr(call_again(getattr(stress, about.kind), study, about.line, engine=engine))
    return list(made.values())


def _selected(study: str, asked: dict[str, Any], goal: Question | None, engine: str) -> list[str]:
    """Choose images for a question, if none are chosen for it, or bring the duels of main up to date."""
    from faultscape.errors import OptionError
    from faultscape.reading.study import Study
    from faultscape.standings import ENOUGH
    from faultscape.verbs.run.question import asked_in_a_terminal, chosen_for
    from faultscape.verbs.select import select
    from faultscape.verbs.status.more_images import pool_size

    snapshot = Study(Path(study))
    of_duels = [name for name in _OF_DUELS if name in asked]
    if goal is None and not snapshot.selections:
        goal = "failures" if of_duels else asked_in_a_terminal()
    if goal is None or goal == "failures":
        return _duelled(study, asked, engine, wanted=goal is not None)
    there = goal in chosen_for(snapshot)
    if there and not asked:
        return []
    if of_duels:
        flag = f"--{of_duels[0].replace('_', '-')}"
        raise OptionError(f"{flag} is for --goal failures; --goal {goal} draws images for all models at once")
    if there:
        flag = f"--{next(iter(asked)).replace('_', '-')}"
        again = f"faultscape select {shlex.quote(study)} --goal {goal} {flag} ..."
        there_already = f"images are drawn for --goal {goal} already"
        raise OptionError(f"{there_already}; {flag} draws others: `{again} --as NAME`")
    budget = {"budget": min(ENOUGH, pool_size(Study(Path(study))))} if goal == "order" else {}
    return [_summary(select(study, goal=goal, engine=engine, **budget, **asked))]


def _summary(made: object) -> str:
    """Return a selection as printed, without what is next, which `run` says at the end."""
    from faultscape.verbs.select.chosen_result import Selected

    return made.summary() if isinstance(made, Selected) else repr(made)


def _duelled(study: str, asked: dict[str, Any], engine: str, *, wanted: bool) -> list[str]:
    """Choose images on which models differ if these are ``wanted`` and none are chosen, or extend the duels.
    Replace main if it has no labels; otherwise return the command to run.
    """
    from faultscape.errors import FixedSelectionError, SelectionError
    from faultscape.reading.evidence import labelled_among
    from faultscape.reading.study import Study
    from faultscape.study.tables.selections import MAIN
    from faultscape.terminal_lines import option_words
    from faultscape.verbs.given_options import call_again
    from faultscape.verbs.graph import undone
    from faultscape.verbs.select import select
    from faultscape.verbs.select.artefact import can_grow, options_again

    snapshot = Study(Path(study))
    undone = [node for node in undone(Path(study), "selection") if node.name in ("", MAIN)]
    if not undone and not asked and (MAIN in snapshot.selections or not wanted):
        return []
    if undone and undone[0].name and not can_grow(snapshot, MAIN):
        node = undone[0]
        if labelled_among(Path(study), {row.image for row in snapshot.selections[MAIN].slots.rows}):
            if asked:
                raise SelectionError(
                    f"selection main is labelled and stale ({', '.join(node.why)}), so `run` keeps it; to"
                    f" choose again with {' '.join(option_words(asked))}: `{node.line}`"
                )
            return [f"selection {node.words}; {', '.join(node.why)}; to choose again: {node.line}"]
        asked = {**options_again(snapshot, MAIN), **asked, "replace": True}
    try:
        slots = call_again(select, study, asked, engine=engine)
    except FixedSelectionError as error:
        if not asked:
            raise
        line = " ".join([f"faultscape select {shlex.quote(study)}", *option_words(asked)])
        raise SelectionError(
            f"selection main is there, and `run` does not choose again with {' '.join(option_words(asked))};"
            f" beside it: `{line} --as NAME`, in its place: `{line} --replace`"
        ) from error
    line = f"faultscape run {shlex.quote(study)} --goal order"
    return [_summary(slots), f"these show where models fail; which is better: {line}"]


def _ranked(study: str, truth: str | None, engine: str) -> list[str]:
    """Rank every selection that can be ranked and is not ranked yet, with the options given before."""
    from faultscape.reading.evidence import find_truth
    from faultscape.reading.study import Study
    from faultscape.verbs.given_options import call_again
    from faultscape.verbs.graph import undone
    from faultscape.verbs.label import artefact as labels
    from faultscape.verbs.rank import artefact as standings
    from faultscape.verbs.rank import rank
    from faultscape.verbs.select import artefact as selection

    done, snapshot = [], Study(Path(study))
    names = [node.name for node in undone(Path(study), "standings")]
    for name in selection.in_order(snapshot):
        slots = snapshot.selections[name].slots
        held = standings.provenance(snapshot, name)
        before = (held or {}).get("truth")
        if name in names or (truth is not None and held and before != truth and snapshot.knows(slots.models)):
            counts = truth or (before if before in snapshot.truths else find_truth(Path(study)))
            how = standings.again(snapshot, name, counts)
            few = (
                f"too few of its images have a label (truth {counts})"
                if labels.is_short(snapshot, name, counts)
                else ""
            )
            if why_not := how.in_the_way or few:
                done.append(f"standings of {name}: {why_not}")
            elif counts:
                table = call_again(rank, study, how.options, selection=name, truth=counts, engine=engine)
                question = "which is better" if slots.draws else "where they fail"
                several = len(snapshot.selections) > 1
                tables = table.tables()  # the verdict is the last thing that `run` prints
                done.append(f"{name} ({question}): {tables}" if several else tables)
            else:
                merge = "".join(
                    f"`{node.line}` merges them, or " for node in undone(Path(study), "joined labels")
                )
                several = f"there are several truths ({', '.join(snapshot.truths)})"
                done.append(f"standings of {name}: {several}; {merge}choose one with --truth NAME")
    return done


def _made_again(study: str, engine: str) -> list[str]:
    """Measure, plan and report again what is stale, with the options given before."""
    from faultscape.reading.study import Study
    from faultscape.verbs import measure
    from faultscape.verbs import plan as plan_verb
    from faultscape.verbs import reliability as reliability_verb
    from faultscape.verbs import report as report_verb
    from faultscape.verbs.given_options import call_again
    from faultscape.verbs.graph import undone
    from faultscape.verbs.measure import artefact as measures
    from faultscape.verbs.plan import artefact as plan
    from faultscape.verbs.reliability import artefact as reliability
    from faultscape.verbs.report import artefact as report

    root, done = Path(study), []
    if undone(root, "measures"):
        done.append(
            repr(call_again(measure.measure, study, measures.again(Study(root)).options, engine=engine))
        )
    if undone(root, "plan"):
        call_again(plan_verb.plan, study, plan.again(Study(root)).options, engine=engine)
        done.append(f"{root / 'plan.json'}: planned again; `faultscape plan {shlex.quote(study)}` prints it")
    if undone(root, "reliability"):
        given = reliability.again(Study(root)).options
        done.append(repr(call_again(reliability_verb.reliability, study, given, engine=engine)))
    pages = {node.name: report.again(Study(root), node.name).options for node in undone(root, "report")}
    return done + [
        repr(call_again(report_verb.report, study, given, selection=name)) for name, given in pages.items()
    ]
