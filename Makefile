# `make` lists what there is. Everything runs in .venv, which the first command sets up.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

.venv/ready: pyproject.toml constraints.txt hatch_build.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[app,bench,dev,skactiveml]'
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .venv/skactiveml-tests scikit-activeml==0.5.2
	touch $@

demo: .venv/ready ## index the sample of pictures and search it with a simulated user
	$(BIN)/ital demo

lint: .venv/ready ## style, types and the rooms of the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## every check: lint, then all tests with coverage
	$(BIN)/pytest --cov --cov-report=term

format: .venv/ready ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready ## speed and memory as ratios, into build/
	$(BIN)/python benchmarks/select.py --out build/select.json

clean: ## remove what the other commands made
	rm -rf src/ital/collection/openmoji .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
