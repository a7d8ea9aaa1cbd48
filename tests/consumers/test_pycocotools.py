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


@pytest.mark.parametrize("seed", range(4))
def test_average_precision_of_masks_is_that_of_its_evaluation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truths, said = [], []
    for image in range(12):
        for _ in range(rng.integers(0, 40)):
            mask = np.zeros((40, 50), bool)
            top, left = rng.integers(0, 35), rng.integers(0, 45)
            mask[top : top + rng.integers(2, 15), left : left + rng.integers(2, 15)] = True
            class_ = int(rng.integers(1, 5))
            truths.append((image, class_, mask, bool(rng.random() < 0.1)))
            for _ in range(rng.integers(0, 25)):  # of some, more than the 100 that count
                moved = np.roll(mask, rng.integers(-2, 3), rng.integers(0, 2))
                said.append((image, class_, moved, float(rng.integers(0, 50)) / 50))
    document = {
        "images": [{"id": k, "height": 40, "width": 50} for k in range(12)],
        "categories": [{"id": c} for c in range(1, 5)],
        "annotations": [
            {"id": k, "image_id": image, "category_id": c, "iscrowd": int(crowd), **coded(mask)}
            for k, (image, c, mask, crowd) in enumerate(truths, 1)
        ],
    }
    reference = coco.COCO()
    reference.dataset = document
    reference.createIndex()
    results = [{"image_id": i, "category_id": c, "score": s, **coded(m)} for i, c, m, s in said]
    judged = cocoeval.COCOeval(reference, reference.loadRes(results), "segm")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()

    def by_image(rows: list[tuple], at: int) -> list:
        return [np.array([row[at] for row in rows if row[0] == k]) for k in range(12)]

    none = np.zeros((0, 40, 50), bool)
    true, other = ([each if len(each) else none for each in by_image(rows, 2)] for rows in (truths, said))
    found = fs.metrics.mask_average_precision(
        true, other, by_image(truths, 1), by_image(said, 1), by_image(said, 3), crowds=by_image(truths, 3)
    )
    assert [found.ap, found.ap50, found.ap75] == pytest.approx(judged.stats[:3].tolist(), abs=1e-9)


def coded(mask: np.ndarray) -> dict:
    """A mask as pycocotools writes it."""
    from pycocotools import mask as masks

    code = masks.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"segmentation": code, "area": int(mask.sum()), "bbox": [0, 0, 1, 1]}
