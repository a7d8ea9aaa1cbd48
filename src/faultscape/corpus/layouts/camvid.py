"""CamVid: SegNet's copy (11 classes, index masks, split files), and the original (32 colours, one set of 701
images).

Conventions: a group is a drive (0001TP, 0006R0, 0016E5, Seq05VD), the part of a name before its first ``_``;
frames of a drive are near-duplicates.
Sources: Brostow et al. 2009; Badrinarayanan et al. 2017.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faultscape.corpus.layouts.layout import ROLES, Frame
from faultscape.corpus.layouts.trees import IMAGES, base, beside, branch, files, inside, lines


def find_camvid(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames listed in SPLIT.txt, one ``image labels`` pair per line; without the file, those in
    SPLIT/ and SPLITannot/.
    """
    root = base(root, "CamVid")
    listed = [line.split() for line in lines(root / f"{split}.txt")]
    if not listed:
        listed = [[f"{split}/{path.name}", f"{split}annot/{path.stem}.png"] for path in files(root / split)]
    for image, *labels in listed:
        path = _near(root, image)
        if path.is_file():
            truth = (
                _near(root, labels[0]) if labels else root / f"{path.parent.name}annot" / f"{path.stem}.png"
            )
            yield Frame(
                path.stem, str(path), str(truth) if truth.is_file() else "",
                group=path.stem.partition("_")[0], split=split, role=ROLES.get(split, "pool"),
            )  # fmt: skip


def find_original(root: Path, split: str) -> Iterator[Frame]:
    """Yield all frames of the original: 701_StillsRaw_full/*.png with LabeledApproved_full/*_L.png; it has no
    official split.
    """
    folder = branch(root, "701_StillsRaw_full")
    labels = branch(root, "LabeledApproved_full")
    for path in files(folder, IMAGES) if folder else ():
        truth = beside(labels, f"{path.stem}_L", (".png",)) if labels else ""
        yield Frame(path.stem, str(path), truth, group=path.stem.partition("_")[0], split=split)


def _near(root: Path, name: str) -> Path:
    """Return the file for a line of SegNet's lists, whose paths begin with /SegNet/CamVid: only the last
    folder and the name count.
    """
    here = inside(root, name)
    return here if here.is_file() else inside(root, "/".join(name.strip("/").split("/")[-2:]))
