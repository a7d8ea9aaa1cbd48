"""Write the JSON schemas of what a study's folder says about its models: ``python scripts/schemas.py``.

Conventions: one file a document in docs/reference/schemas; a test compares them with the types.
"""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.ranking.standings_json import ALWAYS
from faultscape.reporting.measure.document import Document
from faultscape.reporting.reliability.document import Card
from faultscape.results.result import SCHEMA
from faultscape.results.schema import Schema, schema_of
from faultscape.standings import Standings
from faultscape.verbs.plan.result import LabelPlan

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "schemas"


def schemas() -> dict[str, Schema]:
    """Return {name of the document: its schema}."""
    standings = schema_of(Standings, "standings.json, as rank writes it", SCHEMA)
    standings["$defs"]["Standings"]["required"] = sorted(ALWAYS)
    return {
        "standings": standings,
        "plan": schema_of(LabelPlan, "plan.json, as plan writes it", SCHEMA, ["study"]),
        "measure": schema_of(Document, "measure.json, as measure writes it", SCHEMA),
        "reliability": schema_of(Card, "reliability.json, as reliability writes it", SCHEMA),
    }


def text(schema: Schema) -> str:
    """Return a schema as its file holds it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (FOLDER / f"{name}.schema.json").write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
