"""Label files of tools that say less, or other things, than one expects: shapes that are no areas beside some
that are, objects of which only a box is known, and names that a service made longer.

Conventions: a `Tool` writes the shapes of images into an empty folder as its tool saves them. ``area`` is a
shape of the class road on the first 10 x 10 pixels; ``without`` are shapes that cover no pixel, each by the
name under which an import counts it; ``covering`` are other ways to cover the pixels of ``area``.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SIZE = (48, 36)  # width and height of the images of `made.corpus`
Shapes = Mapping[str, Sequence[Any]]  # {name of an image in the tool: its shapes}


@dataclass(frozen=True)
class Tool:
    """How one tool saves shapes."""

    write: Callable[[Path, Shapes], object]
    area: Any
    without: dict[str, Any]
    covering: dict[str, Any] = field(default_factory=dict)


CORNERS = [[0, 0], [9, 0], [9, 9], [0, 9]]


def write_labelme(folder: Path, shapes: Shapes) -> None:
    for name, drawn in shapes.items():
        path = (folder / name).with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"imagePath": Path(name).name, "imageWidth": SIZE[0], "imageHeight": SIZE[1]}
        path.write_text(json.dumps(document | {"shapes": [*drawn]}))


def labelme(kind: str, points: Any, label: str = "road", **more: Any) -> dict[str, Any]:
    return {"label": label, "shape_type": kind, "points": points, **more}


def mask_text(mask: np.ndarray) -> str:
    """A mask as LabelMe has it in a shape: a PNG in base64."""
    out = io.BytesIO()
    Image.fromarray(mask).save(out, format="PNG")
    return base64.b64encode(out.getvalue()).decode()


def write_studio(folder: Path, shapes: Shapes) -> None:
    tasks = [
        {"id": k, "data": {"image": f"s3://bucket/{name}"}, "annotations": [{"id": k, "result": [*drawn]}]}
        for k, (name, drawn) in enumerate(shapes.items())
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks))


def studio(kind: str, value: dict[str, Any], label: str = "road", **more: Any) -> dict[str, Any]:
    size = {"original_width": SIZE[0], "original_height": SIZE[1]}
    return {"id": kind, "type": kind, "value": {**value, kind: [label]}, **size, **more}


def percent(x: float, y: float) -> list[float]:
    return [100 * x / SIZE[0], 100 * y / SIZE[1]]


def write_cvat(folder: Path, shapes: Shapes) -> None:
    images = "".join(
        f'<image id="{k}" name="{name}" width="{SIZE[0]}" height="{SIZE[1]}">{"".join(drawn)}</image>'
        for k, (name, drawn) in enumerate(shapes.items())
    )
    text = f"<annotations><version>1.1</version>{images}</annotations>"
    (folder / "annotations.xml").write_text(text)


def write_coco(folder: Path, shapes: Shapes) -> None:
    numbered = {name: k for k, name in enumerate(shapes)}
    rows = [{"image_id": numbered[name], **row} for name, drawn in shapes.items() for row in drawn]
    document = {
        "images": [
            {"id": k, "file_name": name, "width": SIZE[0], "height": SIZE[1]} for name, k in numbered.items()
        ],
        "annotations": [{"id": k, **row} for k, row in enumerate(rows)],
        "categories": [{"id": 1, "name": "road"}, {"id": 2, "name": "nose"}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(document))


X, Y = percent(10, 10)
_OUTLINE = [0, 0, 10, 0, 10, 10, 0, 10]
_KEYPOINTS = {"bbox": [20, 20, 5, 5], "num_keypoints": 1, "keypoints": [22, 22, 2]}
TOOLS: dict[str, Tool] = {
    "labelme": Tool(
        write_labelme,
        labelme("rectangle", [[0, 0], [9, 9]]),
        {
            "point": labelme("point", [[20, 20]], "nose"),
            "points": labelme("points", [[20, 20], [21, 21]], "nose"),
            "line": labelme("line", [[20, 20], [30, 30]]),
            "linestrip": labelme("linestrip", [[20, 20], [30, 30], [40, 20]]),
            "cuboid": labelme("cuboid", [*CORNERS, *CORNERS]),  # of X-AnyLabeling
        },
        {
            "oriented_rectangle": labelme("oriented_rectangle", CORNERS),
            # X-AnyLabeling saves four corners, and an angle beside them
            "rotation": labelme("rotation", CORNERS, direction=1.57),
            "quadrilateral": labelme("quadrilateral", CORNERS),
            "rectangle": labelme("rectangle", CORNERS),
        },
    ),
    "label-studio": Tool(
        write_studio,
        studio("rectanglelabels", {"x": 0, "y": 0, "width": X, "height": Y}),
        {
            "keypoint": studio("keypointlabels", {"x": 50, "y": 50, "width": 0.5}, "nose"),
            "vector": studio("vectorlabels", {"vertices": [{"x": 1, "y": 1}], "closed": False}),
            "ellipse": studio("ellipselabels", {"x": 50, "y": 50, "radiusX": 0, "radiusY": 5}),
            "rectangle": studio("rectanglelabels", {"x": 50, "y": 50, "width": 0, "height": 5}, id="none"),
        },
        {"polygon": studio("polygonlabels", {"points": [[0, 0], [X, 0], [X, Y], [0, Y]]})},
    ),
    "cvat": Tool(
        write_cvat,
        '<box label="road" xtl="0" ytl="0" xbr="10" ybr="10" z_order="0"/>',
        {
            "points": '<points label="nose" points="20.0,20.0" z_order="0"/>',
            "polyline": '<polyline label="road" points="20.0,20.0;30.0,30.0" z_order="0"/>',
            "cuboid": '<cuboid label="road" xtl1="1" ytl1="1" z_order="0"/>',
            "skeleton": '<skeleton label="nose"><points label="1" points="2,2"/></skeleton>',
            "ellipse": '<ellipse label="road" cx="20" cy="20" rx="0" ry="3" z_order="0"/>',
            "box": '<box label="road" xtl="20" ytl="20" xbr="20" ybr="30" z_order="0"/>',
        },
        {
            "box": '<box label="road" xtl="0" ytl="0" xbr="10" ybr="10" rotation="90.0" z_order="0"/>',
            "polygon": '<polygon label="road" points="0.0,0.0;10.0,0.0;10.0,10.0;0.0,10.0" z_order="0"/>',
        },
    ),
    "coco": Tool(
        write_coco,
        {"category_id": 1, "segmentation": [_OUTLINE]},
        {"keypoints": {"category_id": 2, "segmentation": [], **_KEYPOINTS}},
        {"keypoints": {"category_id": 1, "segmentation": [_OUTLINE], **_KEYPOINTS}},
    ),
}
