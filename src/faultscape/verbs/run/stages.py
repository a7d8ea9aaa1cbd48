"""Do the stages of a study that are not done yet, each with the options that were given before."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.arguments import Source
from faultscape.choices import Question
from faultscape.errors import FixedSelectionError, OptionError, SelectionError, StudyError, counted
from faultscape.prediction.catalogue import source_of, there
from faultscape.reading.evidence import labelled_among
from faultscape.reading.study import Study
from faultscape.selection.catalogue import POINTS
from faultscape.standings import ENOUGH, FEW_POINTS
from faultscape.study.tables.selections import MAIN
from faultscape.terminal_lines import flag_of, option_words
from faultscape.verbs import stress
from faultscape.verbs.collect import collect
from faultscape.verbs.compare import compare
from faultscape.verbs.graph import node, undone
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.measure import measure
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.plan import plan
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.predict import predict
from faultscape.verbs.predict.artefact import lacking_parts
from faultscape.verbs.predict.models import named
from faultscape.verbs.rank import rank
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.reliability import reliability
from faultscape.verbs.reliability.artefact import RELIABILITY
from faultscape.verbs.report import report
from faultscape.verbs.report.artefact import REPORT
from faultscape.verbs.run.question import asked_in_a_terminal, chosen_for
from faultscape.verbs.run.signature import Ran
from faultscape.verbs.select import artefact as selection
from faultscape.verbs.select import select
from faultscape.verbs.select.chosen_result import Selected
from faultscape.verbs.select.options import ONLY_MAPS, Sampling
from faultscape.verbs.status import status
from faultscape.verbs.status.more_images import pool_size
from faultscape.verbs.verb import call_again

if TYPE_CHECKING:
    from faultscape.verbs.options import RunOptions

_OF_DUELS = ("scale", "per_class", "top")


def run_stages(options: RunOptions) -> Ran:
    """Run every stage that is not done yet."""
    study = Study(options.study)
    engine = options.engine
    truth = options.truth
    if options.points is not None and study.exists and study.classifies:
        raise OptionError(ONLY_MAPS)
    if truth is not None and study.truths:
        study.truth(truth)  # otherwise an unknown name would silently rank nothing
    about = _given(options, "task", "classes", "size")
    done = _collected_and_predicted(study, options.arguments, engine, about)
    if undone(study.reread(), "pairs"):
        done.append(repr(compare(study.called, engine=engine)))
    asked = _given(options, "scale", "per_class", "top", "distance", "concordance")
    if options.points is not None:
        done += _pointed(study.reread(), options.points, options.goal, engine)
    else:
        done += _selected(study.reread(), asked, options.goal, engine)
    if study.reread().truths:
        done += _ranked(study, truth, engine)
    done += _made_again(study, engine)
    return Ran(tuple(done), status(study.called), _why_not_ranked(study.reread()))


def _given(options: RunOptions, *names: str) -> dict[str, Any]:
    """Return those of some options that were given."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _collected_and_predicted(
    study: Study, arguments: Sequence[Source], engine: str, about: dict[str, Any]
) -> list[str]:
    """Collect the images and predict the models that are named, with the settings ``about`` the study. If no
    model is named, predict the study's models that lack maps and whose sources exist. Made sets follow the
    images, before models see them.
    """
    images = [a for a in arguments if isinstance(a, str) and (("=" not in a) or Path(a).exists())]
    models = [a for a in arguments if a not in images]
    there_is_one = study.exists
    if models and not images and not there_is_one:
        line = " ".join([f"faultscape run {study.place} IMAGES NAME=SOURCE ...", *option_words(about)])
        raise StudyError(
            f"{study.called} is not a study yet; name its images as well as the models: `{line}`"
        )
    if models and not there_is_one:  # a study without its models would be left over
        task = str(about.get("task", "segmentation"))
        for name, source in named(models, task).items():
            source_of(name, source, task)
    done = [repr(collect(study.called, *images, **about))] if images or (about and there_is_one) else []
    if there_is_one:
        done += _stressed_again(study.reread(), engine)
    if models:
        return [*done, repr(predict(study.called, *models, engine=engine))]
    if not study.exists:
        return done
    study.reread()
    lacking = {name: study.settings.models[name].source for name in lacking_parts(study)}
    todo = {name: source for name, source in lacking.items() if there(source)}
    if gone := [name for name in lacking if name not in todo]:
        done.append(f"{', '.join(gone)}: the source is no longer there; the stored maps are used")
    return [*done, repr(predict(study.called, todo, engine=engine))] if todo else done


