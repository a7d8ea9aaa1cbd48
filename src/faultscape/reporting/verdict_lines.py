"""The verdict on a study: which model to use, by how much, what is not settled, where the model fails, and
what to do next.

Conventions: made from the standings of all selections, in the order in which they speak: images drawn for all
models before those chosen because models differ. A model is to be used only where it is better than every
other one, corrected for all pairs at once, for images to come if the draws can say that (labels in six groups
or more), else for the pool. Each clause says of which images it speaks where these are two: the numbers of
`plan` decide the pool. Differences are in points of the metric, 100 times the difference of two scores.
Intervals of duels, and of rounds that learnt from labels, are descriptive: they show who leads on these
images, never by how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from faultscape.errors import counted
from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.drawn.rankings import SKIPPED_DRAWS
from faultscape.ranking.planning.point_needs import points_to_tell
from faultscape.ranking.replicates import FUTURE, SAME_GROUPS
from faultscape.reporting.competition.standing_tables import any_of, descriptive, for_intervals, recommended
from faultscape.reporting.verdict import PairNeed, Verdict, Work, nothing_said
from faultscape.reporting.view import listed
from faultscape.standings import (
    FEW,
    MOST_POINTS,
    Failing,
    Gap,
    ModelRanking,
    Standings,
    could_be_best,
    decimals,
    indifference_of,
    labels_to_tell,
    not_worth_going_on,
    of_both,
    shown_best,
)

METRICS = {
    "miou": "mIoU (mean over images)",
    "fwiou": "frequency-weighted IoU (mean over images)",
    "mpa": "mean pixel accuracy (mean over images)",
    "pixel_accuracy": "pixel accuracy (mean over images)",
    "dice": "Dice (mean over images)",
    "pq": "PQ of instances (mean over images)",
}
_LATER = {FUTURE: "images to come", SAME_GROUPS: "more images of the same groups"}
_NAMED = 4  # more models than that are counted, not named
_PAIRS = 2  # open pairs that are named


def verdict(
    standings: Mapping[str, Standings],
    *,
    models: Sequence[str],
    labelled: int = 0,
    needs: Mapping[tuple[str, str], PairNeed] | None = None,
    stale: Mapping[str, str] | None = None,
    work: Work | None = None,
    study: str = "STUDY",
) -> Verdict:
    """Return the verdict of the ``standings`` {selection: its standings} of a study, in the order in which
    they speak.

    ``models`` are those of the study, ``labelled`` the number of its labelled images, ``needs`` what `plan`
    expects of each pair of models in the order of the study, ``stale`` {selection: why its standings are out
    of date}, ``work`` what is next, and ``study`` how commands name the study.
    """
    work = work or Work()
    if not (speaks := _speaker(standings)):
        first = next(iter(standings.values()), None)
        why_not = for_intervals(first) if first is not None else ""
        return nothing_said(first, models, labelled, work, why_not)
    one = standings[speaks]
    name = recommended(one)
    said = _spoken(one, name)
    of_chosen = descriptive(said)
    best = tuple((of_chosen and shown_best(said)) or could_be_best(said))
    # what changed since may be a model that is better
    decided = len(could_be_best(said)) == 1 and not of_chosen and speaks not in (stale or {})
    enough = not decided and speaks not in (stale or {}) and not_worth_going_on(said, indifference_of(one))
    head = _headline(one, said, best, decided=decided, stale=speaks in (stale or {}))
    if enough:
        head = f"Not worth going on: {_all_of(best)} differ by less than {_indifference(one)}"
    lead = said.gaps[0] if said.gaps and not of_chosen else None
    metric = _metric(one)
    lines = [f"{head}."]
    # a model that came since may be better by any number of points
    open_ = len(could_be_best(said)) > 1 and speaks not in (stale or {})
    lines += [_by_how_much(one, said, lead, metric, open_=open_)] if lead else []
    if one.definitions.get("anytime") and lines[1:] and speaks not in (stale or {}):
        here = "" if decided else " if this pool is all that you ask about"
        if decided or _pool_alone(one, said):
            lines[-1] += f" You can stop{here}: this holds however often you looked."
    if (looked := one.rankings.get("anytime")) and looked.unusable:
        lines.append(f"Looked at any time, nothing is claimed yet: {looked.unusable}.")
    told = () if speaks in (stale or {}) else best
    if not enough:
        lines += filter(None, [_not_settled(one, said, needs or {}, decided=decided, told=told)])
    # of a score that is printed as 100 % nothing fails
    if one.failing and one.failing.model == best[0] and one.failing.score < 0.995:
        lines.append(_where_it_fails(one.failing, "IoU " if "concordance" in one.definitions else ""))
    told = best[:1] if enough else best  # no label is asked for where it is not worth it
    lines += filter(None, [" ".join(_caveats(standings, speaks, said, told, stale or {}, study))])
    return Verdict(
        best,
        decided,
        head,
        tuple(lines),
        speaks,
        said.speaks_of,
        metric,
        lead,
        one.failing,
        work.line,
        work.hours,
    )


def _speaker(standings: Mapping[str, Standings]) -> str:
    """Return the selection that speaks: of those whose intervals claim most, the one with most labels;
    between images and points, whose numbers cannot be compared, the one with the narrowest interval of the
    leader's lead. '' without any.
    """
    claims = [name for name, one in standings.items() if _claims(one)]
    first = {name: standings[name].rankings[recommended(standings[name])] for name in claims}
    drawn = [name for name in claims if not descriptive(first[name])]
    most = {
        points: max(
            (name for name in drawn or claims if ("points" in standings[name].labels) == points),
            key=lambda name: standings[name].labels.get("used", 0),
            default="",
        )
        for points in (False, True)
    }

    def width(name: str) -> float:
        return next((gap.interval[1] - gap.difference for gap in first[name].gaps), math.inf)

    return min(filter(None, most.values()), key=width, default="")


def _claims(standings: Standings) -> bool:
    """Whether standings say which models could be the best."""
    name = recommended(standings)
    return bool(name) and bool(standings.rankings[name].tied_for_best)


def _spoken(standings: Standings, name: str) -> ModelRanking:
    """Return the ranking that speaks: of data to come if that has intervals, else the standings' own."""
    pool, later = of_both(standings, name)
    return later if later is not None and later.gaps else pool


