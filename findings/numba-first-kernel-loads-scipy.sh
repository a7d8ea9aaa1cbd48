#!/usr/bin/env bash
# numba 0.68.1: the first kernel of a process, compiled or read from the cache, imports scipy.linalg, whatever it computes.
# Expected: a kernel that adds 1 needs no BLAS; scipy.linalg is loaded for kernels that call np.linalg or np.dot.
# Seen: where SciPy is installed, numba.np.arraymath asks for BLAS as soon as it is imported, which every target does, and
# with scipy.linalg come numpy.f2py and the code that builds extension modules: 135 modules of SciPy, NumPy and the
# standard library and some .15 s of processor, half of what a kernel from the cache takes. SciPy out of sight saves them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check numba==0.68.1 numpy==2.4.6 scipy==1.17.1
cd "$folder"
cat > kernel.py <<'PYTHON'
import json
import sys
import time

if sys.argv[1] == "without":

    class Without:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "scipy.linalg":
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Without)

import numba


@numba.njit(cache=True)
def one_more(number):
    return number + 1


before, start = set(sys.modules), time.process_time()
assert one_more(1) == 2
took = time.process_time() - start
new = [name for name in set(sys.modules) - before if not name.startswith("numba")]
heavy = [name for name in ("numpy.f2py", "scipy.linalg") if name in new]
print(json.dumps({"seconds": round(took, 2), "modules": len(new), "heavy": heavy}))
PYTHON
for how in with with without without; do
  echo "$how SciPy: $("$folder/venv/bin/python" kernel.py $how)" | tee -a seen.txt
done
"$folder/venv/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version

seen = [json.loads(line.partition(": ")[2]) for line in open("seen.txt")]
print("numba", version("numba"), "the second line of each pair reads its kernel from the cache")
assert [one["heavy"] for one in seen] == [["numpy.f2py", "scipy.linalg"]] * 2 + [[]] * 2, "the behaviour changed"
PYTHON
