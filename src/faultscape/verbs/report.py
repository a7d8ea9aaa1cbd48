"""report: what was found, as one HTML file that a person can open anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import ImageError, OptionError, StudyError


@dataclass(frozen=True)
class Reported:
    """What `report` wrote: the file, its size in bytes, and how many chosen images it shows."""

    path: str
    size: int
    images: int

    def __repr__(self) -> str:
        return f"{self.path}: {self.images} chosen images, {self.size / 1e6:.1f} MB; open it in a browser"


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
    """Write a self-contained HTML report of a selection: standings, matrices, how hard the images are, and a gallery of them.

    It shows as much as there is: without labels the selection alone, with labels their outcomes, after `rank` the standings.

    Parameters
    ----------
    study
        The study folder.
    selection
        Which selection is reported.
    output
        The file to write; default STUDY/report.html, or report-NAME.html for another selection.
    bands
        Edges of the bands in which values are counted, rising; below the first a model fails. Default: 0.6 and 0.8.
    better
        From this difference on, one side of a duel is called better (case II).
    reference_images
        A folder of benchmark images, one sub-folder a class (or images/ and labels/), shown beside the chosen ones.
    thumbnail
        Longest side of the pictures in the gallery, in pixels.
    """
    import json

    import numpy as np

    from faultscape.ranking.standing import from_json
    from faultscape.reporting import gallery, outcomes, pages, references
    from faultscape.study import label_maps, selections
    from faultscape.study.answers import Answers
    from faultscape.study.corpus import pool, read_corpus
    from faultscape.study.folder import existing, put
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import log, read_failures
    from faultscape.study.timings import frame_times
    from faultscape.verbs.label import current
    from faultscape.verbs.labelled import accuracies
    from faultscape.verbs.rank import rank_key

    root = existing(study)
    edges = outcomes.check(outcomes.BANDS if bands is None else bands, better)
    if not 32 <= thumbnail <= 2048:
        raise OptionError(f"thumbnail lies between 32 and 2048 pixels; got {thumbnail}")
    drawn = selections.read_selection(root, selection)[0]
    settings, images, discarded = read_settings(root), read_corpus(root), Answers(root).discarded()
    slots, classes = current(root, selection, discarded), settings.class_list
    beside = references.find(reference_images, classes) if reference_images else {}

    state, standings, remarks = rank_key(root, selection), None, []
    path = selections.path(root, selection, "json", stem="standings")
    if path.exists():
        try:
            standings = from_json(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise StudyError(f"{path} is damaged ({error}); make it anew with `faultscape rank {root}`") from None
    if standings is not None and state == "stale":
        remarks.append("These standings are older than the selection, the labels or the discards. Run `faultscape rank` again.")

    truth = _truth(label_maps.truths(root), standings)
    labelled: list[str] = []
    values = np.zeros((len(slots.models), 0))
    if truth:
        try:
            labelled, values = accuracies(root, slots.models, truth, slots.definition, discarded)
        except StudyError:
            remarks.append(
                "The labels have not been compared with the models yet, so outcomes are left out. Run `faultscape rank`."
            )
    mine = set(slots.images)
    inside = [k for k, image in enumerate(labelled) if image in mine]
    labelled, values = [labelled[k] for k in inside], values[:, inside]

    of_slots = outcomes.slot_values(slots.models, slots.chosen, labelled, values)
    which = [outcomes.case(d, a, edges[0], better) for d, a in of_slots.tolist()]
    by_model = {
        image: {m: None if np.isnan(v) else float(v) for m, v in zip(slots.models, values[:, k], strict=True)}
        for k, image in enumerate(labelled)
    }
    by_id = {image.id: image for image in images}
    sizes = {id_: (by_id[id_].width, by_id[id_].height) for id_ in slots.images if id_ in by_id}
    cards = gallery.cards(slots.chosen, of_slots, which, by_model, sizes)
    room = gallery.Room()
    pictured = _references(beside, slots, by_id, room)
    _pictures(root, settings, slots.models, cards, by_id, truth, thumbnail, room)

    compared, why = _constraints(root, settings, drawn, slots, pool(images), selection, discarded)
    facts = pages.Facts(
        study=root.resolve().name,
        selection=selection,
        slots=slots,
        classes=classes,
        pool=len(pool(images)),
        state=state,
        standings=standings,
        truth=truth,
        labelled=labelled,
        values=values,
        bands=edges,
        better=better,
        cards=cards,
        slot_values=of_slots,
        compared=compared,
        why_not_compared=why,
        references=pictured,
        discarded=len({row.image for row in drawn.rows} & set(discarded)),
        failures=len(read_failures(root)),
        pictures_left_out=room.left_out,
        remarks=tuple(remarks),
        times=tuple(row for row in frame_times(root) if row.name in slots.models),
    )
    name = "report.html" if selection == selections.MAIN else f"report-{selection}.html"
    target = Path(output) if output else root / name
    if target.is_dir():
        raise OptionError(f"--output {output}: is a folder; name the file to write")
    data = pages.page(facts).encode("utf-8", "xmlcharrefreplace")
    with writing(root):
        put(target, data)
        log(root, "report", selection=selection, output=str(target))
    return Reported(str(target), len(data), len(cards))


def _truth(known: list[str], standings: Any) -> str:
    """Return the truth to show: the one that was ranked with, else labels, else the only one; nothing otherwise."""
    for name in ([standings.provenance.get("truth", "")] if standings else []) + ["labels"]:
        if name in known:
            return name
    return known[0] if len(known) == 1 else ""


def _pictures(root: Path, settings: Any, models: Any, cards: Any, by_id: Any, truth: str, longest: int, room: Any) -> None:
    """Fill in the pictures of every card: first photo, truth and the shown duel of all, then the other models' maps while there is room."""
    from faultscape.corpus.classes import table
    from faultscape.corpus.reading import read_photo
    from faultscape.engine import progress
    from faultscape.maps import runs
    from faultscape.reporting.gallery import fit, map_uri, photo_uri
    from faultscape.study import label_maps

    classes = settings.class_list
    tables = {m: table(classes, settings.models[m].labels) for m in models if m in settings.models}
    held: dict[tuple[str, int], dict[str, bytes]] = {}

    def drawn(card: Any, folder: Path, places: Any) -> str:
        key = (str(folder), by_id[card.image].shard)
        if key not in held:
            wanted = {c.image for c in cards}
            held[key] = {k: v for k, v in label_maps.read_maps(folder, key[1]).items() if k in wanted}
        code = held[key].get(card.image)
        if code is None:
            return ""
        return map_uri(runs.decode(code, places), classes, fit(card.width, card.height, longest))

    known = [card for card in cards if card.image in by_id]
    with progress("pictures", 2 * len(known)) as tick:
        for card in known:
            try:
                card.photo = room.take(photo_uri(read_photo(by_id[card.image])[0], fit(card.width, card.height, longest)))
            except ImageError:
                card.photo = ""
            if truth:
                card.truth = room.take(drawn(card, label_maps.truth(root, truth), table(classes)))
            for model in (card.duels[0].slot.defender, card.duels[0].slot.attacker):
                if model in tables:
                    card.maps[model] = room.take(drawn(card, label_maps.predictions(root, model), tables[model]))
            tick(1)
        for card in known:
            for model in tables:
                if model not in card.maps:
                    before = room.left_out
                    card.maps[model] = room.take(drawn(card, label_maps.predictions(root, model), tables[model]))
                    card.left_out += room.left_out - before
            tick(1)