def _metric(standings: Standings) -> str:
    if "metric" in standings.definitions:
        return str(standings.definitions["metric"])
    concordance = str(standings.definitions.get("concordance", "")) or "accuracy"
    return METRICS.get(concordance, concordance)


def _pool_alone(standings: Standings, said: ModelRanking) -> str:
    """Return the model that is the best of the pool where the verdict speaks of images to come, and these are
    open; '' if there is none.
    """
    of_pool = could_be_best(of_both(standings, recommended(standings))[0])
    return of_pool[0] if said.speaks_of in _LATER and len(could_be_best(said)) > len(of_pool) == 1 else ""


def _this_pool(standings: Standings) -> str:
    size = standings.labels.get("pool")
    return f"this pool of {size:,} images" if size else "this pool"


def _headline(
    standings: Standings, said: ModelRanking, best: Sequence[str], *, decided: bool, stale: bool
) -> str:
    if decided:
        return f"Use {best[0]}"
    if alone := _pool_alone(standings, said):
        here = f"On {_this_pool(standings)}, {alone}"
        if stale:
            return f"{here} was best before the study changed"
        later = f"for {_LATER[said.speaks_of]}, it may be {any_of(best, standings)}"
        return f"{here} is best{_lead_here(standings)}; {later}"
    if descriptive(said):
        images = counted(standings.labels.get("used", 0), "labelled image")
        chosen = "" if _skipped(standings) else " chosen for what the models predict"
        if len(best) == len(standings.models) > 2:
            who = f"none of the {len(best)} models clearly leads"
        else:
            who = f"{_one_of(best)} leads"
        return f"On the {images}{chosen}, {who}"
    if len(best) == 1:
        return f"{best[0]} was best before the study changed"
    if len(best) == len(standings.models) > 2:
        return f"The labels do not decide between the {len(best)} models; {best[0]} is ahead"
    open_ = f"The labels do not decide between {_all_of(best)}"
    others = [model for model in said.order if model not in best]
    if not others:
        return open_
    if len(others) > _NAMED:
        return f"{open_}; none of the other {len(others)} is the best"
    none = "is not" if len(others) == 1 else "are not"
    return f"{open_}; {listed(others)} {none} the best"


