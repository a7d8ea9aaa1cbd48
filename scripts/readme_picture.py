"""Draw the README's picture: an image, the maps that two networks predict for it, and where the two differ,
coloured by which is wrong.

Run as ``python scripts/readme_picture.py``; it writes docs/images/disagreement.webp. The scene is drawn by
code and the networks are the demo's, so that nobody's data is in it. The background is transparent and the
text a middle gray: it reads on white pages and on dark ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from faultscape.maps.winners import labels
from faultscape.scenes import street
from faultscape.verbs.demo import networks

OUT = Path(__file__).parents[1] / "docs" / "images" / "disagreement.webp"
SCENE, MODELS = 180, ("unet", "dilated")
FIRST, SECOND, BOTH = (222, 60, 40), (20, 100, 200), (140, 70, 165)  # which network is wrong
GRAY = (128, 136, 146)  # of text: legible on white and on a dark page
ENLARGED = 3  # pixels of the picture for each of the scene
GAP, TEXT, FONT = 20, 58, 32

Entry = tuple[tuple[int, int, int] | None, str]  # a colour or none, and a word


def predicted_map(model: str, image: np.ndarray) -> np.ndarray:
    """Return the map that a network of the demo predicts for an image (H, W, 3): ids (H, W)."""
    import onnxruntime

    session = onnxruntime.InferenceSession(networks()[model])
    values = ((image.astype(np.float32) / 255 - 0.45) / 0.25).transpose(2, 0, 1)[None]
    (scores,) = session.run(None, {session.get_inputs()[0].name: values})
    found = labels(np.asarray(scores)[0], street.SIZE)
    assert found is not None
    return found


def class_colours(label_map: np.ndarray) -> np.ndarray:
    """Return a map in the colours of its classes, (H, W, 3) uint8."""
    palette = np.zeros((256, 3), np.uint8)
    for id_, _, colour in street.CLASSES:
        palette[id_] = colour
    return palette[label_map]


def differences(image: np.ndarray, first: np.ndarray, second: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the image in pale gray, and in colour the pixels on which two maps differ, by which is wrong."""
    shown = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    shown = (shown * 0.4 + 140).astype(np.uint8)
    differ = first != second
    shown[differ & (first != truth)] = FIRST
    shown[differ & (second != truth)] = SECOND
    shown[differ & (first != truth) & (second != truth)] = BOTH
    return shown


def caption(draw: ImageDraw.ImageDraw, left: float, top: float, entries: list[Entry]) -> None:
    """Write a line of words, each behind a square of its colour where it has one."""
    font = ImageFont.load_default(FONT)
    for colour, text in entries:
        if colour is not None:
            draw.rounded_rectangle((left, top + 5, left + 26, top + 31), 5, fill=colour)
            left += 36
        draw.text((left, top), text, fill=GRAY, font=font)
        left += draw.textlength(text, font) + 26


def picture(scene: int, models: tuple[str, str]) -> Image.Image:
    """Return the four panels in two rows, each with its caption."""
    drawn = street.corpus_scene(scene)
    first, second = (predicted_map(model, drawn.image) for model in models)
    wrong: list[Entry] = [(FIRST, f"{models[0]} wrong"), (SECOND, f"{models[1]} wrong"), (BOTH, "both wrong")]
    panels: list[tuple[np.ndarray, list[Entry]]] = [
        (drawn.image, [(None, "image")]),
        (differences(drawn.image, first, second, drawn.truth), wrong),
        (class_colours(first), [(None, f"{models[0]} predicts")]),
        (class_colours(second), [(None, f"{models[1]} predicts")]),
    ]
    width, height = (side * ENLARGED for side in street.SIZE)
    sheet = Image.new("RGBA", (2 * width + GAP, 2 * (height + TEXT)))
    draw = ImageDraw.Draw(sheet)
    for place, (panel, entries) in enumerate(panels):
        left, top = place % 2 * (width + GAP), place // 2 * (height + TEXT)
        how = Image.Resampling.NEAREST if place else Image.Resampling.LANCZOS
        sheet.paste(Image.fromarray(panel).resize((width, height), how), (left, top))
        caption(draw, left, top + height + 8, entries)
    return sheet


if __name__ == "__main__":
    picture(SCENE, MODELS).save(OUT, quality=72, method=6)
    sys.stdout.write(f"{OUT}: {OUT.stat().st_size / 1024:.0f} kB\n")
