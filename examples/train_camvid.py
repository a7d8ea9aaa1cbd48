"""Train two small networks on CamVid and see how they do under corruption: a U-Net whose colours were shaken
while it learned, and one whose were not.

    python examples/train_camvid.py CAMVID OUT --epochs 10       # OUT/plain.onnx and OUT/shaken.onnx: four minutes each on two cores
    faultscape collect OUT/study CAMVID --layout camvid --split test
    faultscape stress corrupt OUT/study --preset s3-data
    faultscape predict OUT/study plain=OUT/plain.onnx shaken=OUT/shaken.onnx --input-size 240x176 --mean 0.41
    --mean 0.42 --mean 0.43 --std 0.3 --std 0.31 --std 0.31 faultscape measure OUT/study --set main --set
    gaussian_noise-1 --set gaussian_noise-3 --set gaussian_noise-5

CAMVID is the folder of the SegNet version (train.txt, train/, trainannot/). Networks see images at 240 x 176
and give logits at half of that.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import find_frames

SIZE, CLASSES, VOID = (240, 176), 11, 11
MEAN, STD = (0.41, 0.42, 0.43), (0.30, 0.31, 0.31)
WIDTHS = (16, 32, 48, 64)


class Step(nn.Sequential):
    """Convolution, normalisation, ReLU."""

    def __init__(self, inward: int, outward: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inward, outward, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outward),
            nn.ReLU(inplace=True),
        )


class Unet(nn.Module):
    """Down in four steps and up again, every step's maps carried across."""

    def __init__(self) -> None:
        super().__init__()
        pairs = zip((3, *WIDTHS), WIDTHS, strict=False)
        self.down = nn.ModuleList(nn.Sequential(Step(a, b, 2), Step(b, b)) for a, b in pairs)
        self.up = nn.ModuleList(Step(WIDTHS[k + 1] + WIDTHS[k], WIDTHS[k]) for k in range(len(WIDTHS) - 1))
        self.head = nn.Conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        kept, x = [], image
        for step in self.down:
            x = step(x)
            kept.append(x)
        for k in reversed(range(len(self.up))):
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = self.up[k](torch.cat([x, kept[k]], dim=1))
        return self.head(x)


def frames(camvid: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return images (N, H, W, 3) uint8 and labels (N, h, w) at half size of the training split."""
    layout = entry("camvid")
    images, labels = [], []
    for frame in find_frames(layout, camvid, "train"):
        images.append(cv2.resize(layout.read_image(frame), SIZE, interpolation=cv2.INTER_AREA))
        labels.append(
            cv2.resize(
                layout.read_truth(frame), (SIZE[0] // 2, SIZE[1] // 2), interpolation=cv2.INTER_NEAREST
            )
        )
    return np.stack(images), np.stack(labels)


def shaken(batch: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images with other brightness, contrast and noise."""
    out = batch.astype(np.float32)
    for k in range(len(out)):
        out[k] = (out[k] - 128) * rng.uniform(0.4, 1.3) + 128 + rng.uniform(-50, 50)
        out[k] += rng.normal(0, rng.uniform(0, 45), out[k].shape)
    return np.clip(out, 0, 255)


def train(images: np.ndarray, labels: np.ndarray, epochs: int, *, shake: bool) -> Unet:
    """Return a network that learned for some epochs."""
    torch.manual_seed(0)
    rng, net, batch = np.random.default_rng(0), Unet(), 8
    steps = epochs * (len(images) // batch)
    optimizer = torch.optim.AdamW(net.parameters(), 4e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    start = time.monotonic()
    for step in range(steps):
        chosen = rng.choice(len(images), batch, replace=False)
        shown, wanted = images[chosen], labels[chosen]
        if rng.random() < 0.5:
            shown, wanted = shown[:, :, ::-1], wanted[:, :, ::-1]
        shown = shaken(shown, rng) if shake else shown.astype(np.float32)
        x = torch.from_numpy(
            np.ascontiguousarray((shown / 255 - MEAN) / STD, dtype=np.float32).transpose(0, 3, 1, 2).copy()
        )
        loss = functional.cross_entropy(net(x), torch.from_numpy(wanted.astype(np.int64)), ignore_index=VOID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(
                f"step {step} of {steps}: loss {loss.item():.3f}, {time.monotonic() - start:.0f} s",
                flush=True,
            )
    return net.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("camvid", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    images, labels = frames(options.camvid)
    for name, shake in (("plain", False), ("shaken", True)):
        net = train(images, labels, options.epochs, shake=shake)
        example, file = torch.zeros(1, 3, SIZE[1], SIZE[0]), options.out / f"{name}.onnx"
        torch.onnx.export(
            net,
            (example,),
            str(file),
            input_names=["image"],
            output_names=["logits"],
            dynamo=True,
            external_data=False,
        )
        print(
            f"{file}: predict it with --input-size {SIZE[0]}x{SIZE[1]} --mean {MEAN[0]} --mean {MEAN[1]}"
            f" --mean {MEAN[2]} --std {STD[0]} --std {STD[1]} --std {STD[2]}"
        )


if __name__ == "__main__":
    main()