def _lead_here(standings: Standings) -> str:
    """Return by how much the best model of the pool is ahead there, in parentheses, or ''."""
    gaps = of_both(standings, recommended(standings))[0].gaps
    if not gaps:
        return ""
    low, high = (100 * end for end in gaps[0].interval)
    digits = decimals([(low, high)]) if high > low else 1
    between = f" [{_rounded(low, digits)}, {_rounded(high, digits)}]" if high > low else ""
    return f" ({_points(100 * gaps[0].difference, digits)} ahead of {gaps[0].other}{between})"


def _by_how_much(standings: Standings, said: ModelRanking, lead: Gap, metric: str, *, open_: bool) -> str:
    low, high = (100 * end for end in lead.interval)
    points = 100 * lead.difference
    here = f"on {_this_pool(standings)}"
    about = f"for {_LATER[said.speaks_of]}" if said.speaks_of in _LATER else here
    if not high > low:  # all that could be drawn is labelled
        ahead = f"{lead.model} is ahead of {lead.other} by {_points(points, 1)} of {metric}"
        return f"{ahead} {about}, all of it labelled."
    digits = decimals([(low, high)])
    between = f"[{_rounded(low, digits)}, {_rounded(high, digits)}]"
    by = _points(points, digits)
    ahead = f"{lead.model} is ahead of {lead.other} by {by} of {metric} {between} {about}"
    # intervals hold for all pairs at once
    lost = max(-100 * gap.interval[0] for gap in said.gaps if gap.model == lead.model)
    if not open_ or not lost > 0:
        return f"{ahead}."
    # a bound that rounds to nothing would claim that nothing can be lost
    most = _points(max(lost, 10.0**-digits), digits)
    return f"{ahead}; no other model is more than {most} better (95 %)."


def _not_settled(
    standings: Standings,
    said: ModelRanking,
    needs: Mapping[tuple[str, str], PairNeed],
    *,
    decided: bool,
    told: Sequence[str],
) -> str:
    """Return a sentence on the pairs that are left open: the leader's first, then neighbors in order. What
    `plan` expects is about the pool. ``told`` are the models between which the headline does not decide.
    """
    open_ = [gap for gap in said.gaps if not gap.settled]
    place = {model: k for k, model in enumerate(standings.models)}
    pool = of_both(standings, recommended(standings))[0].gaps
    known = {frozenset((gap.model, gap.other)) for gap in pool if gap.settled}
    later = bool(_pool_alone(standings, said))
    named_above = later and 0 < len(told) <= _NAMED  # as those of which any may be the best of images to come
    if named_above:
        open_ = [gap for gap in open_ if not {gap.model, gap.other} <= set(told)]
    if not open_:
        return ""
    whole = 0 < standings.labels.get("pool", 0) <= standings.labels.get("used", 0)

    def words(gap: Gap) -> str:
        if gap.labels and not later:
            return f"{gap.model} or {gap.other}{_more_to_stop(gap.labels, standings)}"
        if frozenset((gap.model, gap.other)) in known:
            return f"{gap.model} or {gap.other}{'' if later else ' (settled on this pool)'}"
        if whole:  # nothing is left to label
            return f"{gap.model} or {gap.other}"
        if "points" in standings.labels:
            here = next((own for own in pool if {own.model, own.other} == {gap.model, gap.other}), gap)
            more = _more_points(here, standings.labels["points"], len(standings.models))
            return f"{gap.model} or {gap.other}{more}"
        key = tuple(sorted((gap.model, gap.other), key=lambda model: place[model]))
        need = needs.get((key[0], key[1]))
        return f"{gap.model} or {gap.other}{_more(need, standings.labels.get('used', 0))}"

    named = [words(gap) for gap in open_[:_PAIRS]]
    rest = len(open_) - len(named)
    more = f", and {counted(rest, 'more pair')}" if rest else ""
    # numbers of labels are of the pool, which is settled as far as the best model goes
    what = "Not settled further down" if decided else "Not settled"
    if later:
        what = f"{'Also not settled' if named_above else what} for {_LATER[said.speaks_of]}"
    return f"{what}: {'; '.join(named)}{more}."


