"""Find the images that `stress` makes others from, and their frames in a known data set; name the made sets
and images.

Conventions: all images of one set are used. A made set is named after its condition, prefixed by its base
unless that is main; the id of a made image is its set and the id of its parent within the base.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from faultscape import plug
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, Layout, find_frames
from faultscape.corpus.stress.recipes import Recipe, Step
from faultscape.errors import CorpusError, FaultscapeError, OptionError, closest
from faultscape.reading.study import Study
from faultscape.study.folder import check_name
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.stress_sets import Held
from faultscape.verbs.options import StressBlendOptions, StressCorruptOptions, StressFogOptions
from faultscape.verbs.stress.artefact import method_number, own_files

CLEAN = "clean"
MAIN = "main"
_FILES = ("objects", "textures", "depth", "without", "ego", "frost_textures")  # options that may name files
Stressing: TypeAlias = StressCorruptOptions | StressBlendOptions | StressFogOptions


@dataclass(frozen=True)
class Base:
    """A set and its images, from which others are made."""

    name: str
    images: tuple[Image, ...]

    def set_name(self, condition: str) -> str:
        """Return the name of the set of a condition."""
        return check_name(condition if self.name == MAIN else f"{self.name}-{condition}", "set")

    def id_of(self, set_name: str, parent: Image) -> str:
        """Return the id of the image made from a parent."""
        return f"{set_name}/{self.relative(parent.id)}"

    def relative(self, id_: str) -> str:
        """Return the id of an image within the base."""
        return id_ if self.name == MAIN else id_.removeprefix(f"{self.name}/")


def find_base(study: Study, asked: str | None) -> Base:
    """Return the requested base, or the only set that was collected.

    Errors: CorpusError for an unknown set, or one without images; OptionError if several are possible.
    """
    images = [*study.image_rows.values()]
    known = study.stress.sets
    names = [*study.sets]
    made = {image.set for image in images if image.parent} | {*known}
    clean = [name for name in names if name not in made]
    if asked not in names:
        if asked not in (None, CLEAN):
            raise CorpusError(
                f"--set {asked}: the study has no such set; it has"
                f" {', '.join(names)}.{closest(str(asked), names)}"
            )
        if len(clean) != 1:
            raise OptionError(f"the study has several sets ({', '.join(clean)}); choose one with --set NAME")
        asked = clean[0]
    if asked in made and asked not in known:
        raise CorpusError(
            f"--set {asked}: sets.json no longer records how it was made; run that `faultscape stress` "
            f"line again, or remove the set: faultscape collect {study.place} --remove "
            f"{shlex.quote(f'{asked}/*')}"
        )
    mine = tuple(image for image in images if image.set == asked)
    if without := next((image for image in mine if not image.source), None):
        raise CorpusError(
            f"{without.id}: the study has only its id; collect its image with `faultscape collect "
            f"{study.place} IMAGES`, then stress it"
        )
    return Base(str(asked), mine)


def frames_of_set(study: Study, base: Base) -> tuple[Layout | None, dict[str, Frame]]:
    """Return the layout of a set and {image id: frame}; None and {} for a set without a layout, or whose data
    set is gone.
    """
    source = study.stress.data.get(base.name)
    if source is None:
        return None, {}
    try:
        layout = entry(source.layout)
        frames = find_frames(layout, source.path, source.split)
    except FaultscapeError:
        return None, {}
    ids = {base.relative(image.id): image.id for image in base.images}
    return layout, {ids[frame.id]: frame for frame in frames if frame.id in ids}


def made_image(
    base: Base, parent: Image, set_name: str, condition: str, role: str, step: Step, suffix: str = ""
) -> Image:
    """Return the row of an image that one step makes from its parent; ``suffix`` distinguishes several images
    of one parent.
    """
    recipe = Recipe(parent.source, parent.digest, step)
    id_ = base.id_of(set_name, parent) + suffix
    return replace(
        parent,
        id=id_,
        source=recipe.source,
        set=set_name,
        role=role,
        condition=condition if parent.condition == CLEAN else f"{parent.condition}+{condition}",
        parent=parent.id,
        digest=recipe.made_digest,
        dhash=None,
        near_duplicate_of=id_,
        shard=-1,
    )


def set_inputs(base: Base, labels: str = "", parameters: Held | None = None) -> dict[str, str]:
    """Return the inputs of made sets with these parameters: their parents, how recipes are computed, their
    own labels, if any, and your own files.
    """
    told = parameters or {}
    images = key_of(sorted((image.id, image.digest) for image in base.images))
    return {
        "images": images,
        "method": method_number(told),
        **({"labels": labels} if labels else {}),
        **own_files(told),
    }


def line_of(options: Stressing, base: Base) -> Held:
    """Return the options that can change the result, in the form that `status` prints: the base by name, your
    own files by absolute path.
    """
    given = replace(options, set_=base.name).given()
    return cast("Held", {name: _whole(name, value) for name, value in given.items()})


def _whole(name: str, value: Any) -> Any:
    if name == "corruption":
        return [plug.absolute(one) for one in value]
    there = os.path.isfile if name == "ego" else os.path.exists  # a class may have the name of a folder
    return os.path.abspath(value) if name in _FILES and there(value) else value
