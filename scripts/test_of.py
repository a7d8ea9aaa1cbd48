"""Run what one room's change can break: its tests, the laws over its catalogue, the examples in its
docstrings, and its pages: ``make test-of metrics``, or ``python scripts/test_of.py metrics [pytest options]``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOUSE = ("tests/laws/test_house.py", "tests/docs/test_tables.py")  # what holds of every room
ROOMS: dict[str, tuple[str, ...]] = {  # room: what runs for it, beside tests/ROOM and its docstrings
    "metrics": (
        "tests/laws/test_metrics_catalogue.py",
        "tests/laws/test_concordance.py",
        "tests/docs/test_definitions.py",
        "tests/journeys/test_own_metric.py",
        "tests/journeys/test_own_concordance.py",
    ),
    "selection": (
        "tests/laws/test_selection.py",
        "tests/laws/test_selectors.py",
        "tests/journeys/test_own_selector.py",
    ),
    "ranking": (
        "tests/laws/test_ranking_laws.py",
        "tests/laws/test_rankings.py",
        "tests/journeys/test_own_ranking.py",
    ),
    "labelling": (
        "src/faultscape/formats",
        "tests/laws/test_formats.py",
        "tests/laws/test_coco_outlines.py",
        "tests/journeys/test_own_format.py",
    ),
    "stressors": ("tests/laws/test_made_sets.py",),
    "corpus": ("tests/laws/test_layouts.py",),
    "prediction": ("tests/laws/test_sources.py",),
    "comparison": ("tests/laws/test_concordance.py", "tests/laws/test_counts.py"),
    "maps": ("tests/laws/test_runs.py", "tests/laws/test_counts.py"),
    "uncertainty": ("tests/laws/test_tensors_in_memory.py",),
    "reporting": (),
    "study": ("tests/laws/test_each_file_once.py",),
    "verbs": (  # artefacts: what makes which stale, and that it is made again as it would be made first
        "tests/study",
        "tests/laws/test_states.py",
        "tests/journeys/test_graph.py",
        "tests/journeys/test_inputs_of_artefacts.py",
        "tests/journeys/test_reasons.py",
    ),
}


def paths_of(room: str) -> list[str]:
    """Return the files and folders with what a room's change can break; verbs have journeys in place of
    tests of their own.
    """
    own = [f"src/faultscape/{room}", f"tests/{room}"]
    return [path for path in own if (ROOT / path).exists()] + [*ROOMS[room], *HOUSE]


def main() -> int:
    """Run the tests of the room that is named, and return pytest's status."""
    room, *options = [*sys.argv[1:], ""]
    if room not in ROOMS:
        print(f"give a room: {', '.join(ROOMS)}; got {room or 'nothing'}", file=sys.stderr)
        return 2
    began = time.monotonic()
    spread = ("--numprocesses", "auto", "--dist", "loadfile", "--doctest-modules", "-m", "not slow")
    line = [sys.executable, "-m", "pytest", *spread, *filter(None, options), *paths_of(room)]
    failed = subprocess.run(line, cwd=ROOT, check=False).returncode
    print(f"{room}: {time.monotonic() - began:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
