# Two commands do all the set-up on a fresh machine: `make demo` and `make test`. Everything goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
NO_SLOW := -m "not slow"
LENGTHY := docs* cli* *fuzz faulty_disks count_tables checkpoints may_move base_parameters batching factorization explain* motion_plots \
  fusing_any_plan model operators package urdf_* linear_losses diagonal simulation
QUICK := -n $(WORKERS) $(NO_SLOW) tests/unit tests/errors $(LENGTHY:%=--ignore-glob='*/test_%.py')

.PHONY: bridges demo test test-all quick lint format bench peers fuzz sanitize matrix dist fresh docs pages notebooks stranger \
  frontend clean

demo: $(VENV)/.base            ## two classic arms: summary, pictures, animations, results in demo-output/
	$(BIN)/recursa demo --out demo-output

test: $(VENV)/.test            ## all but the long soaks, under 8 minutes on 2 cores
	$(BIN)/python -m pytest -n $(WORKERS) $(NO_SLOW)

test-all: $(VENV)/.test        ## and the long soaks
	$(BIN)/python -m pytest -n $(WORKERS)

quick: $(VENV)/.test           ## under a minute: what to run while working
	$(BIN)/python -m pytest $(QUICK) src

lint: $(VENV)/.lint            ## ruff and mypy, as pre-commit runs them
	$(BIN)/ruff format --check src tests benchmarks fuzz tools
	$(BIN)/ruff check src tests benchmarks fuzz tools
	$(BIN)/mypy

format: $(VENV)/.lint          ## put the code into its form
	$(BIN)/ruff format src tests benchmarks fuzz tools
	$(BIN)/ruff check --fix src tests benchmarks fuzz tools

bench: $(VENV)/.bench          ## speed, as ratios against installed peers
	$(BIN)/python -m pytest benchmarks -p no:cacheprovider --benchmark-only --benchmark-columns=median,ops

peers: $(VENV)/.peers          ## SDF against Drake, which is large and installs on few systems
	$(BIN)/python -m pytest tests/oracles/test_sdf_drake.py

bridges: $(VENV)/.bridges      ## the robot inside JAX, and inside PyTorch where that is installed
	$(BIN)/python -m pytest $(NO_SLOW) tests/bridges

SECONDS ?= 60
fuzz: $(VENV)/.test            ## mutated inputs of every format for SECONDS; what is found goes to fuzz/found/
	$(BIN)/python fuzz/harness.py --seconds $(SECONDS)

sanitize: $(VENV)/.test        ## the C extension and exported C with gcc's sanitizers, then under valgrind
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'setuptools>=77'
	$(BIN)/python tools/sanitize.py
	$(BIN)/python tools/sanitize.py --valgrind

matrix:                        ## the quick tests with the lowest and the newest versions, under every Python there is
	$(PYTHON) tools/matrix.py --tests '$(subst ','"'"',$(QUICK))' $(MATRIX)

dist: $(VENV)/.dist            ## wheels, source distribution and bill of materials in dist/, built twice with equal bytes
	$(BIN)/python tools/dist.py

fresh: dist                    ## each of them in an empty environment, without a compiler, from another folder
	$(BIN)/python tools/fresh.py

docs: $(VENV)/.docs            ## HTML in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

pages: docs $(VENV)/.test       ## every page of it in Chromium, at two widths: how long, and whether all fits
	$(BIN)/python tools/pages_in_a_browser.py

notebooks: $(VENV)/.test $(VENV)/.docs   ## the examples, executed as notebooks
	$(BIN)/python -m pytest -n 0 -m slow tests/unit/test_examples.py

stranger: $(VENV)/.base        ## the wheel in an empty environment, and what README, quickstart and pages say
	$(BIN)/python tools/strangers_path.py

frontend:                      ## the page that shows robots, built into src/recursa/view/
	npm ci --prefix frontend --no-audit --no-fund
	npm run build --prefix frontend

clean:
	rm -rf $(VENV) demo-output docs/_build build dist .pytest_cache .mypy_cache .ruff_cache

# one stamp per set of dependencies; pyproject.toml renews them
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Recursa needs Python 3.11 or later; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.peers $(VENV)/.bridges: $(VENV)/.test

$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.peers $(VENV)/.bridges $(VENV)/.docs $(VENV)/.dist: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@