def _indifference(standings: Standings) -> str:
    points = f"{100 * indifference_of(standings):g}"
    return f"{points} {'point' if points == '1' else 'points'} of {_metric(standings)}"


def _more_to_stop(labels: Sequence[float], standings: Standings) -> str:
    """Return how many labels more are expected until a pair is told apart at any look.

    >>> few = Standings(("a", "b"), {"used": 60, "pool": 500}, {}, {}, {})
    >>> _more_to_stop([100.0, 70.0, math.nan], few), _more_to_stop([math.nan] * 3, few)
    (' (about 40 more labels, at least 10)', ' (more labels than the 440 images left)')
    """
    used = standings.labels.get("used", 0)
    left = standings.labels.get("pool", 0) - used
    middle, low, high = (number - used if math.isfinite(number) else math.inf for number in labels)
    if not middle < left:
        return f" (more labels than the {left:,} images left)"
    most = f"{max(int(low), 1):,} to {int(high):,}" if high < left else f"at least {max(int(low), 1):,}"
    return f" (about {counted(max(int(middle), 1), 'more label')}, {most})"


def _more(need: PairNeed | None, used: int) -> str:
    if need is None:
        return ""
    if math.isnan(need.labels):
        return " (how many labels would decide this pool cannot be predicted)"
    low, high = (max(int(number) - used, 0) for number in (need.low, need.high))
    middle = max(int(need.labels) - used, 0)
    if not high:
        return " (a few more labels would decide this pool)"
    if not middle:
        return f" (up to {counted(high, 'more label')} would decide this pool)"
    return f" (about {counted(middle, 'more label')} would decide this pool, {low:,} to {high:,})"


def _more_points(gap: Gap, used: int, models: int) -> str:
    """Return how many points more would tell two of J ``models`` apart, as far as those ``used`` show.

    >>> _more_points(Gap("a", "b", 0.02, [-0.002, 0.042], False), 300, 2)
    ' (about 450 more points would decide this pool, 50 to 7,400)'
    >>> _more_points(Gap("a", "b", 0.001, [-0.03, 0.032], False), 300, 2)
    ' (about 4,900 more points would decide this pool, at least 600)'
    """
    need = points_to_tell(gap, used, models)
    if need.hopeless:
        return f" (more than {MOST_POINTS:,} points would be needed)"
    middle, low, high = need.more(used)
    if need.points > MOST_POINTS:
        return f" (at least {low:,} more points would be needed)"
    most = f"{low:,} to {high:,}" if need.high <= MOST_POINTS else f"at least {low:,}"
    return f" (about {middle:,} more points would decide this pool, {most})"


def _where_it_fails(failing: Failing, score_is: str) -> str:
    score = f"{score_is}{_rounded(100 * failing.score, 0)} %{'' if score_is else ' right'}"
    on = counted(failing.images, "labelled image")
    share = f"{_rounded(100 * failing.share, 0)} % of it is taken for {failing.taken_for}"
    mistaken = f"; {share}, most on {failing.image}" if failing.taken_for else f", as on {failing.image}"
    so_far = "so far " if failing.images < FEW else ""
    return f"{failing.model} {so_far}fails most on {failing.worst}: {score} on {on}{mistaken}."


