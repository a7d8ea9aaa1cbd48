"""Mixtures: one set of images from several data sets, each with its own class mapping and sample size,
written in a TOML file.

Conventions: a file has ``name``, ``classes`` (a built-in class list), ``seed`` and tables ``[[set]]``:
``name``, ``layout`` (and ``split``, ``path``), ``sample`` (default 0: all images), ``seed`` (default: the
file's), ``void`` (classes that become void), ``labels`` ({label id of the layout: class or void}; default:
the layout's mapping to Cityscapes if it has one, else its classes by name). The sample depends only on the
images' bytes and the seed (`ties`), not on names or the order of files.

``of`` is the mixture.

Source: Blum et al. 2021, appendix A (the preset).
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.classes.built_in import BUILT_IN
from faultscape.classes.class_lists import resolve
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame
from faultscape.errors import ImageError, OptionError, closest
from faultscape.formats.guard import read_bytes
from faultscape.ties import tie_order

_FILE = ("name", "classes", "seed", "set")
_SET = ("name", "layout", "split", "path", "sample", "seed", "void", "labels")
_MOST = 1 << 31


@dataclass(frozen=True)
class Part:
    """One data set of a mixture: its images, and what their labels mean in the mixture's classes."""

    name: str
    layout: str
    split: str
    path: str = ""
    sample: int = 0
    seed: int = 0
    void: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mixture:
    """Several data sets as one, in one class list."""

    name: str  # the name for `collect --mixture`; for a TOML file its `name`, or the file's name
    classes: str  # the built-in class list that all labels are mapped to
    parts: tuple[Part, ...]  # one for each data set, with unique names
    notes: str = ""  # which parts of a preset are our reading of the paper


PRESETS: tuple[Mixture, ...] = (
    Mixture(
        "fishyscapes-misclassification",
        "cityscapes",
        (
            Part("foggy-driving", "foggy-driving", "all"),
            Part("foggy-zurich", "foggy-zurich", "testv2", void=("sky", "fence")),
            Part("wilddash", "wilddash1", "val"),
            Part("mapillary", "mapillary-1.2", "validation", sample=50),
        ),
        "Blum et al. 2021, appendix A, names papers, not sets: Sakaridis et al. 2018 is read as Foggy"
        " Driving, Dai et al. 2020 as Foggy Zurich (40 labelled images), both our reading. The 50 images of"
        " Mapillary are drawn by our seed, since the paper's are not published, and mapped by our table,"
        " since its Table 2 is blank in our copy.",
    ),
)


def mixture(name: str) -> Mixture:
    """Return a mixture: a preset by name, or the one in a TOML file; OptionError in one line for any other
    name or an invalid file.

    >>> [part.name for part in mixture("fishyscapes-misclassification").parts]
    ['foggy-driving', 'foggy-zurich', 'wilddash', 'mapillary']
    """
    known = {preset.name: preset for preset in PRESETS}
    if name in known:
        return known[name]
    if not name.endswith(".toml"):
        raise OptionError(
            f"mixture {name!r} is not known; known are {', '.join(known)}, or a TOML"
            f" file.{closest(name, list(known))}"
        )
    return read_mixture(name)


def read_mixture(path: str | os.PathLike[str]) -> Mixture:
    """Return the mixture of a TOML file; OptionError in one line that names the file and what is wrong."""
    try:
        held = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise OptionError(f"{path}: is not text in UTF-8; expected TOML with tables [[set]]") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(f"{path}: is not TOML ({error})") from None
    except OSError as error:
        raise OptionError(f"{path}: cannot be read: {error.strerror}") from None
    _keys(held, _FILE, str(path))
    classes = _word(held, "classes", str(path), "cityscapes")
    if classes not in BUILT_IN:
        raise OptionError(
            f"{path}: classes {classes!r} is not a built-in class list.{closest(classes, list(BUILT_IN))}"
        )
    sets = held.get("set")
    if not isinstance(sets, list) or not sets or not all(isinstance(item, dict) for item in sets):
        raise OptionError(f"{path}: has no [[set]] tables; give one for each data set")
    seed = _number(held, "seed", str(path), 0)
    parts = tuple(_part(item, f"{path}, set {place}", seed, classes) for place, item in enumerate(sets, 1))
    names = [part.name for part in parts]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise OptionError(f"{path}: two sets are named {twice!r}; give each its own name")
    return Mixture(_word(held, "name", str(path), Path(path).stem), classes, parts)


