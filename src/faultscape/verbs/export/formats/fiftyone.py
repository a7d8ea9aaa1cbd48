"""fiftyone: a FiftyOneDataset on disk: metadata.json, samples.json, image files in data/, masks in fields/.

Conventions: the layout without a version, which every FiftyOne reads (the importer since 0.8 hands it to the
one before): the layout with a version is a copy of the tables of one FiftyOne's database. FiftyOne takes the
paths of a field as relative if the field has a folder in fields/. Masks are grey PNG files, because palettes
would be read as colours. FiftyOne never shows the value 0, so that is the background, or void without one;
class k of the list is k + 1, and the mask targets of the data set name all values.
Source: the documentation of FiftyOne (importing and exporting datasets, semantic segmentation).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from faultscape import __version__
from faultscape.formats.png import encode_index
from faultscape.nouns import Classes
from faultscape.verbs.export import tables
from faultscape.verbs.export.contents import Contents, ExportedImage
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.image_files import file_name, write_image

_TRUTH = "truth"
_CHOSEN = "chosen"  # the tag of images that the selection has
_TEXTS = ("set", "role", "condition", "group")
_REFUSED = str.maketrans({".": "_", "$": "_"})  # in names of fields


def write(folder: Path, contents: Contents) -> None:
    """Write the images, the masks, and the two files about them."""
    values = None if contents.classifies else mask_values(contents.classes)
    with (folder / "samples.json").open("w", encoding="utf-8") as file:
        file.write('{"samples": [')
        for number, row in enumerate(contents.each()):
            seen = _classes_of(row, contents) if values is None else _masks(row, contents, folder, values)
            sample = _sample(row, contents, write_image(row.image, folder, "data", contents.image_files))
            file.write(",\n" if number else "\n")
            file.write(json.dumps({**sample, **seen}, ensure_ascii=False))
        file.write("\n]}\n")
    (folder / "metadata.json").write_text(json.dumps(_metadata(contents), indent=1) + "\n", "utf-8")


def mask_values(classes: Classes) -> np.ndarray:
    """Return the table from ids of the class list to values of masks, for a class list with a void id.

    >>> mask_values(Classes(("sky", "sea"), (0, 1), ((0, 0, 1), (0, 0, 2)), void=(3,))).tolist()
    [1, 2, 0, 0]
    """
    values = np.zeros(max(*classes.ids, *classes.void) + 1, np.uint16)
    values[list(classes.ids)] = np.arange(1, len(classes) + 1)
    if classes.background is not None:
        values[list(classes.void)] = len(classes) + 1
        values[classes.background] = 0
    return values


def _targets(classes: Classes) -> dict[str, str]:
    """Return {value of masks: name of its class}."""
    values = mask_values(classes)
    found = {int(values[id_]): name for id_, name in zip(classes.ids, classes.names, strict=True)}
    if classes.background is not None:
        found[len(classes) + 1] = "void"
    return {str(value): name for value, name in sorted(found.items())}


def field_names(names: Iterable[str]) -> dict[str, str]:
    """Return {name: the name of its field}, without the characters that FiftyOne refuses, each of its own.

    >>> field_names(["map_unet", "map_v1.0", "map_v1$0"])
    {'map_unet': 'map_unet', 'map_v1.0': 'map_v1_0', 'map_v1$0': 'map_v1_0_2'}
    """
    found = dict[str, str]()
    for name in names:
        plain = name.translate(_REFUSED)
        number = 2
        field = plain
        while field in found.values():
            field = f"{plain}_{number}"
            number += 1
        found[name] = field
    return found


def _fields(contents: Contents) -> dict[str, str]:
    of = "class" if contents.classifies else "map"
    kinds = (of, contents.metric)
    return field_names(f"{kind}_{model}" for kind in kinds for model in contents.models)


def _sample(row: ExportedImage, contents: Contents, path: str) -> dict[str, Any]:
    """Return what the study says about an image, without what is not known."""
    image = row.image
    fields = _fields(contents)
    known = {
        "disagreement": tables.known(row.disagreement),
        "why": row.why or None,
        **{name: getattr(image, name) or None for name in _TEXTS},
        **{fields[f"{contents.metric}_{m}"]: tables.known(score) for m, score in row.scores.items()},
    }
    return {
        "filepath": path,
        "tags": [_CHOSEN] if row.chosen else [],
        "metadata": {"_cls": "ImageMetadata", "width": image.width, "height": image.height},
        "image_id": image.id,
        **{name: value for name, value in known.items() if value is not None},
    }


def _masks(row: ExportedImage, contents: Contents, folder: Path, values: np.ndarray) -> dict[str, Any]:
    """Write the masks of an image and return the fields that name them."""
    fields = _fields(contents)
    maps = {fields[f"map_{model}"]: contents.map_of(model, row.image) for model in contents.models}
    maps |= {_TRUTH: contents.truth_of(row.image)} if contents.truth else {}
    found = dict[str, Any]()
    for field, ids in maps.items():
        if ids is None:
            continue
        name = file_name(row.image.id, f"fields/{field}", ".png")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_index(values[ids]))
        found[field] = {"_cls": "Segmentation", "mask_path": name}
    return found


def _classes_of(row: ExportedImage, contents: Contents) -> dict[str, Any]:
    """Return the fields of what classifiers and labels say about an image."""
    fields = _fields(contents)
    found = {
        fields[f"class_{model}"]: _label(name, sure)
        for model, (name, sure) in tables.class_answers(row, contents).items()
    }
    names = tables.true_classes(row, contents)
    if names is not None:
        # one kind of label in all samples, or FiftyOne refuses the others
        if all(len(places) == 1 for places in contents.true_places.values()):
            found[_TRUTH] = _label(names[0])
        else:
            found[_TRUTH] = {"_cls": "Classifications", "classifications": [_label(name) for name in names]}
    return found


def _label(name: str, sure: float | None = None) -> dict[str, Any]:
    return {"_cls": "Classification", "label": name} | ({} if sure is None else {"confidence": sure})


def _metadata(contents: Contents) -> dict[str, Any]:
    about = contents.about() | {"faultscape": __version__, "ranks": [asdict(row) for row in contents.ranks]}
    info: dict[str, Any] = {
        "study": about,
        "default_classes": [entry["name"] for entry in about["classes"]],
    }
    if not contents.classifies:
        info["default_mask_targets"] = _targets(contents.classes)
    return {"media_type": "image", "info": info}


FIFTYONE = ExportFormat(
    "fiftyone",
    title="a FiftyOneDataset, with a segmentation (or classification) for the labels and each model",
    write=write,
    opens="fiftyone.Dataset.from_dir({out}, dataset_type=fiftyone.types.FiftyOneDataset)",
    image_files=("copy", "link"),
    no_ways="which shows the images",
)
