"""Which calls go to compiled kernels, and which to their plain twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import children
from faultscape.maps import counts, kernel_choice, regions, runs
from faultscape.maps.kernel_choice import IMPORT, Kernels
from faultscape.metrics.kernels import plain_region_counts
from faultscape.metrics.overlaps import region_counts
from faultscape.process.made_aside import hold

ROWS = "faultscape.maps.kernels.rows"
OURS = "faultscape.maps.kernel_choice"  # a file of no kernels: numba keeps nothing of it


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has done nothing yet, and has to choose."""
    pytest.importorskip("numba")
    monkeypatch.setattr(kernel_choice, "ALWAYS", False)
    monkeypatch.setattr(Kernels, "_plain_seconds", 0.0)


def names(kernels: Kernels, *seconds: float) -> list[str]:
    chosen = [kernels.ready(each) for each in seconds]
    return ["plain" if module is None else module.__name__ for module in chosen]


@pytest.mark.usefixtures("small")
def test_plain_kernels_serve_until_they_took_as_long_as_compiling() -> None:
    assert names(Kernels(OURS, seconds=4), 1, 1.5, 1.5, 0) == ["plain", "plain", OURS, OURS]


@pytest.mark.usefixtures("small")
def test_a_call_that_would_take_longer_than_compiling_is_compiled_at_once() -> None:
    assert names(Kernels(OURS, seconds=4), 5) == [OURS]


@pytest.mark.usefixtures("small")
def test_seconds_are_of_no_use_once_the_choice_is_made() -> None:
    """So that regions, which count the labels of their maps for it, can leave that out."""
    kernels = Kernels(OURS, seconds=4)
    said = [kernels.settled]
    for each in (1, 5):
        kernels.ready(each)
        said.append(kernels.settled)
    assert said == [False, False, True]


@pytest.mark.usefixtures("small")
def test_many_maps_to_come_are_compiled_for_at_once_where_each_needs_it() -> None:
    with kernel_choice.to_come(100):
        assert names(Kernels(OURS, seconds=4, each_map=True), 0.05) == [OURS]
        assert names(Kernels(OURS, seconds=6, each_map=True), 0.05) == ["plain"]
        assert names(Kernels(OURS, seconds=4), 0.05) == ["plain"]
        with kernel_choice.to_come(10):  # a part of that work
            assert names(Kernels(OURS, seconds=4, each_map=True), 0.05) == [OURS]
    assert names(Kernels(OURS, seconds=4, each_map=True), 0.05) == ["plain"]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_kernels_that_numba_keeps_are_used_as_soon_as_they_pay_for_its_import() -> None:
    from faultscape.maps.kernels import rows

    label_map = np.zeros((2, 2), np.uint8)
    rows.tell_rows(label_map, *rows.plain_rows.find_runs(label_map), *_room())  # compiled and kept
    assert names(Kernels(ROWS, seconds=1e9), IMPORT) == [ROWS]


def _room() -> list[np.ndarray]:
    return [np.zeros(99, kind) for kind in (np.uint8, np.uint8, np.uint8, np.uint32)]


@pytest.mark.usefixtures("small")
def test_a_worker_goes_over_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of several, and there because much is left."""
    monkeypatch.setenv("FAULTSCAPE_WORKER", "1")
    assert names(Kernels(OURS, seconds=4), 0.4, 0.4) == ["plain", OURS]


@pytest.mark.usefixtures("small")
def test_while_another_process_compiles_the_plain_kernels_serve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_choice, "_kept_files", lambda _: str(tmp_path / "rows"))
    with (tmp_path / "rows.compiling").open("wb") as file:
        assert hold(file)
        waiting = Kernels(OURS, seconds=2)
        assert names(waiting, 3, 1) == ["plain", "plain"]
        assert names(Kernels(OURS, seconds=2), 9) == [OURS]  # it lasts too long
        (tmp_path / "rows.tell_rows-42.py311.nbi").touch()  # it has compiled
        assert names(waiting, 1) == [OURS]


@pytest.mark.usefixtures("small")
def test_without_a_module_the_plain_kernels_stay() -> None:
    assert names(Kernels("faultscape.maps.kernels.gone", seconds=1), 2, 2) == ["plain", "plain"]


def test_all_calls_are_compiled_if_so_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_choice, "ALWAYS", True)
    assert names(Kernels(OURS, seconds=1e9), 0) == [OURS]


@pytest.mark.slow
def test_a_little_work_in_a_new_process_does_not_even_import_numba() -> None:
    code = """if True:
        import sys
        import numpy as np
        from faultscape.maps import counts, regions, runs
        from faultscape.selection.best import Best
        maps = np.random.default_rng(0).integers(0, 5, (4, 9, 9)).astype(np.uint8)
        assert (runs.decode(runs.encode(maps[0])) == maps[0]).all()
        assert counts.confusions(maps, 5).sum() == 6 * 81
        assert regions.overlaps(maps[0], maps[1], 5).pixels.sum() == 81
        some = np.arange(4)
        Best(3, 2, 2).offer(np.ones((3, 3, 4)), np.ones((3, 4, 2), bool), some, some, some)
        print("numba" in sys.modules)"""
    assert children.python("-c", code) == "False\n"


@pytest.mark.slow
def test_kernels_load_no_linear_algebra_and_keep_that_of_others() -> None:
    code = """if True:
        import sys
        import numpy as np
        from faultscape.maps import winners
        winners.labels(np.zeros((2, 3, 3), np.float32), (5, 5))
        assert "numba" in sys.modules and "scipy.linalg" not in sys.modules
        import numba
        both = numba.njit(lambda a, b: (np.dot(a, b), np.linalg.solve(a, b)))(2 * np.eye(2), np.ones((2, 2)))
        print(both[0].sum(), both[1].sum(), "scipy.linalg" in sys.modules)"""
    assert children.python("-c", code).split() == ["8.0", "2.0", "True"]


@pytest.mark.parametrize("seed", range(4))
def test_both_forms_give_the_same_bytes(seed: int) -> None:
    """Else results would follow from how much a process did before."""
    rng = np.random.default_rng(seed)
    maps = rng.integers(0, 6, (5, 12, 20)).astype(np.uint8).repeat(1 + seed, 1).repeat(1 + seed, 2)

    def results() -> list[tuple[str, bytes]]:
        table = regions.overlaps(maps[0], maps[1], 5)
        found = [
            *(region_counts.count_regions(table, 5) | region_counts.count_quality(table, 5)).values(),
            *region_counts.count_matches(table, 5).values(),
            *regions.number(maps[2]),
            *(table.truth, table.prediction, table.pixels, table.void_area, table.prediction_area),
            counts.confusions(maps, 6),
            *counts.intersections(maps, 6),
            np.array(counts.vote_entropy(maps, 6)),
            np.frombuffer(runs.encode(maps[3]), np.uint8),
        ]
        return [(str(array.dtype), array.tobytes()) for array in found]

    compiled = results()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "_kernels", lambda *_, **__: None)
        patch.setattr(counts, "_kernels", lambda *_: None)
        patch.setattr(region_counts, "_kernels", lambda *_: plain_region_counts)
        patch.setattr(runs, "_kernels", lambda *_: runs.plain_rows)
        assert results() == compiled
