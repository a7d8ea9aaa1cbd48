"""Gather the facts of a page about label maps: duels between them, or images drawn for all of them.

Conventions: ``common`` is what every page shows. Models that left the study are not
shown. Images share one ``Room``; those that do not fit are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.comparison import combinations
from faultscape.corpus.photos import read_photo, read_source
from faultscape.errors import ImageError, StudyError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.nouns import Pairs, Slots
from faultscape.progress import progress
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.reporting.competition import constraints, gallery, outcomes, references
from faultscape.reporting.competition.constraints import Drawn, PairPictures, Picked
from faultscape.reporting.competition.gallery import Card
from faultscape.reporting.competition.page import DrawFacts, DuelFacts, Facts
from faultscape.reporting.competition.references import EACH
from faultscape.reporting.pictures import Room, fit, map_uri, photo_uri
from faultscape.selection.definitions import may_duel
from faultscape.selection.quartiles import from_json
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, pool, shards
from faultscape.ties import tie_ranks, tie_seed
from faultscape.verbs.report.sections import sections_of_maps

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions

_DRAWN = 100  # images of a draw on one page


def duel_facts(study: Study, drawn: Slots, common: Facts, options: ReportOptions, better: float) -> DuelFacts:
    """Return the facts of a page of duels."""
    images = study.corpus.images()
    slots = common.slots
    labelled = common.labelled
    values = common.values
    of_slots = outcomes.slot_values(slots.models, slots.duels, labelled, values)
    which = [outcomes.case(d, a, common.bands[0], better) for d, a in of_slots.tolist()]
    by_id = {image.id: image for image in images}
    sizes = {id_: (by_id[id_].width, by_id[id_].height) for id_ in slots.images if id_ in by_id}
    cards = gallery.cards(slots.duels, of_slots, which, _by_model(common), sizes)
    room = Room()

    def chosen_for(name: str) -> list[tuple[str, str]]:
        rows = sorted((r for r in slots.duels if r.class_ == name), key=lambda r: (r.concordance, r.step))
        first = {row.image: row for row in reversed(rows)}
        return [
            (r.image, f"{r.defender}, {r.attacker}")
            for r in sorted(first.values(), key=lambda r: (r.concordance, r.step))
        ]

    found = references.find(options.reference_images, study.classes) if options.reference_images else {}
    shown = pictured(found, chosen_for, by_id, room)
    _pictures(study, slots.models, cards, by_id, common.truth, options.thumbnail, room)
    compared, why = _constraints(study, drawn, slots, pool(images), common.selection)
    more: dict[str, Any] = {"references": shown, "pictures_left_out": room.left_out}
    more["sections"] = sections_of_maps(study, common, by_id)
    return DuelFacts(
        **(vars(common) | more),
        better=better,
        cards=cards,
        slot_values=of_slots,
        compared=compared,
        why_not_compared=why,
        pair_pictures=_pair_pictures(study, common, compared, by_id, options.thumbnail),
    )


def draw_facts(study: Study, common: Facts, options: ReportOptions) -> DrawFacts:
    """Return the facts of a page of images drawn for all models at once."""
    slots = common.slots
    by_id = study.image_rows
    by_model = _by_model(common)
    cards = []
    # the image that the verdict names is shown even behind the last that fits
    named = {table.failing.image for table in common.others.values() if table.failing}
    shown = [id_ for k, id_ in enumerate(slots.images) if k < _DRAWN or id_ in named]
    for id_ in shown:
        width, height = (by_id[id_].width, by_id[id_].height) if id_ in by_id else (4, 3)
        cards.append(gallery.Card(id_, width, height, [], by_model.get(id_, {}), id_ in by_model))
    room = Room()
    _pictures(study, slots.models, cards, by_id, common.truth, options.thumbnail, room)
    more: dict[str, Any] = {"pictures_left_out": room.left_out}
    more["sections"] = sections_of_maps(study, common, by_id)
    return DrawFacts(
        **(vars(common) | more),
        classifies=False,
        cards=cards,
        images_left_out=len(slots.images) - len(shown),
    )


def _by_model(common: Facts) -> dict[str, dict[str, float | None]]:
    """Return {image: {model: value}} of the labelled images."""
    return {
        image: {
            m: None if np.isnan(v) else float(v)
            for m, v in zip(common.slots.models, common.values[:, k], strict=True)
        }
        for k, image in enumerate(common.labelled)
    }


def pictured(
    beside: dict[str, list[Path]],
    chosen_for: Callable[[str], list[tuple[str, str]]],
    by_id: dict[str, Image],
    room: Room,
    longest: int = 200,
) -> list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]]:
    """Return (class, [(caption, image) of chosen images], [(name, image) of benchmark images]) for each class
    in a folder of benchmark images.

    ``chosen_for`` returns the (image, caption) pairs chosen for a class, the most informative first.
    """

    def small(source: str | Path) -> str:
        try:
            rgb = read_source(source)
        except ImageError:
            return ""
        return room.take(photo_uri(rgb, fit(rgb.shape[1], rgb.shape[0], longest)))

    out = []
    for name, files in beside.items():
        mine = [row for row in chosen_for(name) if row[0] in by_id and by_id[row[0]].source][:EACH]
        ours = [(caption, small(by_id[image].source)) for image, caption in mine]
        out.append((name, ours, [(path.name, small(path)) for path in files]))
    return out


def _pictures(
    study: Study,
    models: Sequence[str],
    cards: list[Card],
    by_id: dict[str, Image],
    truth: str,
    longest: int,
    room: Room,
) -> None:
    """Add images to every card: first the image, truth and shown duel of all cards, then the other models'
    maps while they fit.
    """
    root = study.root
    classes = study.classes
    known_models = study.settings.models
    tables = {m: narrow(table(classes, known_models[m].labels)) for m in models if m in known_models}
    held: dict[tuple[str, int], dict[str, bytes]] = {}

    def drawn(card: Card, folder: Path, places: np.ndarray) -> str:
        key = (str(folder), by_id[card.image].shard)
        if key not in held:
            wanted = {c.image for c in cards}
            part = study.manifest(folder).get(part_name(key[1]))
            maps = label_maps.read_maps(folder, key[1], part) if part else {}
            held[key] = {k: v for k, v in maps.items() if k in wanted}
        code = held[key].get(card.image)
        if code is None:
            return ""
        return map_uri(runs.decode(code, places), classes, fit(card.width, card.height, longest))

    known = [card for card in cards if card.image in by_id]
    with progress("pictures", 2 * len(known)) as tick:
        for card in known:
            try:
                card.photo = room.take(
                    photo_uri(read_photo(by_id[card.image])[0], fit(card.width, card.height, longest))
                )
            except ImageError:
                card.photo = ""
            if truth:
                card.truth = room.take(drawn(card, label_maps.truth(root, truth), narrow(table(classes))))
            for model in (card.duels[0].slot.defender, card.duels[0].slot.attacker) if card.duels else ():
                if model in tables:
                    card.maps[model] = room.take(
                        drawn(card, label_maps.predictions(root, model), tables[model])
                    )
            tick(1)
        for card in known:
            for model in tables:
                if model not in card.maps:
                    before = room.left_out
                    card.maps[model] = room.take(
                        drawn(card, label_maps.predictions(root, model), tables[model])
                    )
                    card.left_out += room.left_out - before
            tick(1)


def _constraints(
    study: Study, drawn: Slots, slots: Slots, images: list[Image], selection: str
) -> tuple[list[Drawn], str]:
    """Return what each constraint chooses from the stored counts, or nothing and the reason."""
    define = drawn.definition
    classes = study.classes
    if not may_duel(define):
        return [], f"it was drawn by {define['selector']}, not by a discrepancy competition"
    if named := combinations.of_maps(define):
        return [], f"{named} is made from maps, of which the counts do not tell"
    if any(m not in study.models for m in drawn.models):
        return [], "one of its models is no longer in the study"
    if study.selection(selection).drawn_from != study.drawn_from(drawn.models):
        return [], "images or predictions changed since it was drawn"
    scale = from_json({"classes": define["scale"]}, classes, "the selection") if define.get("scale") else None
    place = {image.id: k for k, image in enumerate(images)}
    first: dict[str, int] = {}
    families = np.array(
        [
            k if define["keep_duplicates"] else first.setdefault(i.near_duplicate_of, k)
            for k, i in enumerate(images)
        ],
        np.int64,
    )

    ids = [image.id for image in images]
    ranks = tie_ranks([image.key for image in images], tie_seed(define), ids)

    def blocks() -> Iterator[tuple[Pairs, np.ndarray]]:
        for rows in shards(images).values():
            yield (
                read_block(study, rows, drawn.models),
                np.array([place[image.id] for image in rows]),
            )

    try:
        return constraints.compare(slots, classes, ids, ranks, families, blocks, scale, study.discarded), ""
    except StudyError as error:
        return [], f"the counts of the pairs cannot be read: {error}"


def _pair_pictures(
    study: Study,
    common: Facts,
    compared: Sequence[Drawn],
    by_id: Mapping[str, Image],
    longest: int,
) -> PairPictures | None:
    """Return one pair of models with the image that each constraint chooses; None if the constraints could
    not be compared.
    """
    if not compared:
        return None
    define = common.slots.definition
    classes = study.classes
    pair, why = constraints.choose_pair(common.standings, common.slots.models)
    scale = from_json({"classes": define["scale"]}, classes, "the selection") if define.get("scale") else None
    shown = sorted({slot.image for one in compared for slot in one.chosen} & by_id.keys())
    ranks = tie_ranks([by_id[image].key for image in shown], tie_seed(define), shown)
    places = {image: int(rank) for image, rank in zip(shown, ranks, strict=True)}
    picked = constraints.pick(compared, pair, places, scale)
    drawn = [_drawn(study, pair, one, by_id, longest) for one in picked]
    return PairPictures(pair, why, tuple(drawn))


def _drawn(
    study: Study,
    pair: tuple[str, str],
    one: Picked,
    by_id: Mapping[str, Image],
    longest: int,
) -> Picked:
    """Return a pick with its maps, and the share of its class."""
    image = None if one.slot is None else by_id.get(one.slot.image)
    if one.slot is None or image is None:
        return one
    size = fit(image.width, image.height, longest)
    classes = study.classes
    maps = [_read_map(study, model, image) for model in pair]
    uris = ["" if m is None else map_uri(m, classes, size) for m in maps]
    try:
        photo = photo_uri(read_photo(image)[0], size) if image.source else ""
    except ImageError:
        photo = ""
    defends = maps[pair.index(one.slot.defender)]
    if one.slot.class_ and defends is not None:
        one = constraints.with_share(one, defends, classes.names.index(one.slot.class_))
    return replace(one, photo=photo, maps=(uris[0], uris[1]), width=size[0], height=size[1])


def _read_map(study: Study, model: str, image: Image) -> np.ndarray | None:
    """Return a model's map of an image as places at working size; None without one."""
    folder = label_maps.predictions(study.root, model)
    if (part := study.manifest(folder).get(part_name(image.shard))) is None:
        return None
    if (code := label_maps.read_map(folder, image.shard, part, image.id)) is None:
        return None
    places = narrow(table(study.classes, study.settings.models[model].labels))
    return nearest(runs.decode(code, places), study.settings.working_size or (image.width, image.height))