def draw(
    of: Mixture, frames: Mapping[str, Sequence[Frame]], *, key: Callable[[Frame], str] | None = None
) -> dict[str, tuple[Frame, ...]]:
    """Return {set: the frames that the mixture takes from it, by id}, given the ``frames`` of each set.

    A sample is the first frames in the order of BLAKE2b(seed, key); ``key`` is by default the SHA-256 of an
    image's bytes (`image_key`). OptionError if a set is missing, or has fewer images than its sample.

    >>> frames = [Frame(f"{k}", "") for k in range(5)]
    >>> [
    ...     frame.id
    ...     for frame in draw(
    ...         Mixture("m", "voc", (Part("a", "voc2012", "val", sample=2),)),
    ...         {"a": frames},
    ...         key=lambda frame: frame.id,
    ...     )["a"]
    ... ]
    ['2', '4']
    """
    out: dict[str, tuple[Frame, ...]] = {}
    for part in of.parts:
        if part.name not in frames:
            raise OptionError(
                f"mixture {of.name}: the images of the set {part.name!r} ({part.layout},"
                f" {part.split}) are missing; give them too"
            )
        mine = sorted(frames[part.name], key=lambda frame: frame.id)
        if part.sample > len(mine):
            raise OptionError(
                f"mixture {of.name}: {part.sample} images of {part.name!r} requested, but it has only"
                f" {len(mine)}"
            )
        if part.sample:
            order = tie_order(
                [(key or image_key)(frame) for frame in mine], part.seed, [frame.id for frame in mine]
            )
            mine = [mine[place] for place in sorted(order[: part.sample])]
        out[part.name] = tuple(mine)
    return out


def image_key(frame: Frame) -> str:
    """Return the SHA-256 of the bytes of a frame's image (and overlay, if any), which identifies it
    independently of its name.
    """
    digest = hashlib.sha256(read_bytes(frame.image, ImageError))
    if frame.overlay:
        digest.update(read_bytes(frame.overlay, ImageError))
    return digest.hexdigest()


def label_mapping(part: Part, classes: str) -> dict[str, str]:
    """Return {label id of the part's truth: class of the mixture, or void} for all ids of its layout;
    OptionError for an unknown class name.

    >>> part = Part("a", "foggy-zurich", "testv2", void=("sky",))
    >>> [label_mapping(part, "cityscapes")[label] for label in ("0", "10", "255")]
    ['road', 'void', 'void']
    """
    layout = entry(part.layout)
    own = resolve(layout.classes or classes)
    target = resolve(classes)
    if part.labels:
        mapping = dict(part.labels)
    elif layout.to_cityscapes and classes == "cityscapes":
        mapping = layout.to_cityscapes()
    else:
        mapping = {
            str(id_): name if name in target.names else "void"
            for id_, name in zip(own.ids, own.names, strict=True)
        }
    for name in {*mapping.values(), *part.void} - {"void", *target.names}:
        raise OptionError(
            f"set {part.name!r}: {name!r} is not a class of {classes}.{closest(name, list(target.names))}"
        )
    known = {str(id_) for id_ in (*own.ids, *own.void)}
    for label in [label for label in mapping if label not in known]:
        raise OptionError(
            f"set {part.name!r}: {label!r} is not a label id of {layout.name}; its ids are {own.ids[0]} to"
            f" {own.ids[-1]}"
        )
    return {
        label: "void" if (name := mapping.get(label, "void")) in part.void else name
        for label in sorted(known, key=int)
    }


def _part(item: dict[str, Any], where: str, seed: int, classes: str) -> Part:
    """Return a table [[set]]; OptionError for a layout, split, class or number that does not exist."""
    _keys(item, _SET, where)
    layout = entry(plug.absolute(_word(item, "layout", where)))
    split = _word(item, "split", where, layout.splits[0])
    if split not in layout.splits and not layout.lists:
        raise OptionError(
            f"{where}: split {split!r}: {layout.title} has"
            f" {', '.join(layout.splits)}.{closest(split, layout.splits)}"
        )
    void = item.get("void", [])
    labels = item.get("labels", {})
    if not isinstance(void, list) or not all(isinstance(name, str) for name in void):
        raise OptionError(f"{where}: void must be a list of class names; got {void!r}")
    if not isinstance(labels, dict) or not all(isinstance(name, str) for name in labels.values()):
        raise OptionError(f"{where}: labels must be {{label id = class or void}}; got {labels!r}")
    if layout.truth_kind != "semantic":
        raise OptionError(
            f"{where}: {layout.title} has only anomaly labels; a mixture takes sets with classes"
        )
    part = Part(
        _word(item, "name", where, layout.name),
        _word(item, "layout", where),
        split,
        _word(item, "path", where, ""),
        _number(item, "sample", where, 0),
        _number(item, "seed", where, seed),
        tuple(void),
        dict(labels),
    )
    label_mapping(part, classes)
    return part


def _keys(held: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if unknown := [key for key in held if key not in known]:
        raise OptionError(
            f"{where}: {unknown[0]!r} is not known; known are"
            f" {', '.join(known)}.{closest(unknown[0], tuple(known))}"
        )


def _word(held: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    word = held.get(key, default)
    if not isinstance(word, str) or (not word and default != ""):
        raise OptionError(f"{where}: {key} is {'missing' if word is None else repr(word)}; expected text")
    return word


def _number(held: Mapping[str, Any], key: str, where: str, default: int) -> int:
    number = held.get(key, default)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < _MOST:
        raise OptionError(f"{where}: {key} is {number!r}; expected a whole number, 0 or more")
    return number