def _references(beside: Any, slots: Any, by_id: Any, room: Any, longest: int = 200) -> list[Any]:
    """Return (class, [(caption, picture) of chosen images], [(name, picture) of benchmark images]) for each class of the folder."""
    from faultscape.corpus.reading import read_source
    from faultscape.reporting.gallery import fit, photo_uri
    from faultscape.reporting.references import EACH

    def small(path: Any) -> str:
        try:
            rgb = read_source(path)
        except ImageError:
            return ""
        return room.take(photo_uri(rgb, fit(rgb.shape[1], rgb.shape[0], longest)))

    out = []
    for name, files in beside.items():
        rows = sorted((r for r in slots.chosen if r.class_ == name and r.image in by_id), key=lambda r: (r.concordance, r.step))
        first = {row.image: row for row in reversed(rows)}
        mine = sorted(first.values(), key=lambda r: (r.concordance, r.step))[:EACH]
        ours = [(f"{row.defender}, {row.attacker}", small(by_id[row.image].source)) for row in mine]
        out.append((name, ours, [(path.name, small(path)) for path in files]))
    return out


def _constraints(
    root: Path, settings: Any, drawn: Any, slots: Any, images: Any, selection: str, discarded: Any
) -> tuple[list[Any], str]:
    """Return what each constraint chooses from the stored counts, or nothing and why."""
    import numpy as np

    from faultscape.comparison.stored import corpus_key, read_block
    from faultscape.reporting import constraints
    from faultscape.selection.quartiles import from_json
    from faultscape.study.corpus import shards
    from faultscape.study.selections import read_selection

    define, classes = drawn.definition, settings.class_list
    if define["selector"] != "mad":
        return [], f"it was drawn by {define['selector']}, not by a discrepancy competition"
    if any(m not in settings.models for m in drawn.models):
        return [], "a model of the selection is no longer in the study"
    if read_selection(root, selection)[1] != corpus_key(root, settings, drawn.models):
        return [], "images or predictions changed since it was drawn"
    scale = from_json({"classes": define["scale"]}, classes, "the selection") if define.get("scale") else None
    place = {image.id: k for k, image in enumerate(images)}
    first: dict[str, int] = {}
    families = np.array(
        [k if define["keep_duplicates"] else first.setdefault(i.group, k) for k, i in enumerate(images)], np.int64
    )

    def blocks() -> Any:
        for rows in shards(images).values():
            yield read_block(root, settings, rows, drawn.models), np.array([place[image.id] for image in rows])

    try:
        return constraints.compare(slots, classes, [i.id for i in images], families, blocks, scale, discarded), ""
    except StudyError as error:
        return [], f"the counts of the pairs cannot be read: {error}"
