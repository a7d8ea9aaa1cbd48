"""report: what was found, as one HTML file that a person can open anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import OptionError, StudyError, counted
from faultscape.nouns import Draw, PairSlot


@dataclass(frozen=True)
class Reported:
    """What `report` wrote: the file, its size in bytes, and how many chosen images it shows."""

    path: str
    size: int
    images: int

    def __repr__(self) -> str:
        return f"{self.path}: {counted(self.images, 'chosen image')}, {self.size / 1e6:.1f} MB; open it in a browser"


def report(
    study: str,
    *,
    selection: str = "main",
    output: str | None = None,
    bands: list[float] | None = None,
    better: float = 0.1,
    reference_images: str | None = None,
    thumbnail: int = 320,
) -> Reported:
    """Write a self-contained HTML report of a selection: standings, how firm they are, outcomes, and a gallery of the images.

    It shows as much as there is: without labels the selection alone, with labels their outcomes, after `rank` the standings, and the standings of the study's other selections
    beside them.

    Parameters
    ----------
    study
        The study folder.
    selection
        Which selection is reported.
    output
        The file to write; default STUDY/report.html, or report-NAME.html for another selection.
    bands
        Of label maps: edges of the bands in which values are counted, rising; below the first a model fails. Default: 0.6 and 0.8.
    better
        Of duels: from this difference on, one side is called better (case II).
    reference_images
        A folder of benchmark images, one sub-folder a class, shown beside the chosen ones; of label maps also images/ and labels/.
    thumbnail
        Longest side of the pictures in the gallery, in pixels.
    """
    from faultscape.reporting.competition import outcomes, page
    from faultscape.stages.report import classes, maps
    from faultscape.study.folder import existing, put
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.logs import log

    root = existing(study)
    edges = outcomes.check(outcomes.BANDS if bands is None else bands, better)
    if not 32 <= thumbnail <= 2048:
        raise OptionError(f"thumbnail lies between 32 and 2048 pixels; got {thumbnail}")
    drawn = selections.read_selection(root, selection)[0]
    target = Path(output) if output else selections.path(root, selection, "html", stem="report")
    if target.is_dir():
        raise OptionError(f"--output {output}: is a folder; name the file to write")
    classifies, kind = read_settings(root).classifies, type(drawn.rows[0]) if drawn.rows else None
    if reference_images and kind is Draw and not classifies:
        raise OptionError(
            f"--reference-images stand beside images chosen for a class; selection {selection!r} was drawn for all classes at once"
        )
    if bands is not None and classifies:
        raise OptionError("--bands are of values of label maps; answers of classifiers are right or wrong. Leave it out")
    common = _common(root, selection, drawn)
    if classifies:
        facts: Any = classes.facts(root, kind is PairSlot, common, reference_images, thumbnail)
    elif kind is Draw:
        facts = maps.draws(root, common, edges, thumbnail)
    else:
        facts = maps.duels(root, drawn, common, edges, better, reference_images, thumbnail)
    data = page.page(facts).encode("utf-8", "xmlcharrefreplace")
    with writing(root):
        put(target, data)
        log(root, "report", selection=selection, output=str(target))
    return Reported(str(target), len(data), len(facts.slots.images))


def _common(root: Path, selection: str, drawn: Any) -> dict[str, Any]:
    """Return what every kind of page needs to know: see reporting.pages.Facts."""
    from faultscape.stages import evidence
    from faultscape.stages.evidence import current
    from faultscape.stages.standings_state import standings_state
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.logs import read_failures
    from faultscape.study.tables.pool import read_pool
    from faultscape.study.tables.timings import frame_times

    discarded = Answers(root).discarded()
    slots = current(root, selection, discarded)
    state, standings, remarks = standings_state(root, selection), _standings(root, selection), []
    if standings is not None and state == "stale":
        remarks.append("These standings are older than the selection, the labels or the discards. Run `faultscape rank` again.")
    others, selectors, stale = {}, {}, []
    for name in selections.names(root):
        table = standings if name == selection else _standings(root, name)
        if table is not None:
            others[name] = table
            selectors[name] = str(selections.read_selection(root, name)[0].definition.get("selector", ""))
            stale += [name] if standings_state(root, name) == "stale" else []
    ranked = standings.provenance.get("truth") if standings else None
    truth = evidence.find_truth(root, ranked) or evidence.find_truth(root)
    images: list[str] = []
    values = np.zeros((len(slots.models), 0))
    gone = [m for m in slots.models if m not in read_settings(root).models]
    if gone:
        remarks.append(f"{gone[0]} is no longer in the study: its answers are not shown, nor how the labels went.")
    elif truth:
        try:
            images, values = evidence.scores(root, slots.models, truth, slots.definition, discarded)
        except StudyError:
            remarks.append(
                "The labels have not been compared with the models yet, so outcomes are left out. Run `faultscape rank`."
            )
    mine = set(slots.images)
    inside = [k for k, image in enumerate(images) if image in mine]
    return {
        "study": root.resolve().name,
        "selection": selection,
        "slots": slots,
        "classes": read_settings(root).class_list,
        "pool": len(read_pool(root).ids),
        "state": state,
        "standings": standings,
        "truth": truth,
        "labelled": [images[k] for k in inside],
        "values": values[:, inside],
        "others": others,
        "selectors": selectors,
        "stale": tuple(stale),
        "discarded": len({row.image for row in drawn.rows} & set(discarded)),
        "failures": len(read_failures(root)),
        "remarks": tuple(remarks),
        "agreement": _agreement(root),
        "times": tuple(row for row in frame_times(root) if row.name in slots.models),
    }


def _agreement(root: Path) -> Any:
    """Return how far the study's models agree; None where it cannot be said before `compare` has run."""
    from faultscape.stages.agreement import agreement
    from faultscape.study.settings import read_settings

    settings = read_settings(root)
    try:
        return agreement(root, settings, keep=False) if len(settings.models) > 1 else None
    except StudyError:
        return None


def _standings(root: Path, selection: str) -> Any:
    """Return the standings of a selection, None where it has none; StudyError when they are damaged."""
    import json

    from faultscape.ranking.standing import from_json
    from faultscape.study.tables import selections

    path = selections.path(root, selection, "json", stem="standings")
    if not path.exists():
        return None
    of = "" if selection == selections.MAIN else f" --selection {selection}"
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StudyError(f"{path} is damaged ({error}); make it anew with `faultscape rank {root}{of}`") from None
