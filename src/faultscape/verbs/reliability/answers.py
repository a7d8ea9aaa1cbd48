"""Recompute a model's answers on a few images to show them: its map and the doubt of one scorer.

Conventions: pixels were counted and then dropped, so the model runs again on these images only, in this
process; stored outputs are read instead. A model that differs from the one that was counted is not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from faultscape.classes.class_lists import allowed, narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, ModelError
from faultscape.maps.resize import nearest
from faultscape.metrics.scorers import rounded, scorer_named
from faultscape.metrics.scores.histogram import places_of
from faultscape.prediction import catalogue, devices, stamps
from faultscape.prediction.networks import OpenNetwork
from faultscape.prediction.source import Opening, Request
from faultscape.reading.maps import StoredMaps
from faultscape.reading.scorers import methods_folder
from faultscape.reading.study import Study
from faultscape.study.settings import ModelOptions
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.removed_images import whole_shard
from faultscape.verbs.predict.pixel_counts import counting_of


@dataclass(frozen=True, eq=False)
class Answer:
    """A model's answer on one image, (H, W) at its working size: class indices, and the place of each pixel's
    score; the image (h, w, 3) if it could be read.
    """

    prediction: np.ndarray
    score: np.ndarray
    photo: np.ndarray | None


def answers_of(study: Study, name: str, word: str, images: Sequence[Image]) -> Iterator[tuple[str, Answer]]:
    """Yield (image id, answer) of a model and scorer; ModelError if the model cannot be run, or is not the
    one that was counted.
    """
    settings = study.settings
    ((folder, (word, offset, channels)),) = counting_of(settings, name, "", [word]).scorers.items()
    scorer = scorer_named(word)
    places = narrow(table(study.classes, settings.models[name].labels))
    stored = _stored(study, name, folder, images)
    rest = [image for image in images if image.id not in stored]
    model = _opened(study, name, word, rest) if rest else None
    for image in images:
        size = settings.working_size or (image.width, image.height)
        photo = _photo(image)
        if image.id in stored:
            label_map, doubt = stored[image.id]
        else:
            if photo is None:
                continue
            assert model is not None
            with devices.fixed_threads(model.threads):
                prepared = model.inference.prepare(photo, size)
                output = model.inference.finish(
                    model.inference.run([prepared])[0], prepared.target, image.key.encode()
                )
            if output.labels is None:
                raise ModelError(output.problem)
            label_map = nearest(places[output.labels], size)
            doubt = output.kept[folder][0]
        yield image.id, Answer(label_map, places_of(rounded(scorer, doubt, channels, offset)), photo)


def _photo(image: Image) -> np.ndarray | None:
    try:
        return read_photo(image)[0]
    except ImageError:
        return None


def _stored(
    study: Study, name: str, folder: str, images: Sequence[Image]
) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
    """Return {image id: (map, doubt)} for the images for which both are stored."""
    out = {}
    labels = study.settings.models[name].labels
    values = table(study.classes, labels)
    words = allowed(study.classes, labels)
    where = label_maps.predictions(study.root, name)
    for shard in dict.fromkeys(image.shard for image in images):
        mine = {image.id: image for image in images if image.shard == shard}
        held = outputs.read_some(study.root, name, folder, shard, mine, study.manifest)
        part = study.manifest(where).get(part_name(shard))
        maps = StoredMaps(where, shard, values, words, part.sha256) if held and part else None
        for id_, (doubt, *_) in held.items():
            size = study.settings.working_size or (mine[id_].width, mine[id_].height)
            label_map = maps.read(id_, size) if maps is not None else None
            if label_map is not None and doubt.shape == (size[1], size[0]):
                out[id_] = (label_map.copy(), doubt)
    return out


def _opened(study: Study, name: str, word: str, images: Sequence[Image]) -> OpenNetwork:
    """Open a model of the study as for the shards of some images; ModelError if it has changed since."""
    root = study.root
    settings = study.settings
    model = settings.models[name]
    kind = catalogue.kind_named(model.kind)
    if not kind.sees_images:
        raise ModelError(f"a {kind.called} cannot be run again")
    if not kind.there(model.source):
        raise ModelError(f"{model.source}: there is no such folder or file")
    options = cast("ModelOptions", {**model.options, "scorer": [word], "keep": []})
    shards = sorted({image.shard for image in images})
    request = Request(
        name,
        model.source,
        settings,
        lambda: [(k, whole_shard(root, k)) for k in shards],
        options,
        None,
        model.labels,
        methods=str(methods_folder(root, name)),
    )
    origin = kind.origin(kind, request)
    held = label_maps.stamps_of(label_maps.predictions(root, name))
    if any(
        stamps.outdated(held.get(part_name(k), ""), stamp, refused=False)
        for k, stamp in origin.stamps.items()
    ):
        raise ModelError("the model or its options changed since it was counted")
    opened = origin.opened or kind.open(
        Opening(
            kind.name,
            origin.source or model.source,
            options,
            model.labels,
            "",
            origin.digest,
            methods=str(methods_folder(root, name)),
        ),
        settings,
    )
    if not isinstance(opened, OpenNetwork):
        raise ModelError(f"a {kind.called} cannot be run again")
    return opened
