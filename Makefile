# Needs Python 3.11 or newer, make and git. `make demo` and `make test` set up what they need in .venv; the second time that takes no time.
#   TORCH_INDEX=<address>   take torch from this index (a CUDA or ROCm build; on Linux the default wheel elsewhere is a CUDA build)
#   PYTHON=<path>           use this Python

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp-$(shell cksum requirements.lock pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Bytecode is made when a module is first imported: half of the time of an installation is saved, and most of it is never needed.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
TESTS ?= tests

.PHONY: help setup demo test check lock clean

help:
	@echo "make demo   the whole pipeline on bundled filings, offline; the lake stays in ./demo-lake"
	@echo "make test   ruff, mypy, import-linter, pytest"
	@echo "make lock   write requirements.lock anew from .venv"
	@echo "make clean  remove .venv, caches and the demo's lake"

setup: $(STAMP)

# torch goes first and brings what its build needs (a CUDA build: its libraries); all else is in the lock, so nothing is to be resolved.
$(STAMP):
	@if [ -z "$(PYTHON)" ]; then echo "edgarmill needs Python 3.11 or newer with venv; none was found. Name one: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 2; fi
	@echo "setting up $(VENV) with $(PYTHON): some minutes the first time"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --no-compile $(if $(TORCH_INDEX),--index-url "$(TORCH_INDEX)") "$$(grep '^torch==' requirements.lock)"
	@$(PIP) install --no-compile --no-deps -r requirements.lock
	@$(PIP) install --no-compile --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.stamp-*
	@touch $@

demo: $(STAMP)
	@$(BIN)/edgarmill --lake ./demo-lake demo

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy -p edgarmill
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n 2 $(TESTS)

# Exact versions of all that is installed; no hashes, no addresses, no local build labels: each machine's own index gives the files.
lock:
	$(BIN)/python -m pip --disable-pip-version-check freeze --exclude-editable | sed -E 's/^(torch==[0-9.]+)\+[a-z0-9]+$$/\1/' | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$' > requirements.lock

clean:
	rm -rf $(VENV) demo-lake build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
