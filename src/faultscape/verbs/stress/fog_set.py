"""Foggy sets: every image of a set in fog, one set per density, by Koschmieder's law, with depth from files
or pixel position; and how the files of depth are found.

Conventions: three densities, as in Foggy Cityscapes; labels are those of the parents. Depth is read from its
original files and never stored.
Source: Sakaridis, Dai and Van Gool 2018; Blum et al. 2021, 3.1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from faultscape.corpus.matches import match
from faultscape.corpus.stress.files import DEPTH_ENDINGS, check_depth, depth_digest, depth_of_layout
from faultscape.corpus.stress.recipes import FogStep
from faultscape.errors import CorpusError, counted
from faultscape.reading.study import Study
from faultscape.study.tables.stress_sets import Held, StressSet
from faultscape.terminal_lines import number_word
from faultscape.verbs.options import StressFogOptions
from faultscape.verbs.stress.make_sets import Effect, Ground, SetRecipe, make_sets, of_effects
from faultscape.verbs.stress.parents import Base, frames_of_set, line_of, set_inputs
from faultscape.verbs.stress.result import Stressed

BETAS = (0.005, 0.01, 0.02)  # as in Foggy Cityscapes: visibility of 600, 300 and 150 m


def fog_images(options: StressFogOptions) -> Stressed:
    """Add foggy sets, and write their images to a folder on request. Errors: OptionError and CorpusError if
    that is impossible.
    """
    return make_sets(options, "fog", lambda ground: _recipe(options, ground))


def _recipe(options: StressFogOptions, ground: Ground) -> SetRecipe:
    base = ground.base
    ground.refuse_made("add fog to")
    depth = depth_files(ground.study, options.depth, base)
    line = line_of(options, base)
    of_depth: Held = {"depth": line["depth"]} if options.depth else {}
    betas = {
        base.set_name(f"foggy-{number_word(beta)}"): beta for beta in dict.fromkeys(options.beta or BETAS)
    }
    about = {
        name: StressSet(
            kind="fog",
            of=base.name,
            line=line,
            parameters={"beta": beta, "light": options.light, **of_depth},
            inputs=set_inputs(base, "", of_depth),
        )
        for name, beta in betas.items()
    }
    effects = {name: _effect(beta, options.light, depth) for name, beta in betas.items()}
    return of_effects(options, ground, about, effects)


def _effect(beta: float, light: int, depth: Mapping[str, tuple[str, str]]) -> Effect:
    word = number_word(beta)
    return Effect(
        f"foggy-{word}",
        lambda image: FogStep(beta, light, *depth.get(image.id, ("", ""))),
        f"fog/{word}",
    )


def depth_files(study: Study, folder: str | None, base: Base) -> dict[str, tuple[str, str]]:
    """Return {image id: (path of its depth, its digest)}; for an image without one, fog is estimated from
    pixel position, with a note. CorpusError and ImageError if a folder has no depth.
    """
    if folder is None:
        layout, frames = frames_of_set(study, base)
        if layout is None or layout.read_depth is None:
            return {}
        found = {
            id_: depth_of_layout(layout.name, frame)
            for id_, frame in frames.items()
            if frame.depth and frame.camera
        }
        what = layout.title
    else:
        what = f"--depth {folder}"
        try:
            of = match(folder, [image.id for image in base.images], endings=frozenset(DEPTH_ENDINGS))
            found = {id_: os.path.abspath(place) for id_, place in of.items()}
        except CorpusError as error:
            raise CorpusError(f"--depth {str(error).partition(', or give --pattern')[0]}") from None
        for image in base.images:  # before anything is made
            if image.id in found:
                check_depth(found[image.id], (image.height, image.width))
    if found and len(found) < len(base.images):
        print(
            f"{what}: has no depth for {counted(len(base.images) - len(found), 'image')}; depth is "
            "estimated from pixel position there"
        )
    return {id_: (place, depth_digest(place)) for id_, place in found.items()}
