"""The images of one pair of models under each constraint.

Conventions: shares are of the map at working size. Models that left the study are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reporting.competition import constraint_pictures
from faultscape.reporting.competition.constraint_pictures import PairPictures, Picked
from faultscape.reporting.competition.constraints import Drawn
from faultscape.reporting.competition.gallery import fit, map_uri, photo_uri
from faultscape.reporting.competition.page import Facts
from faultscape.selection.quartiles import from_json
from faultscape.study.parts import read_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.ties import tie_ranks, tie_seed


def pair_pictures(
    root: Path,
    settings: Settings,
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
    classes = settings.class_list
    pair, why = constraint_pictures.choose_pair(common.standings, common.slots.models)
    scale = from_json({"classes": define["scale"]}, classes, "the selection") if define.get("scale") else None
    shown = sorted({slot.image for one in compared for slot in one.chosen} & by_id.keys())
    ranks = tie_ranks([by_id[image].key for image in shown], tie_seed(define), shown)
    places = {image: int(rank) for image, rank in zip(shown, ranks, strict=True)}
    picked = constraint_pictures.pick(compared, pair, places, scale)
    drawn = [_drawn(root, settings, pair, one, by_id, longest) for one in picked]
    return PairPictures(pair, why, tuple(drawn))


def _drawn(
    root: Path,
    settings: Settings,
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
    classes = settings.class_list
    maps = [_read_map(root, settings, model, image) for model in pair]
    uris = ["" if m is None else map_uri(m, classes, size) for m in maps]
    try:
        photo = photo_uri(read_photo(image)[0], size) if image.source else ""
    except ImageError:
        photo = ""
    defends = maps[pair.index(one.slot.defender)]
    if one.slot.class_ and defends is not None:
        one = constraint_pictures.with_share(one, defends, classes.names.index(one.slot.class_))
    return replace(one, photo=photo, maps=(uris[0], uris[1]), width=size[0], height=size[1])


def _read_map(root: Path, settings: Settings, model: str, image: Image) -> np.ndarray | None:
    """Return a model's map of an image as places at working size; None without one."""
    folder = label_maps.predictions(root, model)
    if (part := read_manifest(folder).get(part_name(image.shard))) is None:
        return None
    if (code := label_maps.read_map(folder, image.shard, part, image.id)) is None:
        return None
    places = narrow(table(settings.class_list, settings.models[model].labels))
    return nearest(runs.decode(code, places), settings.working_size or (image.width, image.height))
