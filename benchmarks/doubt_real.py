"""The scores of benchmarks/doubt.py on real frames with unknown objects: RoadAnomaly, the two tracks of
SegmentMeIfYouCan, Fishyscapes Lost and Found and Fishyscapes Static.

    python benchmarks/doubt_real.py FOLDER [--model segformer-b0-linear-0]    # after `doubt.py run FOLDER`; two minutes

Conventions: every frame is judged at 640 x 360 with the methods that are fitted to the network, which was
trained on CamVid and never saw these roads. Few frames: read the rows as examples.
Source: S4, Table 1; Lis et al. 2019; Chan et al. 2021.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from doubt import PLAIN, copy_methods
from doubt_objects import DATA
from heads import kept_classes

import faultscape as fs
from faultscape.reporting.reliability.document import find_cell

SETS = {
    "road_anomaly": "RoadAnomaly",
    "smiyc_anomaly21": "RoadAnomaly21",
    "smiyc_obstacle21": "RoadObstacle21",
    "fs_lostfound_half": "FS Lost and Found",
    "fs_static": "FS Static",
}


def real_study(folder: Path) -> Path:
    """Return the study of the real frames, each data set a set."""
    study = folder / "real"
    classes = kept_classes(folder)
    for name in SETS:
        tree = folder / "real-trees" / name
        for part, target, ending in (("images", "images", ""), ("masks", "labels_masks", "_labels_semantic")):
            (tree / target).mkdir(parents=True, exist_ok=True)
            for path in sorted((DATA / "anomaly" / name / part).iterdir()):
                link = tree / target / f"validation_{path.stem}{ending}{path.suffix}"
                if not link.exists():
                    link.symlink_to(path)
        known = fs.options.KnownData(layout="road-anomaly21", split="validation")
        fs.collect(
            str(study), str(tree), classes=classes, set_=name, role="test", size="640x360", known=known
        )
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="segformer-b0-linear-0")
    given = parser.parse_args()
    learn = given.folder / "learn"
    fitted = sorted(path.stem for path in (learn / "methods" / given.model).glob("*.safetensors"))
    scorers = [*PLAIN, *fitted]
    study = real_study(given.folder)
    copy_methods(learn, study, given.model)
    fs.predict(str(study), {given.model: str(learn / "models" / given.model)}, scorer=scorers, measure=True)
    output = str(given.folder / "cards" / f"real-{given.model}")
    card = fs.reliability(str(study), models=[given.model], worst=0, resamples=0, output=output).document
    print(f"| score | {' | '.join(f'{title} AP | FPR95' for title in SETS.values())} |")
    print("|---" * (1 + 2 * len(SETS)) + "|")
    for scorer in scorers:
        cells = [
            f"{found['value']:.3f}"
            if (found := find_cell(card, given.model, name, metric, scorer)) is not None
            else ""
            for name in SETS
            for metric in ("average_precision", "fpr95")
        ]
        print(f"| `{scorer}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
