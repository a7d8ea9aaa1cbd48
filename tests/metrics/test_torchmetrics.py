"""A Measure as a metric of torchmetrics: the numbers of `measure_maps`, also over two ranks, and in Lightning's loop.
Skipped without torchmetrics (and Lightning).
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import children
import faultscape as fs
from faultscape.errors import LabelMapError, MetricError
from refusals import refused

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 4, (13, 8, 10)).repeat(2, 1).repeat(2, 2).astype(np.uint8)
PREDICTION = np.where(RNG.random(TRUTH.shape) < 0.2, RNG.integers(0, 3, TRUTH.shape), TRUTH).astype(np.uint8)
TRUTH[TRUTH == 3] = 255
PREDICTION[PREDICTION == 3] = 255
DRIVES = [f"drive-{k // 2}" if k != 4 else "" for k in range(13)]
NAMES = ["miou", "rom", "boundary_f"]


@pytest.fixture(scope="module")
def adapter() -> Any:
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from faultscape.metrics import torchmetrics

    return torchmetrics


def tensors(part: slice = slice(None)) -> tuple[Any, Any]:
    import torch

    return torch.from_numpy(PREDICTION[part]), torch.from_numpy(TRUTH[part])


def test_it_gives_the_numbers_of_measure_maps_to_the_last_digit(adapter: Any) -> None:
    import torch

    metric = adapter.MeasureMetric(3, NAMES, void=255)
    for part in (slice(0, 5), slice(5, 13)):
        metric.update(*tensors(part), DRIVES[part])
    found = metric.compute()
    wanted = fs.metrics.measure_maps(TRUTH, PREDICTION, 3, void=255, metrics=NAMES, groups=DRIVES)
    for name, (value, low, high) in wanted.items():
        assert [found[name], found[f"{name}_low"], found[f"{name}_high"]] == [value, low, high]
        assert found[name].dtype == torch.float64


def test_one_metric_is_one_number_and_a_batch_has_its_own(adapter: Any) -> None:
    metric = adapter.MeasureMetric(3, "miou", void=255)
    first = metric(*tensors(slice(0, 5)))
    second = metric(*tensors(slice(5, 13)))
    for found, part in ((first, slice(0, 5)), (second, slice(5, 13)), (metric.compute(), slice(None))):
        assert found == fs.metrics.miou(TRUTH[part], PREDICTION[part], 3, void=255)
    assert metric.higher_is_better
    assert adapter.MeasureMetric(3, "rom").higher_is_better is False


def test_it_is_reset_saved_merged_and_refuses_as_measure_does(adapter: Any) -> None:
    import torch

    metric, other = (adapter.MeasureMetric(3, "miou", void=255) for _ in range(2))
    metric.persistent(True)
    metric.update(*tensors(slice(0, 5)))
    held = io.BytesIO()
    torch.save(metric.state_dict(), held)
    held.seek(0)
    other.persistent(True)
    other.load_state_dict(torch.load(held, weights_only=True))
    other.update(*tensors(slice(5, 13)))
    assert other.compute() == fs.metrics.miou(TRUTH, PREDICTION, 3, void=255)
    metric.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchmetrics warns of compute before update
        with refused(MetricError, "there is no image to compute metrics of"):
            metric.compute()
    with refused(LabelMapError, r"convert labels with .long\(\)"):
        metric.update(tensors()[0].float(), tensors()[1])


RANK = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import torch
import torch.distributed as dist
import faultscape as fs
from faultscape.metrics.torchmetrics import MeasureMetric

rank, meeting, maps = int(sys.argv[1]), sys.argv[2], np.load(sys.argv[3])
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
names = ["miou", "rom", "boundary_f", "rand_index"][:3]
groups = [f"drive-{k // 2}" for k in range(13)]
metric = MeasureMetric(3, names, void=255)
part = (slice(0, 5), slice(5, 13))[rank]
metric.update(*(torch.from_numpy(maps[side][part]) for side in ("prediction", "truth")), groups[part])
found = metric.compute()
known = fs.metrics.measure_maps(maps["truth"], maps["prediction"], 3, void=255, metrics=names, groups=groups)
for name, (value, low, high) in known.items():
    assert [found[name], found[f"{name}_low"], found[f"{name}_high"]] == [value, low, high], name
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_ranks_are_synchronised_to_the_last_digit(adapter: Any, tmp_path: Path) -> None:
    del adapter
    np.savez(tmp_path / "maps.npz", truth=TRUTH, prediction=PREDICTION)
    lines = [
        [sys.executable, "-c", RANK, f"{k}", f"{tmp_path / 'meeting'}", f"{tmp_path / 'maps.npz'}"]
        for k in range(2)
    ]
    for rank in [children.start(line) for line in lines]:
        assert rank.wait(timeout=300) == 0


@pytest.mark.slow
def test_the_lines_for_lightning_log_the_numbers_of_measure_maps(adapter: Any, tmp_path: Path) -> None:
    del adapter
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")
    import torch

    page = Path(__file__).parents[2] / "docs" / "how-to" / "training-loops.md"
    lines = next(
        block
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        if "lightning" in block
    )
    held: dict[str, Any] = {}
    exec(lines, held)
    net = held["Net"]()
    images = torch.rand(13, 3, *TRUTH.shape[1:])
    data = torch.utils.data.TensorDataset(images, torch.from_numpy(TRUTH))
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=tmp_path
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (logged,) = trainer.validate(net, torch.utils.data.DataLoader(data, batch_size=4), verbose=False)
    prediction = net.layer(images).argmax(1)
    known = fs.metrics.measure_maps(TRUTH, prediction, 3, void=255, metrics=["miou", "dice", "pq"])
    assert logged["val_miou"] == pytest.approx(known["miou"].value, rel=1e-6)  # Lightning logs float32
    for name in ("dice", "pq"):
        of = [logged[key] for key in (name, f"{name}_low", f"{name}_high")]
        assert of == pytest.approx(list(known[name]), rel=1e-6)


def test_without_torchmetrics_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "faultscape.metrics.torchmetrics", raising=False)
    with refused(fs.errors.OptionError, r"not installed: pip install 'faultscape\[torchmetrics\]'"):
        import faultscape.metrics.torchmetrics  # noqa: F401
