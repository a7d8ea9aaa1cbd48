"""Corruptions give the same bytes in other processes, in another order, on another processor and without
numba.
"""

import ast
import os
import sys
from pathlib import Path

import pytest

import children
from corrupted_images import GOLDEN, NAMES, PUBLISHED, digests

HERE = Path(__file__).parents[1]
LESS = {
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX X86_V3 X86_V4",
    "OPENCV_CPU_DISABLE": "SSE4.1,SSE4.2,AVX,FP16,AVX2,FMA3,AVX_512F",
    "OPENCV_IPP": "disabled",
    "JSIMD_FORCENONE": "1",
}
# loops whose vectors a compiler chooses, and the one that multiplies floats
COMPILED = ("fog", "motion_blur")


def digests_elsewhere(names: tuple[str, ...], **environment: str) -> dict[str, str]:
    code = f"import corrupted_images; print(corrupted_images.digests({names!r}))"
    words = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])} | LESS | environment
    return ast.literal_eval(children.python("-W", "ignore", "-c", code, env=words))


@pytest.mark.slow
def test_all_are_the_same_in_another_order_without_numba_and_without_vector_units_of_libraries() -> None:
    later = [name for name in NAMES if name not in PUBLISHED]  # held to what they give here
    assert digests_elsewhere(NAMES[::-1], FAULTSCAPE_NUMBA="0") == GOLDEN | digests(later)


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="numba's compiler takes another processor's name on Linux and macOS"
)
def test_compiled_loops_are_the_same_for_a_plain_processor() -> None:
    found = digests_elsewhere(COMPILED, FAULTSCAPE_NUMBA="1", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert found == {name: GOLDEN[name] for name in COMPILED}


def test_the_check_above_can_fail() -> None:
    code = (
        "import faultscape as fs, corrupted_images as c;"
        " print(c.digest(fs.stressors.corrupt(c.drawn_image(37, 45), 'fog', 1, seed=8, key='a')))"
    )
    words = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]), "FAULTSCAPE_NUMBA": "0"}
    assert children.python("-c", code, env=words).strip() not in GOLDEN["fog"]
