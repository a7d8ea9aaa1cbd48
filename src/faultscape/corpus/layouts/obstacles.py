"""Unknown objects on real roads (RoadAnomaly, SegmentMeIfYouCan's two tracks) and rendered ones
(StreetHazards).

Conventions: anomaly truth 0 known, 1 anomalous, 255 void. RoadAnomaly's files hold 0, 1 (road) and 2
(anomaly). StreetHazards' hold 0 unlabelled, 1 background to 13 traffic sign, 14 anomaly: its anomaly truth
counts the background as known, like its authors' evaluation. Sources: Lis et al. 2019; Chan et al. 2021;
Hendrycks et al. 2019.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.masks import VOID, translate
from faultscape.corpus.layouts.trees import IMAGES, base, beside, branch, files, first_file, inside
from faultscape.errors import CorpusError

ROAD_ANOMALY = {0: 0, 1: 0, 2: 1, 255: 255}
STREETHAZARDS = {0: VOID, **dict.fromkeys(range(1, 14), 0), 14: 1}
# name prefixes that the benchmark's own code leaves out of the validation split of the obstacle track
_LEFT_OUT = tuple(f"validation_{number}" for number in (19, *range(21, 30)))
_HAZARD_SPLITS = {"training": "train", "validation": "train", "test": "test"}


def find_road_anomaly(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames listed in frame_list.json, or without it all in frames/: frames/NAME.jpg with
    frames/NAME.labels/labels_semantic.png.
    """
    root = base(root, "RoadAnomaly_jpg", "RoadAnomaly")
    folder = root / "frames"
    listed = _listed(root / "frame_list.json") or [
        path.name for path in files(folder) if path.parent == folder
    ]
    for name in listed:
        path = inside(folder, name)
        truth = first_file([folder / f"{path.stem}.labels" / "labels_semantic.png"])
        if path.is_file():
            yield Frame(path.stem, str(path), truth, split=split, role="test")


def _listed(path: Path) -> list[str]:
    if not path.is_file():
        return []
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of images: {error}") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorpusError(f"{path}: expected a JSON list of names of images")
    return names


def find_anomaly_track(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/*.jpg: ``validation`` are those whose names begin with that word, with
    labels_masks/NAME_labels_semantic.png; ``test`` are the others, without labels.
    """
    yield from _track(base(root, "dataset_AnomalyTrack"), split, scenes=False)


def find_obstacle_track(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames images/SCENE_*.webp: ``validation`` without the names that the benchmark excludes, and
    ``test`` without night and snow, which are not part of the track.
    """
    yield from _track(base(root, "dataset_ObstacleTrack"), split, scenes=True)


def _track(root: Path, split: str, *, scenes: bool) -> Iterator[Frame]:
    for path in files(root / "images"):
        known = path.stem.startswith("validation")
        scene = path.stem.partition("_")[0] if scenes and not known else ""
        if known != (split == "validation") or (scenes and path.stem.startswith(_LEFT_OUT)):
            continue
        if scene in ("snowstorm1", "snowstorm2", "driveway"):
            continue
        truth = beside(root / "labels_masks", f"{path.stem}_labels_semantic", (".png",)) if known else ""
        yield Frame(path.stem, str(path), truth, group=scene, split=split, role=ROLES[split])


def find_streethazards(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames {train,test}/images/SPLIT/TOWN/*.png with
    {train,test}/annotations/SPLIT/TOWN/*.png.
    """
    part = _HAZARD_SPLITS[split]
    folder = root / part if (root / part / "images").is_dir() else root
    if not (folder / "images" / split).is_dir():
        folder = branch(root, part) or folder
    for path in files(folder / "images" / split, IMAGES):
        below = path.relative_to(folder / "images" / split)
        truth = beside(folder / "annotations" / split / below.parent, path.stem, (".png",))
        id_ = below.with_suffix("").as_posix()
        yield Frame(id_, str(path), truth, group=below.parts[0], split=split, role=ROLES[split])


def read_anomaly(frame: Frame) -> np.ndarray:
    """Return (H, W) 0, 1, 255 of a frame of SegmentMeIfYouCan."""
    return translate(frame.truth, {0: 0, 1: 1, 255: 255}, "SegmentMeIfYouCan")


def read_road_anomaly(frame: Frame) -> np.ndarray:
    """Return (H, W) 0, 1, 255 of a frame of RoadAnomaly."""
    return translate(frame.truth, ROAD_ANOMALY, "RoadAnomaly")


def read_streethazards(frame: Frame) -> np.ndarray:
    """Return (H, W) 0, 1, 255 of a frame of StreetHazards."""
    return translate(frame.truth, STREETHAZARDS, "StreetHazards")