def _stressed_again(study: Study, engine: str) -> list[str]:
    """Remake the stale and missing made sets, each once, and sets made from these afterwards."""
    made = dict[str, str]()
    while todo := next((node.name for node in undone(study.reread(), "sets") if node.name not in made), ""):
        about = study.stress.sets[todo]
        made[todo] = repr(call_again(getattr(stress, about.kind), study.called, about.line, engine=engine))
    return list(made.values())


def _pointed(study: Study, points: int, goal: Question | None, engine: str) -> list[str]:
    """Draw points, or as many more as are lacking."""
    held = study.selections[POINTS].slots if POINTS in study.selections else None
    if held is not None and len(held.points) >= points and goal in (None, held.definition.get("goal")):
        return []
    aim = None if goal == "failures" else goal
    with redirect_stdout(io.StringIO()) as said:  # notes, which would come before all that was done
        made = select(study.called, goal=aim, engine=engine, sampling=Sampling(points=points))
    return [_summary(made), *filter(None, [said.getvalue().rstrip()])]


def _selected(study: Study, asked: dict[str, Any], goal: Question | None, engine: str) -> list[str]:
    """Choose images for a question, if none are chosen for it, or bring the duels of main up to date."""
    of_duels = [name for name in _OF_DUELS if name in asked]
    if goal is None and not study.selections:
        goal = "failures" if of_duels else asked_in_a_terminal()
    if goal is None or goal == "failures":
        return _duelled(study, asked, engine, wanted=goal is not None)
    there = goal in chosen_for(study)
    if there and not asked:
        return []
    if of_duels:
        flag = flag_of(of_duels[0])
        raise OptionError(f"{flag} is for --goal failures; --goal {goal} draws images for all models at once")
    if there:
        flag = flag_of(next(iter(asked)))
        again = f"faultscape select {study.place} --goal {goal} {flag} ..."
        there_already = f"images are drawn for --goal {goal} already"
        raise OptionError(f"{there_already}; {flag} draws others: `{again} --as NAME`")
    budget = {"budget": min(ENOUGH, pool_size(study))} if goal == "order" else {}
    return [_summary(select(study.called, goal=goal, engine=engine, **budget, **asked))]


def _summary(made: object) -> str:
    """Return a selection as printed, without what is next, which `run` says at the end."""
    return made.summary() if isinstance(made, Selected) else repr(made)


def _duelled(study: Study, asked: dict[str, Any], engine: str, *, wanted: bool) -> list[str]:
    """Choose images on which models differ if these are ``wanted`` and none are chosen, or extend the duels.
    Replace main if it has no labels; otherwise return the command to run.
    """
    todo = [one for one in undone(study, "selection") if one.name in ("", MAIN)]
    if not todo and not asked and (MAIN in study.selections or not wanted):
        return []
    if todo and todo[0].name and not selection.can_grow(study, MAIN):
        stale = todo[0]
        if labelled_among(study, {row.image for row in study.selections[MAIN].slots.rows}):
            if asked:
                raise SelectionError(
                    f"selection main is labelled and stale ({', '.join(stale.why)}), so `run` keeps it; to"
                    f" choose again with {' '.join(option_words(asked))}: `{stale.line}`"
                )
            return [f"selection {stale.words}; {', '.join(stale.why)}; to choose again: {stale.line}"]
        asked = {**selection.SELECTION.options_again(study, MAIN)[0], **asked, "replace": True}
    try:
        slots = call_again(select, study.called, asked, engine=engine)
    except FixedSelectionError as error:
        if not asked:
            raise
        line = " ".join([f"faultscape select {study.place}", *option_words(asked)])
        raise SelectionError(
            f"selection main is there, and `run` does not choose again with {' '.join(option_words(asked))};"
            f" beside it: `{line} --as NAME`, in its place: `{line} --replace`"
        ) from error
    line = f"faultscape run {study.place} --goal order"
    return [_summary(slots), f"these show where models fail; which is better: {line}"]


