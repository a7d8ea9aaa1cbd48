"""Views of the report: a competition of the five small networks on drawn scenes, run while the site is built.

Conventions: a view is the report itself with all but some of its sections taken out, in a frame that is as
high as what it holds. Nothing is a screenshot, so that views are those of the version that is documented.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

import faultscape as fs
from _figures.drawing import Drawing
from _figures.gallery import NETWORKS, PLACES, SCENES, draw_scene, predict_scene
from faultscape.formats import png

OPENED = (  # in its place, and without the focus, which would move the page
    "<style>#gallery{display:none}dialog#viewer{position:static;width:auto;height:auto;max-height:none;margin:1rem 0}"
    "@media(min-width:40rem){dialog#viewer .panes{grid-template-columns:1fr 1fr}}</style>"
    "<script>HTMLElement.prototype.focus=()=>{};HTMLDialogElement.prototype.showModal=function(){this.open=true}"
    "</script>"
)
CLICKED = '<script>document.querySelector("#gallery a.enlarge").click()</script>'
FITTED = (
    "<style>body{min-height:0}.page{padding-bottom:1.25rem}main>:first-child{margin-top:.75rem}</style>"
    '<script>new ResizeObserver(()=>{frameElement.style.height=document.body.offsetHeight+2+"px"})'
    ".observe(document.body)</script>"
)


@cache
def make_report() -> str:
    """Return the report of all duels of the networks, every chosen image labelled."""
    os.environ["FAULTSCAPE_PROGRESS"] = "off"
    with (
        tempfile.TemporaryDirectory() as folder,
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        root = Path(folder)
        for index in range(SCENES):
            scene = draw_scene(index)
            maps = {"truth": scene.truth} | {name: predict_scene(name, index) for name in NETWORKS}
            for name, pixels in ({"images": scene.image} | maps).items():
                (root / name).mkdir(exist_ok=True)
                written = png.encode_pixels(pixels.astype(np.uint8))
                (root / name / f"street-{index:02}.png").write_bytes(written)
        study = str(root / "streets")
        fs.collect(study, str(root / "images"), classes=PLACES)
        fs.predict(study, {name: str(root / name) for name in NETWORKS}, engine="local")
        fs.compare(study, engine="local")
        fs.scale(str(root / "truth"), classes=PLACES, output=str(root / "scale.json"))
        fs.select(study, maps=fs.options.MapRules(scale=str(root / "scale.json")))
        fs.label.import_(study, str(root / "truth"))
        fs.rank(study, resamples=200, engine="local")
        return Path(fs.report(study).path).read_text(encoding="utf-8")


def part_of(page: str, tag: str, marked: str) -> str:
    """Return the first element of a page with a tag and an attribute, whatever is nested in it; LookupError
    where there is none.
    """
    start = page.find(f"<{tag} {marked}")
    if start < 0:
        raise LookupError(f"the report has no <{tag} {marked}>")
    depth = 0
    for found in re.finditer(rf"<(/?){tag}\b", page[start:]):
        depth += -1 if found[1] else 1
        if not depth:
            return page[start : start + found.end()] + ">"
    raise LookupError(f"<{tag} {marked}> of the report does not end")


def show_frame(says: str, *parts: str) -> Drawing:
    """Return a frame that shows parts of the report; ``says`` is its name."""
    report = make_report()
    head = report[: report.index("<body>")]
    body = f'<body><div class="page body"><div class="sheets"><main>{"".join(parts)}</main></div></div>{FITTED}</body>'
    return Drawing(
        f'<iframe title="{escape(says)}" loading="lazy" style="width: 100%; height: 24rem;'
        f' border: 1px solid var(--rule); border-radius: 6px" srcdoc="{escape(head + body)}</html>"></iframe>'
    )


def show_headline() -> Drawing:
    """Return the head of the report: who leads, and how sure that is."""
    return show_frame("The headline of a report", part_of(make_report(), "header", 'class="top"'))


def show_matrices() -> Drawing:
    """Return the matrix of aggressiveness, with resistance folded beside it."""
    section = part_of(make_report(), "section", 'id="matrices"')
    return show_frame("The matrix of aggressiveness of a report", section)


def show_viewer() -> Drawing:
    """Return the viewer of a chosen image, opened: image and maps to blend, and where two models differ."""
    report = make_report()
    gallery = part_of(report, "section", 'id="gallery"')
    key, card = part_of(gallery, "ul", 'class="key inline"'), part_of(gallery, "article", 'class="card"')
    scripts = re.findall(r"<script>.*?</script>", report, re.DOTALL)
    return show_frame(
        "The viewer of a report, with the map of where two models differ",
        f'<section id="gallery">{key}{card}</section>',
        part_of(report, "dialog", 'id="viewer"'),
        OPENED,
        *scripts,
        CLICKED,
    )


def show_model() -> Drawing:
    """Return what a report says of one model: its worst images, its confusions, its kinds of error."""
    section = part_of(make_report(), "details", 'class="sheet model"')
    return show_frame("One model's section of a report", section.replace("<details", "<details open", 1))
