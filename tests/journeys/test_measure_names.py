"""Names of files that `measure` cannot match are told with a `--pattern` that works as it is pasted, for
whichever side it is meant.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from refusals import refused_line

ENDS = ("_2.5", "_7.0", "_1.9", "_4.4")  # differ by file, as scores that a network writes into names do


def written(root: Path, truth: str, maps: str, *, frames: int = 4) -> tuple[Path, Path]:
    """Write true and predicted maps under names made of {id} and {end}."""
    rng = np.random.default_rng(3)
    for k in range(frames):
        for side, name in (("truth", truth), ("maps", maps)):
            path = root / side / name.format(id=f"im{k:02d}", end=ENDS[k])
            made.write(path, rng.integers(0, 2, (12, 16)).astype(np.uint8))
    return root / "truth", root / "maps"


def measured(root: Path, *words: object) -> dict[str, Any]:
    out = ["-o", str(root / "o"), "--engine", "local", "--resamples", "0", "--no-boundaries"]
    assert main(["measure", *map(str, words), "--classes", "2", *out]) == 0
    return json.loads((root / "o" / "measure.json").read_text())


@pytest.mark.parametrize(
    ("truth", "maps", "frames"),
    [
        ("{id}_gtFine.png", "{id}_leftImg8bit_pred.png", 1),
        ("{id}_gtFine.png", "{id}_leftImg8bit{end}.png", 4),
        ("{id}.png", "{id}_pred{end}.png", 4),
        ("{id}.png", "pred_{id}.png", 4),
        ("{id}.png", "pred-{id}-of-unet.png", 4),
        ("{id}.png", "{id}.seg{end}.png", 4),
        ("town/{id}.png", "pred/town/{id}_x{end}.png", 4),
    ],
)
def test_the_pattern_that_is_advised_works(truth: str, maps: str, frames: int, tmp_path: Path) -> None:
    folders = written(tmp_path, truth, maps, frames=frames)
    words = [folders[0], f"m={folders[1]}"]
    told = refused_line("measure", *words, "--classes", 2)
    (advised,) = re.findall(r"or give (--pattern .+)$", told.strip())
    assert measured(tmp_path, *words, *shlex.split(advised))["images"] == {"m": frames}


def test_a_pattern_for_maps_leaves_truth_and_other_models_alone(tmp_path: Path) -> None:
    truth, maps = written(tmp_path, "{id}.png", "pred_{id}.png")
    for path in truth.iterdir():  # as a person sees them, beside the maps
        made.write(maps / path.name, np.zeros((12, 16), np.uint8))
    words = [truth, f"m={maps}", f"same={truth}", "--pattern", "pred_{id}.png"]
    found = measured(tmp_path, *words)
    assert found["images"] == {"m": 4, "same": 4}
    assert found["models"]["same"]["miou"]["value"] == 1
    for path in maps.glob("im*"):
        path.unlink()
    assert measured(tmp_path, *words)["models"] == found["models"]


def test_a_pattern_for_the_truth_leaves_maps_that_are_named_as_images_alone(tmp_path: Path) -> None:
    truth, maps = written(tmp_path, "{id}_gt.png", "{id}.png")
    for k in range(4):
        made.write(maps / f"im{k:02d}_shown.png", np.zeros((12, 16), np.uint8))
    found = measured(tmp_path, truth, f"m={maps}", "--pattern", "{id}_*.png")
    assert (
        found["models"]["m"]["miou"]["value"]
        == measured(tmp_path, truth, f"m={maps}")["models"]["m"]["miou"]["value"]
    )
    assert "4 files have no truth, of 8" in found["notes"][0]


def test_a_pattern_also_names_images_and_scores(tmp_path: Path) -> None:
    truth, _ = written(tmp_path, "{id}.png", "{id}.png")
    for k in range(4):
        made.write(tmp_path / "doubt" / f"d_im{k:02d}.png", np.full((12, 16), 40 * k, np.uint8))
    words = [truth, f"m={tmp_path / 'maps'}", "--doubt", f"m={tmp_path / 'doubt'}"]
    told = refused_line("measure", *words, "--classes", 2)
    assert "'d_{id}.png'" in told
    assert "calibration_auroc" in measured(tmp_path, *words, "--pattern", "d_{id}.png")["models"]["m"]
    words = [*words[:2], "--images", tmp_path / "doubt"]
    assert "'d_{id}.png'" in refused_line("measure", *words, "--classes", 2)
    assert measured(tmp_path, *words, "--pattern", "d_{id}.png")


def test_a_pattern_that_fits_no_file_is_refused_and_none_is_advised_where_none_fits(tmp_path: Path) -> None:
    truth, maps = written(tmp_path, "{id}.png", "{id}.png")
    words = ["measure", truth, f"m={maps}", "--classes", 2]
    told = refused_line(*words, "--pattern", "{id}_gt.png")
    assert f"{truth}: no file matches the pattern '{{id}}_gt.png'; the first file is 'im00.png'" in told
    for k, path in enumerate(sorted(maps.iterdir())):
        path.rename(maps / f"{'abcd'[k]}.png")
    told = refused_line(*words)
    assert "none of its 4 maps is named as an image" in told
    assert "--pattern" not in told


def test_notes_of_several_data_sets_carry_their_names(tmp_path: Path) -> None:
    written(tmp_path, "{id}.png", "{id}.png")
    made.write(tmp_path / "maps" / "more.png", np.zeros((12, 16), np.uint8))
    text = 'truth = "truth"\nclasses = {classes}\nmodels = {{ m = "maps" }}\n'
    (tmp_path / "list.toml").write_text("".join(f"[{name}]\n" + text.format(classes=2) for name in "ab"))
    found = fs.measure(datasets=tmp_path / "list.toml", output=tmp_path / "o", engine="local", resamples=0)
    for name in "ab":
        told = f"{name}: m: 1 file has no truth, of 5 in {tmp_path / 'maps'}, and is not measured: more"
        assert told in found.notes
