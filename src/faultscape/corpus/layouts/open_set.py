"""Known classes and unknown regions on the same images: ISSU and the BRAVO benchmark.

Conventions: classes are the train ids of Cityscapes, 0-18 and 255 void; anomaly truth is 0 known, 1
anomalous, 255 void. ISSU has both in one file, in which 254 is the anomaly. BRAVO has a mask of *invalid*
pixels beside its labels, 0 valid, above 0 invalid: behind a drop or a flare, or of an inpainted object; void
comes from the labels. Sources: Laskar et al. 2025 and the scripts of its repository; Vu et al. 2024 and the
toolkit of the challenge, which define the suffixes and the meaning of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.masks import VOID, train_ids, translate
from faultscape.corpus.layouts.trees import base, beside, files, first_file, without
from faultscape.errors import LabelMapError

_ISSU = {
    "train": "ISSU-Train",
    "val": "ISSU-Train",
    "test_static": "ISSU-Test-Static",
    "test_temporal": "ISSU-Test-Temporal",
}
_WEATHER = frozenset(("fog", "rain", "lowlight"))
_KNOWN = {id_: id_ for id_ in range(19)}
ISSU_CLASSES = _KNOWN | {254: VOID, VOID: VOID}
ISSU_ANOMALY = dict.fromkeys(_KNOWN, 0) | {254: 1, VOID: VOID}
_BRAVO = {  # suffixes of the image and label names of a subset
    "ACDC": ("_rgb_anon.png", "_gt_labelTrainIds.png"),
    "SMIYC": (".jpg", "_labels_semantic.png"),
    "outofcontext": ("_leftImg8bit.png", "_gt_labelTrainIds.png"),
    "synflare": ("_leftImg8bit.png", "_gt_labelTrainIds.png"),
    "synobjs": (".png", "_gt.png"),
    "synrain": ("_leftImg8bit.png", "_gt_labelTrainIds.png"),
}
_INVALID = {0: 0} | dict.fromkeys(range(1, 256), 1)
_MASKS = {"_gt_labelTrainIds.png": "_gt_invIds.png", "_gt.png": "_mask.png"}


def find_issu(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames SET/leftImg8bit/PART/FOLDER/*_leftImg8bit.png with
    SET/gtFine_csT/PART/FOLDER/*_gtFine_csT.png, for the test sets also from dataset_ISSUTrack.
    """
    role, _, kind = split.partition("_")
    composed = base(root, "ISSU_datasets") / _ISSU[split]
    images = composed / "leftImg8bit" / role
    labels = composed / "gtFine_csT" / role
    for path in files(images, "_leftImg8bit.png"):
        stem = without(path.name, "_leftImg8bit")
        yield _issu(
            path,
            path.parent.name,
            stem,
            beside(labels / path.parent.name, f"{stem}_gtFine_csT", (".png",)),
            split,
        )
    track = base(root, "dataset_ISSUTrack")
    for path in files(track / "images", ".png") if kind and not images.is_dir() else ():
        of, _, rest = path.stem.partition("_")
        folder, _, stem = rest.rpartition("_")
        if of == kind:
            yield _issu(path, folder, stem, beside(track / "labels_masks", path.stem, (".png",)), split)


def _issu(path: Path, folder: str, stem: str, truth: str, split: str) -> Frame:
    return Frame(
        f"{folder}/{stem}", str(path), truth, group=folder, split=split,
        role=ROLES[split.partition("_")[0]], condition=folder if folder in _WEATHER else "clean",
    )  # fmt: skip


def find_bravo(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames of bravo_SUBSET, with labels from beside them or from bravo_GT/bravo_SUBSET."""
    image, label = _BRAVO[split]
    folder = root / f"bravo_{split}"
    for path in files(folder, image):
        id_ = path.relative_to(folder).as_posix()[: -len(image)]
        if split == "synobjs" and not path.stem.isdigit():
            # labels and masks are beside images called 1.png
            continue
        place = id_.rpartition("/")[0]
        yield Frame(
            id_,
            str(path),
            first_file((folder / f"{id_}{label}", root / "bravo_GT" / folder.name / f"{id_}{label}")),
            group="" if split == "SMIYC" else place,
            split=split,
            role="test",
            condition={"ACDC": place.partition("/")[0], "SMIYC": "clean"}.get(split, split),
            parent=id_ if image == "_leftImg8bit.png" else "",
        )


def read_issu(frame: Frame) -> np.ndarray:
    """Return (H, W) train ids of a frame of ISSU; anomalies are void."""
    return translate(frame.truth, ISSU_CLASSES, "ISSU")


def read_issu_anomaly(frame: Frame) -> np.ndarray:
    """Return (H, W) 0, 1, 255 of a frame of ISSU."""
    return translate(frame.truth, ISSU_ANOMALY, "ISSU")


def read_invalid(frame: Frame) -> np.ndarray:
    """Return (H, W) 1 where a frame of BRAVO is invalid, 0 where it is not, 255 where its labels are void."""
    labels = train_ids(frame.truth, "BRAVO")
    suffix = next(suffix for suffix in _MASKS if frame.truth.endswith(suffix))
    file = frame.truth.removesuffix(suffix) + _MASKS[suffix]
    mask = translate(file, _INVALID, "BRAVO")
    if mask.shape != labels.shape:
        raise LabelMapError(
            f"{file}: is {mask.shape[1]} x {mask.shape[0]} pixels, its labels {labels.shape[1]} x"
            f" {labels.shape[0]}"
        )
    return np.where(labels == VOID, VOID, mask).astype(np.uint8)
