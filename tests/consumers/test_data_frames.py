"""pandas, polars and DuckDB take a result as it is, and read `export --format parquet`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultscape as fs


@pytest.fixture
def standings(study: str) -> Any:
    return fs.load(Path(study) / "standings.json")


@pytest.fixture
def expected(standings: Any) -> list[tuple[str, float]]:
    """The models of the first ranking over all classes, the best first, with their scores."""
    ranking, *_ = standings.rankings.values()
    return [(model, ranking.scores[model]) for model in ranking.order]


@pytest.fixture
def images(study: str, tmp_path: Path) -> Path:
    fs.export(study, tmp_path / "out", format="parquet", all_images=True)
    return tmp_path / "out" / "images.parquet"


def test_pandas(standings: Any, expected: list[tuple[str, float]], images: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make test-consumers")
    frame = pandas.DataFrame.from_arrow(standings)
    first = frame[frame.ranking.eq(frame.ranking[0]) & frame.classes.isna()].sort_values("place")
    assert [*zip(first.model, first.score, strict=True)] == expected
    assert [*frame.columns] == [*standings.to_pandas().columns]
    assert pandas.read_parquet(images).disagreement.between(0, 1).all()


def test_polars(standings: Any, expected: list[tuple[str, float]], images: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed: make test-consumers")
    frame = polars.DataFrame(standings)
    of_first = polars.col("ranking").eq(frame["ranking"][0]) & polars.col("classes").is_null()
    assert frame.filter(of_first).sort("place").select("model", "score").rows() == expected
    inside = polars.scan_parquet(images).select(polars.col("disagreement").is_between(0, 1))
    assert inside.collect().to_series().all()


def test_duckdb(standings: Any, expected: list[tuple[str, float]], images: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: make test-consumers")
    name = next(iter(standings.rankings))
    first = f"ranking = '{name}' AND classes IS NULL"
    found = duckdb.sql(f"SELECT model, score FROM standings WHERE {first} ORDER BY place").fetchall()
    assert found == expected
    rows = duckdb.sql(f"SELECT disagreement FROM '{images}'").fetchall()
    assert rows
    assert all(0 <= disagreement <= 1 for (disagreement,) in rows)
