# The words that README and CI use. Everything is installed in .venv; nothing outside this folder is touched.
# The first that runs: a version manager may leave names that do not.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
PYTHON38 ?= $(shell for p in python3.8 $(HOME)/.pyenv/versions/3.8.*/bin/python3.8; do $$p -c '' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

.PHONY: help setup demo test test-node molecule lab lint bench docs clean

help: ## Show these words
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t14

.venv/runtime: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, $(PYTHON) is older: make PYTHON=..."; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m compileall -q module_utils action_plugins callback_plugins # as pip does with what it installs
	@touch $@

.venv/development: requirements-dev.txt .venv/runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

.venv-node/development: requirements-node-tests.txt
	$(PYTHON38) -m venv .venv-node
	.venv-node/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-node-tests.txt
	@touch $@

setup: .venv/runtime ## Install what a run needs into .venv

demo: .venv/runtime ## Audit two simulated clusters with seeded faults and sweep their collectives; ends with verdict and report
	@$(BIN)/python tools/simulate inventories/demo/simulation.yml captures/demo
	@ansible-playbook acceptance.yml -i inventories/demo -e accept_gate=false -e accept_risk=load --tags audit,collectives

test: .venv/development test-node ## All tests: unit, contract, golden, end to end, molecule
	$(BIN)/python -m pytest -q tests -m "not lab"
	$(MAKE) --no-print-directory molecule

test-node: ## The node code's tests under the oldest Python of nodes, 3.8
ifeq ($(PYTHON38),)
	@echo "test-node: skipped, no python3.8 on this machine (make PYTHON38=...)"
else
	@$(MAKE) --no-print-directory .venv-node/development
	.venv-node/bin/python -m pytest -q tests/unit/node -p no:cacheprovider
endif

molecule: .venv/development ## The molecule scenarios
	molecule test --scenario-name default
	molecule test --scenario-name faulty
	molecule test --scenario-name fabric
	molecule test --scenario-name collectives
	molecule test --scenario-name burn_in

lab: .venv/development ## Real tools against simulated parts (root, Debian or Ubuntu); what cannot start is skipped with its reason
	lab/setup
	$(BIN)/python -m pytest -q -rs tests/lab

lint: .venv/development ## ruff, yamllint, ansible-lint (production profile)
	ruff check .
	ruff format --check .
	yamllint --strict .
	ansible-lint

bench: .venv/development ## The figures that this project promises, into bench.json; ONLY=<group> for one group
	$(BIN)/python tools/bench $(ONLY)

docs: .venv/development ## Generate docs/checks.md and docs/coverage.md
	$(BIN)/python tools/docs

clean: ## Remove what make made
	rm -rf .venv .venv-node .cache captures bench.json
