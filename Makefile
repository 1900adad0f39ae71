# The one command file; .ci/run calls only this.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ROOT := $(CURDIR)
UV_VERSION := 0.13.8
VENV := .venv
PY := $(VENV)/bin/python
SIZE ?= quick
ARGS ?=
# More tests at a time than cores: most wait for processes to start and end. JOBS=0: one after the other, in this process.
JOBS ?= 3
PYTEST := $(PY) -m pytest -n $(JOBS) --dist worksteal

export UV_PYTHON_DOWNLOADS := never
# The certificates that this machine trusts: an institution may have a proxy with its own.
export UV_SYSTEM_CERTS := 1
export PYTHONPATH := $(ROOT)/python$(if $(PYTHONPATH),:$(PYTHONPATH))
# Open MPI as root and on few cores, for every program started from here.
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export OMPI_MCA_hwloc_base_binding_policy := none
export OMPI_MCA_btl_vader_single_copy_mechanism ?= none

# Builds that only tests see are optimised less: with the sanitizers the largest sources then take half the time to compile.
FOR_TESTS := -DTAILRACE_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1"

.PHONY: help setup build sanitized readers mpich demo test-fast test test-full bench lint format docs clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: .venv-tools/.apt-stamp $(VENV)/.python-stamp ## Debian packages and the locked Python environment in .venv
	@:

.venv-tools/.apt-stamp: apt.txt scripts/install_packages.sh
	@scripts/install_packages.sh apt.txt
	@mkdir -p .venv-tools && touch $@

$(VENV)/.python-stamp: uv.lock pyproject.toml | .venv-tools/.apt-stamp
	@UV_VERSION=$(UV_VERSION) scripts/uv.sh sync --quiet --locked --compile-bytecode --no-install-project --python /usr/bin/python3
	@touch $@

build: setup build/build.ninja ## The library, its bindings, kernels, benches and test programs, in build/
	@flock build/.lock ninja -C build --quiet

build/build.ninja: | setup
	@cmake -S . -B build -G Ninja -DPython_EXECUTABLE=$(ROOT)/$(PY) --log-level=WARNING

sanitized: setup build/san/build.ninja ## Unit tests of the layers without MPI, under the sanitizers, in build/san/
	@flock build/san/.lock ninja -C build/san --quiet

build/san/build.ninja: | setup
	@cmake -S . -B build/san -G Ninja -DTAILRACE_SANITIZE=ON $(FOR_TESTS) --log-level=WARNING

readers: setup build/readers/build.ninja ## The Python extension for one process under the sanitizers, in build/readers/
	@flock build/readers/.lock ninja -C build/readers --quiet _core_one_process

build/readers/build.ninja: | setup
	@cmake -S . -B build/readers -G Ninja -DPython_EXECUTABLE=$(ROOT)/$(PY) -DTAILRACE_SANITIZE=ON -DTAILRACE_MPI=OFF \
		-DTAILRACE_TRACER=OFF $(FOR_TESTS) -DTAILRACE_TESTS=OFF --log-level=WARNING

mpich: setup build/mpich/build.ninja ## The library, its Fortran module, kernels and test programs under MPICH, in build/mpich/
	@flock build/mpich/.lock ninja -C build/mpich --quiet

build/mpich/build.ninja: | setup
	@cmake -S . -B build/mpich -G Ninja -DMPI_EXECUTABLE_SUFFIX=.mpich -DTAILRACE_PYTHON=OFF -DTAILRACE_UNIT_TESTS=OFF \
		-DTAILRACE_TRACER=OFF $(FOR_TESTS) --log-level=WARNING

demo: build ## A program that is not changed, its report, and what helps; then a study of the presets (seven to eleven minutes)
	@build/bin/tailrace demo $(ARGS)

test-fast: build ## About a minute: tests marked `fast`
	@$(PYTEST) -m "fast and not mpich" $(ARGS)

test: build sanitized mpich lint ## What CI runs: lint, then every test not marked `full`
	@$(PYTEST) -m "not full" --budgets $(ARGS)

test-full: build sanitized readers mpich lint ## Everything; skips what has passed with the same sources (build/test-full.jsonl)
	@$(PYTEST) --resume=build/test-full.jsonl $(ARGS)

bench: build ## make bench NAME=write [SIZE=quick|full]; without NAME: the list
ifeq ($(strip $(NAME)),)
	@echo "make bench NAME=... with one of:"
	@find bench -maxdepth 1 -name '*.py' ! -name '_*' -printf '  %f\n' | sed 's/\.py$$//' | sort
else
	@$(PY) -m bench.$(NAME) --size $(SIZE) $(ARGS)
endif

lint: setup ## Formatting, direction of dependency, headers alone, file lengths, links, plain English, class sizes
	@$(PY) scripts/lint.py

format: setup ## Formats the sources in place
	@$(PY) scripts/lint.py --fix

docs: build ## Generated pages of docs/, and a check of the code blocks in all pages
	@$(PY) scripts/make_docs.py

clean: ## Removes everything built; keeps .venv
	rm -rf build dist python/tailrace/*.so python/tailrace/*.so.*
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