def _caveats(
    standings: Mapping[str, Standings],
    speaks: str,
    said: ModelRanking,
    best: Sequence[str],
    stale: Mapping[str, str],
    study: str,
) -> list[str]:
    """Return sentences on what limits the verdict: standings out of date, groups, other selections, other
    truths.
    """
    one = standings[speaks]
    out = []
    # standings that are out of date do not know of groups that were made since
    name = recommended(one)
    pool, later = of_both(one, name)
    if one.definitions.get("alike") and later is not None and speaks not in stale:
        together = one.definitions.get("together")
        cure = (
            f"`faultscape collect {study} {together}` makes it sound, often wider"
            if together
            else f"groups of them (`collect --group`) make it sound once labels lie in {LEAST} groups"
        )
        out.append(f"Neighboring images are alike, so this interval is rough; {cure}.")
    if descriptive(said) and _skipped(one):
        why = "images that were drawn before some of them have none"
        out.append(f"These labels are not a fair sample, because {why}: label or discard those.")
    if speaks in stale:
        out.append(f"This is out of date: {stale[speaks]}.")
    if later is not None and not later.gaps and pool.gaps:
        out.append(f"Images to come cannot be judged: labels lie in fewer than {LEAST} groups.")
    if len(best) > 1 and said.speaks_of in _LATER and speaks not in stale:
        out += filter(None, [_what_would_tell(one, said, study)])
    for other, table in standings.items():
        if other != speaks and _claims(table):
            leader = table.rankings[recommended(table)].order[0]
            if leader not in best:
                items = "points" if "points" in table.labels else "images"
                out.append(f"On the {items} of selection {other}, {leader} leads.")
    truth = one.provenance.get("truth", "labels")
    against = {other: held for other, held in one.by_truth.items() if held.leader != best[0]}
    for other, held in list(against.items())[:1]:
        more = f" (and by {len(against) - 1} more)" if len(against) > 1 else ""
        on = counted(held.images, "image")
        out.append(f"This is by truth {truth}; by {other}{more}, {held.leader} leads on {on}.")
    return out


def _skipped(standings: Standings) -> bool:
    """Whether drawn images were skipped: then labels describe these images alone."""
    return SKIPPED_DRAWS in str(standings.definitions.get("descriptive", ""))


def _what_would_tell(standings: Standings, said: ModelRanking, study: str) -> str:
    """Return a sentence on what would tell which model is best for images to come, or ''."""
    used = standings.labels.get("used", 0)
    size = standings.labels.get("pool", 0)
    number = labels_to_tell(of_both(standings, recommended(standings))[0], said, used, size)
    alone = _pool_alone(standings, said)
    later = _LATER[said.speaks_of]
    if math.isinf(number):
        more = f"(`faultscape collect {study} MORE/`)"
        if alone:
            return f"More images {more}, not labels, would tell for {later}."
        return f"For {later}, more images {more} are needed as well."
    if not alone:
        return ""
    more = counted(max(math.ceil(number) - used, 1), "more label")
    return f"If the lead stays as it is, about {more} would tell for {later}."


def _all_of(models: Sequence[str]) -> str:
    return listed(models) if len(models) <= _NAMED else f"{models[0]} and {len(models) - 1} others"


def _one_of(models: Sequence[str]) -> str:
    return listed(models, "or") if len(models) <= _NAMED else f"one of {len(models)} models"


def _points(value: float, digits: int) -> str:
    """Return a lead in points with so many decimals; what rounds to none is said to be less than half of the
    last digit.

    >>> _points(1.24, 1), _points(1.0, 0), _points(0.04, 1), _points(0.4, 0), _points(0.0004, 2)
    ('1.2 points', '1 point', 'less than 0.05 points', 'less than 0.5 points', 'less than 0.005 points')
    """
    number = _rounded(value, digits)
    if float(number) == 0:
        return f"less than {0.5 * 10.0**-digits:.{digits + 1}f} points"
    return f"{number} {'point' if number == '1' else 'points'}"


def _rounded(value: float, digits: int) -> str:
    """Return a number with so many decimals, and never a negative zero.

    >>> _rounded(-0.0004, 3), _rounded(1.25, 1)
    ('0.000', '1.2')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}"
