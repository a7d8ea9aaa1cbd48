"""BOX_FORMATS: the files from which `label import --boxes` reads boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faultscape.formats.label_tools.boxes import coco, cvat, label_studio, labelme, voc
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile


@dataclass(frozen=True)
class BoxFormat:
    """A format of boxes: `recognise` returns whether a file is of it, `read` its content, as `BoxFile`."""

    name: str
    title: str
    recognise: Callable[[Path], bool]
    read: Callable[[Path], BoxFile]


BOX_FORMATS = (
    BoxFormat("cvat", "CVAT for images 1.1", cvat.recognise, cvat.read),
    BoxFormat("voc", "PASCAL VOC", voc.recognise, voc.read),
    BoxFormat("coco", "COCO", coco.recognise, coco.read),
    BoxFormat("label-studio", "Label Studio", label_studio.recognise, label_studio.read),
    BoxFormat("labelme", "LabelMe", labelme.recognise, labelme.read),
)