def _ranked(study: Study, truth: str | None, engine: str) -> list[str]:
    """Rank every selection that can be ranked and is not ranked yet, with the options given before."""
    done = list[str]()
    names = [one.name for one in undone(study, "standings")]
    for name in selection.in_order(study):
        slots = study.selections[name].slots
        before = STANDINGS.truth(study, name)
        if name in names or (truth and before not in ("", truth) and study.knows(slots.models)):
            counts = truth or (before if before in study.truths else study.find_truth())
            given = {**STANDINGS.options_again(study, name)[0], "selection": name}
            given |= {"truth": counts} if counts else {}
            few = _too_few(study, name, counts)
            if why_not := STANDINGS.in_the_way(study, name, given) or few:
                done.append(f"standings of {name}: {why_not}")
            elif counts:
                table = call_again(rank, study.called, given, engine=engine)
                question = "which is better" if slots.for_all else "where they fail"
                several = len(study.selections) > 1
                tables = table.tables()  # the verdict is the last thing that `run` prints
                done.append(f"{name} ({question}): {tables}" if several else tables)
            else:
                merge = "".join(f"`{one.line}` merges them, or " for one in undone(study, "joined labels"))
                several = f"there are several truths ({', '.join(study.truths)})"
                done.append(f"standings of {name}: {several}; {merge}choose one with --truth NAME")
    return done


def _too_few(study: Study, name: str, truth: str) -> str:
    """Return why a selection cannot be ranked yet by a truth; '' if it has enough labels, or answers: the
    first points are a fair sample however many follow.
    """
    if not labels.is_short(study, name, truth):
        return ""
    if study.selections[name].slots.points:
        count = study.label_count(name, truth)
        masks = f", {count.masked} of them by masks" if count.masked else ""
        said = f"{counted(count.labelled, 'point is', 'points are')} answered{masks}"
        return f"{said}, and at least {FEW_POINTS} are needed"
    return f"too few of its images have a label (truth {truth})"


def _made_again(study: Study, engine: str) -> list[str]:
    """Measure, plan and report again what is stale, with the options given before."""
    place = study.called
    done = list[str]()
    if undone(study.reread(), "measures"):
        done.append(repr(call_again(measure, place, MEASURES.again(study).options, engine=engine)))
    if undone(study.reread(), "plan"):
        call_again(plan, place, PLAN.again(study).options, engine=engine)
        done.append(f"{study.root / 'plan.json'}: planned again; `faultscape plan {study.place}` prints it")
    if undone(study.reread(), "reliability"):
        done.append(repr(call_again(reliability, place, RELIABILITY.again(study).options, engine=engine)))
    stale = [REPORT.again(study, one.name).options for one in undone(study.reread(), "report")]
    return done + [repr(call_again(report, place, given)) for given in stale]


def _why_not_ranked(study: Study) -> str:
    """Return why no selection is ranked although the images of one are labelled, and what to do about it; ''
    where one is ranked, or labels are still missing.
    """
    if (
        len(study.models) < 2
        or not study.image_count
        or any(STANDINGS.is_done(study, name) for name in study.selections)
    ):
        return ""
    for name in selection.in_order(study):
        if set(study.selections[name].slots.models) < set(study.models):
            continue  # nothing failed: the next line draws for the added models too
        stale = node(study, selection.SELECTION, name)
        if stale.line and not labels.is_short(study, name) and not selection.is_rankable(study, name):
            return (
                f"no model was ranked: selection {name} is stale ({', '.join(stale.why)}); choose again with"
                f" `{stale.line}` (labels count for both)"
            )
    return ""
