# demo | test | lint | bench need Python 3.11 with pip and make; `test` uses more where it is there: npm for the
# JavaScript peer and the browser, Chromium, and a Redis server named by A2A_TEST_REDIS_URL. What is not there skips its
# tests, with the reason.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN    := $(VENV)/bin
PEERS  := tests/live/js tests/live/browser
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench peers clean

help:
	@echo 'make demo    watch one agent being discovered, on this machine'
	@echo 'make test    all tests; ARGS="-k name" chooses some'
	@echo 'make lint    what must pass before a commit: ruff, mypy'
	@echo 'make format  let ruff mend what it can'
	@echo 'make bench   the table of docs/performance.md, measured here'
	@echo 'make clean   remove what these made'

demo: $(VENV)/.can-run
	@$(BIN)/a2a-discover demo

test: $(VENV)/.can-test peers
	@$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.can-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.can-test
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.can-test
	@$(BIN)/python -m benchmarks $(ARGS)

# The live tests' JavaScript server, and what drives their browser. Nothing here needs install scripts, peers of the SDK
# or optional packages, and no browser is downloaded: the machine's own is used.
peers:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(PEERS:%=%/node_modules/.installed); \
	else echo 'npm is not here: the tests against the JavaScript SDK and in a browser skip'; fi

%/node_modules/.installed: %/package.json
	@cd $* && npm install --no-package-lock --no-audit --no-fund --ignore-scripts --omit=peer --omit=optional \
	  --loglevel=error
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.can-run: pyproject.toml $(VENV)/.made
	$(PIP) install --editable '.[cli,testing]'
	@touch $@

$(VENV)/.can-test: pyproject.toml $(VENV)/.made
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.can-run

clean:
	rm -rf $(VENV) $(PEERS:%=%/node_modules) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
