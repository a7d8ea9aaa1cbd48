"""The published JSON schemas are those of the types, and what verbs write is valid by them."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import faultscape as fs
import golden
import made_world

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference" / "schemas"


def world(folder: Path) -> None:
    made_world.make_world(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made_world.make_study()


def errors_in(name: str, document: object) -> list[str]:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


def test_schemas_are_those_of_the_types() -> None:
    about = importlib.util.spec_from_file_location("schemas", ROOT / "scripts" / "schemas.py")
    assert about is not None
    assert about.loader is not None
    script = importlib.util.module_from_spec(about)
    about.loader.exec_module(script)
    made = {f"{name}.schema.json": script.text(schema) for name, schema in script.schemas().items()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    for text in made.values():
        Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standings", "plan", "measure", "reliability"])
def test_what_a_verb_writes_is_valid(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = golden.Goldens.made("world", world)
    shutil.copytree(made, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    file = Path("study", "standings-order.json")
    if name == "plan":
        fs.plan("study", engine="local")
        file = Path("study", "plan.json")
    elif name == "measure":
        made_in = fs.measure("truth/", {"unet": "maps/unet/"}, classes="classes.json", engine="local").path
        file = Path(made_in, "measure.json")
    elif name == "reliability":
        fs.predict("study", {"net": "net.onnx"}, scorer="msp", measure=True, engine="local")
        file = Path(fs.reliability("study", models=["net"], engine="local").path, "reliability.json")
    document = json.loads(file.read_text(encoding="utf-8"))
    assert errors_in(name, document) == []
    assert errors_in(name, {**document, "models": 3}) != []
