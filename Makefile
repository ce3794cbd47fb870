# `make help` lists the targets. Everything runs in .venv, which the targets make themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
TRAIN_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help train test test-fast check format build bench clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 12), "needs Python 3.11 or 3.12, got " + sys.version'
	$(PYTHON) -m venv $(VENV)

# What trains: verl on the CPU, pinned to the tested set.
$(VENV)/.verl: $(BIN)/python pyproject.toml constraints/verl-cpu.txt
	$(BIN)/python -m pip install -q -c constraints/verl-cpu.txt -e '.[verl]'
	@touch $@

# What tests and checks, on top.
$(VENV)/.dev: $(VENV)/.verl
	$(BIN)/python -m pip install -q -c constraints/verl-cpu.txt -e '.[verl,dev]'
	@touch $@

train: $(VENV)/.verl ## Run GRPO with a tiny model on this machine: 50 steps, a few minutes. TRAIN_ARGS="..." adds arguments.
	$(BIN)/rewardkit train $(TRAIN_ARGS)

test: $(VENV)/.dev ## Run all tests, real training runs included.
	$(BIN)/python -m pytest

test-fast: $(VENV)/.dev ## Run the tests that start no training run.
	$(BIN)/python -m pytest -m "not run"

check: $(VENV)/.dev ## Lint and type-check.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: $(VENV)/.dev ## Build the wheel and try it in an empty environment.
	rm -rf dist
	$(BIN)/python -m build -q
	$(BIN)/python tests/packaging/try_wheel.py dist

bench: $(VENV)/.dev ## Print the benchmarks' tables.
	for script in $(filter-out %/gpu_smoke.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

clean: ## Remove what the other targets made.
	rm -rf $(VENV) dist build *.egg-info
