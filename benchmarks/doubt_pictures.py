"""What methods do on the frames of benchmarks/doubt.py where they do best and worst, drawn; and the
leaderboard of its networks over two editions.

    python benchmarks/doubt_pictures.py frames FOLDER PICTURE [--model segformer-b0-linear-0] [--scorers msp,knn]
    python benchmarks/doubt_pictures.py editions FOLDER [--seed 0]                  # writes FOLDER/editions/leaderboard.html

Conventions: best and worst are by the average precision of a frame alone, on the set blended by the recipe
fishyscapes-v2. A score is drawn by its false positive rate over all frames: grey above 5 %, blue below, dark
where few known pixels score as high. Photos are not shown: CamVid's are not ours to give away. The first
edition has every second drawn object, the second all, 40 frames each.
Source: S4, Figures 3 and 4.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from doubt_objects import write_objects
from PIL import Image, ImageDraw, ImageFont

import faultscape as fs
from faultscape.metrics.scores.histogram import SIZE, Histogram16, detection_from_histogram
from faultscape.reading.image_truths import Judge, find_judged
from faultscape.reading.study import Study
from faultscape.reporting.anomaly_frames import choose_frames, score_picture
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.study.settings import read_settings
from faultscape.verbs.reliability.pictures import answers_of

BLENDED = "fishyscapes-v2"
WIDTH, MARGIN, CAPTION = 300, 8, 22
INK, PAPER, OUTLINE = (40, 40, 40), (255, 255, 255), (230, 120, 40)


def frames(folder: Path, target: Path, model: str, scorers: Sequence[str]) -> None:
    """Draw a row a scorer: the two frames on which it does best, and the two on which it does worst."""
    rows = [(scorer, drawn_frames(folder / "kept", model, scorer)) for scorer in scorers]
    tall = rows[0][1][0][1].height + CAPTION
    sheet = Image.new(
        "RGB", (4 * (WIDTH + MARGIN) + MARGIN, len(rows) * (tall + MARGIN + CAPTION) + MARGIN), PAPER
    )
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for row, (scorer, pictures) in enumerate(rows):
        top = MARGIN + row * (tall + MARGIN + CAPTION)
        pen.text((MARGIN, top), scorer, INK, font)
        for column, (caption, picture) in enumerate(pictures):
            left = MARGIN + column * (WIDTH + MARGIN)
            sheet.paste(picture, (left, top + CAPTION))
            pen.text((left, top + CAPTION + picture.height + 2), caption, INK, font)
    sheet.save(target, quality=80, method=6)


def drawn_frames(study: Path, model: str, scorer: str) -> list[tuple[str, Image.Image]]:
    """Return (caption, picture) of the best and the worst frames of a scorer."""
    of = Study(study)
    images = of.image_rows
    (word,) = [one for one in of.settings.models[model].options["scorer"] if one.partition("@")[0] == scorer]
    judge = Judge(of, find_judged(of, images, ""), {})
    shown = [image for image in images.values() if image.set == BLENDED]
    scores, truths, total = {}, {}, Histogram16(np.zeros(SIZE, np.int64), np.zeros(SIZE, np.int64))
    found: dict[str, float] = {}
    for id_, said in answers_of(of, model, word, shown):
        (view,) = judge.views(id_, said.score.shape[::-1])
        scores[id_], truths[id_] = said.score.astype(np.uint16), view.anomaly
        counts = Histogram16(
            *(np.bincount(said.score[view.anomaly == value], minlength=SIZE) for value in (0, 1))
        )
        total, found[id_] = total + counts, detection_from_histogram(counts).average_precision
    shares = np.cumsum(total.known[::-1])[::-1] / total.known.sum()
    chosen = choose_frames(
        found, {id_: k for k, id_ in enumerate(sorted(found, key=lambda id_: images[id_].key))}, 2
    )
    out = []
    for kind, _, id_ in sorted(chosen, key=lambda one: (one[0], one[1])):
        size = WIDTH, round(WIDTH * truths[id_].shape[0] / truths[id_].shape[1])
        picture = score_picture(shares[scores[id_]], size)
        picture[outline(truths[id_] == 1, size)] = OUTLINE
        out.append((f"{kind}: AP {found[id_]:.3f}", Image.fromarray(picture)))
    return out


def outline(mask: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the pixels at a size just outside of a mask."""
    small = np.pad(np.asarray(Image.fromarray(mask.astype(np.uint8) * 255).resize(size)) > 127, 1)
    grown = (
        small | np.roll(small, 1, 0) | np.roll(small, -1, 0) | np.roll(small, 1, 1) | np.roll(small, -1, 1)
    )
    return (grown & ~small)[1:-1, 1:-1]


def editions(folder: Path, seed: int) -> None:
    """Blend two editions, predict all networks of a seed on them as they were predicted before, and write the
    card and its leaderboard.
    """
    study, drawn = folder / "kept", [cutout for cutout in drawn_cutouts() if cutout.split == "test"]
    for edition, objects in (("2026-10", drawn[::2]), ("2026-11", drawn)):
        place = write_objects(folder / "objects" / f"editions-{edition}", objects)
        fs.stress.blend(
            str(study), set_="main", preset="fishyscapes-v2", edition=edition, objects=place, frames=40
        )
    held = read_settings(study).models
    names = [name for name in held if name.endswith(f"-{seed}")]
    for name in names:
        scorers = [word.partition("@")[0] for word in held[name].options["scorer"]]
        fs.predict(str(study), {name: held[name].source}, scorer=scorers, measure=True)
    fs.reliability(str(study), models=names, worst=0, resamples=0, output=str(folder / "editions"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("frames", "editions"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("picture", type=Path, nargs="?", default=Path("doubt.webp"))
    parser.add_argument("--model", default="segformer-b0-linear-0")
    parser.add_argument("--scorers", default="msp,knn")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "frames":
        frames(given.folder, given.picture, given.model, given.scorers.split(","))
    else:
        editions(given.folder, given.seed)


if __name__ == "__main__":
    main()
