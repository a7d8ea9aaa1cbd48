"""Foggy sets: every image of a set in fog, one set per density, by Koschmieder's law, with depth from files
or pixel position.

Conventions: three densities, as in Foggy Cityscapes; labels are those of the parents. Depth is read from its
original files and never stored.
Source: Sakaridis, Dai and Van Gool 2018; Blum et al. 2021, 3.1.
"""

from __future__ import annotations

from pathlib import Path

from faultscape import engine as engines
from faultscape.corpus.stress.recipes import FogStep
from faultscape.errors import OptionError
from faultscape.study.folder import existing
from faultscape.study.lock import writing
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import log
from faultscape.study.tables.stress_sets import Held, StressSet, read_stress
from faultscape.terminal_lines import number_word
from faultscape.verbs.options import StressFogOptions
from faultscape.verbs.stress.depth import depth_files
from faultscape.verbs.stress.entry import enter_sets, finish_sets
from faultscape.verbs.stress.parents import find_base, line_of, made_image, refuse_others, set_inputs
from faultscape.verbs.stress.pixels import write_images
from faultscape.verbs.stress.result import Stressed

BETAS = (0.005, 0.01, 0.02)  # as in Foggy Cityscapes: visibility of 600, 300 and 150 m


def fog_images(options: StressFogOptions) -> Stressed:
    """Add foggy sets, and write their images to a folder on request. Errors: OptionError and CorpusError if
    that is impossible.
    """
    root, betas = existing(options.study), options.beta or BETAS
    engines.check(options.engine, options.workers)
    if any(not 0 < beta <= 1 for beta in betas):
        raise OptionError(
            "--beta must be above 0 and at most 1 per metre (0.005: 600 m of visibility); got "
            f"{', '.join(map(number_word, betas))}"
        )
    if not 0 <= options.light <= 255:
        raise OptionError(f"--light must be a gray level from 0 to 255; got {options.light}")
    with writing(root):
        images, known = read_corpus(root), read_stress(root)
        base = find_base(options.study, images, known, options.set_)
        if base.name in known.sets:
            raise OptionError(
                f"--set {base.name}: was itself made by `faultscape stress`; add fog to its base set, "
                f"{known.sets[base.name].of}"
            )
        depth = depth_files(root, options.depth, base)
        line = line_of(options, base)
        of_depth: Held = {"depth": line["depth"]} if options.depth else {}
        names = {base.set_name(f"foggy-{number_word(beta)}"): beta for beta in dict.fromkeys(betas)}
        about = {
            name: StressSet(
                kind="fog",
                of=base.name,
                line=line,
                parameters={"beta": beta, "light": options.light, **of_depth},
                inputs=set_inputs(base, "", of_depth),
            )
            for name, beta in names.items()
        }
        refuse_others(options.study, known.sets, about)
        rows = {
            name: [
                made_image(
                    base,
                    image,
                    name,
                    f"foggy-{number_word(beta)}",
                    options.role,
                    FogStep(beta, options.light, *depth.get(image.id, ("", ""))),
                )
                for image in base.images
            ]
            for name, beta in names.items()
        }
        entered = enter_sets(root, rows, about)
        finish_sets(root, about)
        log(root, "stress fog", **line)
    written = 0
    if options.write:
        places = {
            image.id: f"fog/{number_word(names[name])}/{base.relative(image.parent)}.png"
            for name, mine in rows.items()
            for image in mine
        }
        written = write_images(
            root, Path(options.write), places, engine=options.engine, workers=options.workers
        )
    return Stressed(
        options.study,
        "fog",
        base.name,
        tuple(rows),
        sum(map(len, rows.values())),
        entered.new,
        entered.changed,
        entered.left,
        options.write or "",
        written,
    )
