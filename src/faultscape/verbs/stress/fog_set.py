"""Foggy sets: every image of a set in fog, one set per density, by Koschmieder's law, with depth from files
or pixel position.

Conventions: three densities, as in Foggy Cityscapes; labels are those of the parents. Depth is read from its
original files and never stored.
Source: Sakaridis, Dai and Van Gool 2018; Blum et al. 2021, 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultscape.corpus.stress.recipes import FogStep
from faultscape.study.tables.stress_sets import Held, StressSet
from faultscape.terminal_lines import number_word
from faultscape.verbs.options import StressFogOptions
from faultscape.verbs.stress.depth import depth_files
from faultscape.verbs.stress.make_sets import Effect, Ground, SetRecipe, make_sets, of_effects
from faultscape.verbs.stress.parents import line_of, set_inputs
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
    depth = depth_files(ground.root, options.depth, base)
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
