"""The scores of a closed benchmark to compare ranks with (Yan et al. 2021): a CSV file of model,score, or a
JSON object.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from faultscape.errors import RankingError, reason


def read_benchmark(path: str) -> dict[str, float]:
    """Return {model: score} of a CSV or JSON file; RankingError if it is neither."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if path.endswith(".json"):
            return {str(k): float(v) for k, v in json.loads(text).items()}
        rows = [row for row in csv.reader(text.splitlines()) if row]
        if not rows or len(rows[-1]) < 2:
            raise RankingError(
                f"{path}: expected lines of model,score; got {rows[-1][0] if rows else 'nothing'!r}"
            )
        start = 0 if len(rows[0]) > 1 and _is_number(rows[0][1]) else 1
        names = [row[0].strip() for row in rows[start:]]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise RankingError(f"{path}: has two scores for {repeated!r}; give each model one")
        return {name: float(row[1]) for name, row in zip(names, rows[start:], strict=True)}
    except (OSError, ValueError, IndexError, AttributeError, TypeError, RecursionError, csv.Error) as error:
        raise RankingError(f"{path}: expected lines of model,score: {reason(error)}") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
