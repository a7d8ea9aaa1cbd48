"""Pictures of the gallery, made from drawn scenes and the five small networks that ship with Faultscape.

Conventions: images are (H, W, 3) uint8, maps (H, W) places of ``scenes.street.CLASSES``. Every row of
pictures is HTML with the images inside, in as many columns as fit.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import cv2
import numpy as np
from PIL import Image

import faultscape as fs
from _figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    VIOLET,
    Drawing,
    finish_figure,
    label_ends,
    make_panel,
)
from faultscape.maps.paint import colour
from faultscape.nouns import Classes
from faultscape.ranking.drawn.estimate_intervals import loss_intervals
from faultscape.ranking.drawn.estimates import lure, uniform_steps
from faultscape.reporting.measure.region_pictures import connected, marked_regions, picture, told
from faultscape.scenes.street import CLASSES, Scene, corpus_scene

NETWORKS = ("unet", "dilated", "segformer", "fcn", "mobile")
COLOURS = dict(zip(NETWORKS, (BLUE, ORANGE, GREEN, PURPLE, VIOLET), strict=True))
SCENES, LABELS = 60, 20
MEAN, SPREAD = np.float32(0.45), np.float32(0.25)  # of the networks' inputs, as their files say
PLACES = Classes(
    tuple(name for _, name, _ in CLASSES),
    tuple(id_ for id_, _, _ in CLASSES),
    tuple(rgb for *_, rgb in CLASSES),
)
WRONG_FIRST, WRONG_SECOND, WRONG_BOTH, SAME = (213, 94, 0), (0, 114, 178), (60, 60, 60), (236, 236, 232)
Captioned = tuple[str, np.ndarray]


@cache
def draw_scene(index: int) -> Scene:
    return corpus_scene(index)


@cache
def open_network(name: str) -> Any:
    """Return the session of a network that ships with Faultscape."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path = files("faultscape.prediction") / "networks" / f"{name}.onnx"
    return onnxruntime.InferenceSession(str(path), options)


@cache
def predict_scene(name: str, index: int) -> np.ndarray:
    return predict_map(name, draw_scene(index).image)


def predict_map(name: str, image: np.ndarray) -> np.ndarray:
    """Return the (H, W) map that a network predicts for an image."""
    pixels = ((image.astype(np.float32) / 255 - MEAN) / SPREAD).transpose(2, 0, 1)[None]
    (logits,) = open_network(name).run(None, {"image": pixels})
    large = cv2.resize(logits[0].transpose(1, 2, 0), image.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return large.argmax(-1)


def mean_iou(truth: np.ndarray, said: np.ndarray) -> float:
    """Return the mean IoU of one image over the classes that truth or prediction show."""
    n = len(CLASSES)
    counts = np.bincount(n * truth.ravel() + said.ravel(), minlength=n * n).reshape(n, n)
    union = counts.sum(0) + counts.sum(1) - np.diag(counts)
    return float((np.diag(counts)[union > 0] / union[union > 0]).mean())


@cache
def measure_scenes() -> np.ndarray:
    """Return the mean IoU (J, I) of every network on every scene."""
    return np.array(
        [
            [mean_iou(draw_scene(k).truth.astype(int), predict_scene(name, k)) for k in range(SCENES)]
            for name in NETWORKS
        ]
    )


def show_row(pictures: Sequence[Captioned], says: str) -> Drawing:
    """Return pictures side by side, each with its caption."""
    cells = "".join(
        f'<figure><img src="{uri(image)}" alt="{escape(caption)}" loading="lazy">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, image in pictures
    )
    css = (
        "<style>.fs-row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(13rem,45%),1fr));gap:.75rem;"
        "margin:1rem 0}.fs-row figure{margin:0}.fs-row img{width:100%;border-radius:4px;background:none}"
        ".bd-content .fs-row figcaption{font-size:.85em;color:inherit}"
        'html[data-theme="dark"] .bd-content div.cell_output .text_html:has(.fs-row)'
        "{background:none!important;color:inherit!important;padding:0!important}"
        'html[data-theme="dark"] .bd-content .fs-row img'
        "{filter:none;background:none!important;padding:0!important}</style>"
    )
    return Drawing(f'{css}<div class="fs-row" role="group" aria-label="{escape(says)}">{cells}</div>')


def uri(image: np.ndarray) -> str:
    """Return an image as a data URI, WebP."""
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image, np.uint8)).save(out, "WEBP", quality=85, method=4)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"


def draw_disagreement() -> Drawing:
    """Return the scene on which two networks differ most: image, two maps, and which is wrong where."""
    one, other = "unet", "mobile"
    apart = [(predict_scene(one, k) != predict_scene(other, k)).mean() for k in range(SCENES)]
    index = int(np.argmax(apart))
    scene, said, theirs = draw_scene(index), predict_scene(one, index), predict_scene(other, index)
    which = np.full((*said.shape, 3), SAME, np.uint8)
    differ, right, also = said != theirs, said == scene.truth, theirs == scene.truth
    which[differ & right] = WRONG_SECOND
    which[differ & also] = WRONG_FIRST
    which[differ & ~right & ~also] = WRONG_BOTH
    return show_row(
        [
            ("image", scene.image),
            (f"{one} predicts", colour(said, PLACES)),
            (f"{other} predicts", colour(theirs, PLACES)),
            (f"where they differ: {other} wrong (blue), {one} wrong (orange), both wrong (dark)", which),
        ],
        "A disagreement: an image, the maps of two networks, and where they differ",
    )


