"""pycocotools reads `export --format coco`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.reading.study import Study

coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed: make test-consumers")
cocoeval = pytest.importorskip("pycocotools.cocoeval")


@pytest.fixture(scope="module")
def exported(study: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("coco") / "out"
    fs.export(study, out, format="coco", all_images=True)
    return out


@pytest.mark.parametrize("where", ["truth", "models/model-1"])
def test_masks_are_the_maps(where: str, exported: Path, study: str, corpus: made.Corpus) -> None:
    found = coco.COCO(str(exported / where / "instances.json"))
    maps = corpus.truths if where == "truth" else corpus.maps["model-1"]
    ids = dict(zip(Study(study).classes.names, Study(study).classes.ids, strict=True))
    assert len(found.imgs) == len(corpus.ids)
    for number, image in found.imgs.items():
        assert (exported / "images" / image["file_name"]).is_file()
        truth = maps[corpus.ids.index(image["file_name"].removesuffix(".png"))]
        annotations = found.loadAnns(found.getAnnIds(imgIds=[number]))
        assert len(annotations) == len(np.unique(truth))
        for annotation in annotations:
            mask = truth == ids[found.cats[annotation["category_id"]]["name"]]
            assert (found.annToMask(annotation) == mask).all()
            assert annotation["area"] == mask.sum()


def test_results_are_judged_by_the_labels(exported: Path) -> None:
    truth = coco.COCO(str(exported / "truth" / "instances.json"))
    results = truth.loadRes(str(exported / "models" / "model-0" / "results.json"))
    judged = cocoeval.COCOeval(truth, results, "segm")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    assert 0 < judged.stats[0] < 1
    of_masks = coco.COCO(str(exported / "models" / "model-0" / "instances.json"))
    assert [a["area"] for a in results.anns.values()] == [a["area"] for a in of_masks.anns.values()]