def draw_standings() -> Drawing:
    """Return scores from some labels with 95 % intervals, beside the scores from all labels."""
    losses = 1 - measure_scenes()
    some = np.random.default_rng(0).permutation(SCENES)[:LABELS]
    found = lure(losses[:, some], uniform_steps(LABELS, SCENES), SCENES)
    bounds = 1 - loss_intervals(found)[:, ::-1]
    order = np.argsort(found.loss)
    figure, axes = make_panel(6.4, 2.4)
    for place, k in enumerate(order[::-1]):
        axes.plot(bounds[k], [place, place], color=COLOURS[NETWORKS[k]], linewidth=2.2)
        axes.plot(1 - found.loss[k], place, "o", color=COLOURS[NETWORKS[k]], markersize=6)
        axes.plot(1 - losses[k].mean(), place, "x", color=INK, markersize=7, markeredgewidth=1.6)
    axes.set_yticks(range(len(order)), [NETWORKS[k] for k in order[::-1]], color=INK)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean IoU")
    axes.set_title(f"{LABELS} of {SCENES} images labelled")
    return finish_figure(
        [figure],
        f"Scores of five networks from {LABELS} labels with 95 % intervals, and from all {SCENES} labels.",
    )


def draw_severities() -> Drawing:
    """Return mean IoU against severity, a panel a corruption, a curve a network."""
    scenes = [draw_scene(k) for k in range(8)]
    panels = []
    for name in ("gaussian_noise", "fog"):
        figure, axes = make_panel(4.2, 2.9)
        ends = []
        for network in NETWORKS:
            values = [
                np.mean(
                    [
                        mean_iou(s.truth.astype(int), predict_map(network, corrupted(k, name, severity)))
                        for k, s in enumerate(scenes)
                    ]
                )
                for severity in (0, 1, 3, 5)
            ]
            axes.plot((0, 1, 3, 5), values, color=COLOURS[network], marker="o")
            ends.append((5, values[-1], network, COLOURS[network]))
        axes.set_xticks([0, 1, 3, 5], ["clean", "1", "3", "5"])
        axes.set_xlabel("severity")
        axes.set_ylabel("mean IoU")
        axes.set_title(name.replace("_", " "))
        label_ends(axes, ends)
        panels.append(figure)
    return finish_figure(panels, "Mean IoU of five networks under Gaussian noise and fog of rising severity.")


@cache
def corrupted(index: int, name: str, severity: int) -> np.ndarray:
    image = draw_scene(index).image
    return fs.stressors.corrupt(image, name, severity) if severity else image


def draw_corruptions() -> Drawing:
    """Return one scene under eight corruptions at severity 3."""
    names = ("gaussian_noise", "motion_blur", "zoom_blur", "snow", "frost", "fog", "contrast", "pixelate")
    titles = {each.name: each.title for each in fs.stressors.CORRUPTIONS}
    return show_row(
        [("clean", draw_scene(0).image), *((titles[name], corrupted(0, name, 3)) for name in names)],
        "One scene under eight corruptions at severity 3",
    )


def draw_blends() -> Drawing:
    """Return scenes with an object blended in, and their labels."""
    cutouts, pictures = fs.stressors.drawn_cutouts(), []
    for index in (0, 4, 8):
        image = draw_scene(index).image
        plan = fs.stressors.plan_blend(image.shape[:2], cutouts, "fishyscapes-v2", seed=0, key=str(index))
        made = fs.stressors.blend(image, plan.placed(cutouts), plan, np.zeros(image.shape[:2], bool))
        labels = np.full(image.shape, (96, 125, 160), np.uint8)
        labels[made.labels == 1] = (230, 120, 40)
        pictures += [(plan.objects[0].name, made.image), ("its label", labels)]
    return show_row(pictures, "Objects blended into drawn scenes, with their labels")


def draw_regions() -> Drawing:
    """Return one scene's true and predicted regions, torn and joined ones in strong colours."""
    network, pictures = "dilated", []
    for metric, word in (("rom", "torn"), ("rum", "joined")):
        for index in range(SCENES):
            scene, said = draw_scene(index), predict_scene(network, index)
            true, predicted = connected(scene.truth.astype(np.int64), said, PLACES, 8, "cut")
            marked = marked_regions(true, predicted, metric)
            if len(marked[0]) > 4:
                break
        size, says = said.shape[::-1], told(true, predicted, marked, metric)
        pictures += [
            (f"truth: {says}", picture(true.places, true.numbers, marked[0], PLACES, size)),
            (f"{network}: {word}", picture(predicted.places, predicted.numbers, marked[1], PLACES, size)),
        ]
    return show_row(
        pictures, "True and predicted regions of one scene, torn and joined ones in strong colours"
    )


def draw_agreement() -> Drawing:
    """Return a matrix: on how many pixels two networks agree."""
    maps = {name: [predict_scene(name, k) for k in range(12)] for name in NETWORKS}
    share = np.array(
        [
            [np.mean([a == b for a, b in zip(maps[x], maps[y], strict=True)]) for y in NETWORKS]
            for x in NETWORKS
        ]
    )
    figure, axes = make_panel(4.6, 3.6)
    low = share.min()
    for row, x in enumerate(share):
        for column, value in enumerate(x):
            strength = 0.12 + 0.6 * (value - low) / (1 - low)
            axes.fill_between([column, column + 1], row, row + 1, color=BLUE, alpha=strength, linewidth=0)
            axes.text(column + 0.5, row + 0.5, f"{100 * value:.0f}", ha="center", va="center", color=INK)
    axes.set_xticks(np.arange(5) + 0.5, NETWORKS, color=INK)
    axes.set_yticks(np.arange(5) + 0.5, NETWORKS, color=INK)
    axes.set(xlim=(0, 5), ylim=(5, 0))
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_edgecolor(GREY)
    axes.set_title("Pixels on which two networks agree, %")
    return finish_figure([figure], "Share of pixels on which each two of five networks agree.")
