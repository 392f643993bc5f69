# Two commands matter: `make run` and `make test`. Both install what they need first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# With it set, each process would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
export AGAIN

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell tools/setup python)
UV_VERSION := 0.13.8
QUICKSTART := scenarios/quickstart.yaml
NS3 := build/ns3/dumbbell

# An installation is known by the content of all that goes into it, so a changed lock installs
# again and an unchanged one costs nothing. Development adds to what a run needs.
KEY := $(shell cat pyproject.toml requirements.lock requirements-dev.lock tools/setup tools/*.packages guest/pinned.py | sha256sum | cut -c1-16)
RUN_READY := $(VENV)/.ready-run-$(KEY)
DEV_READY := $(VENV)/.ready-dev-$(KEY)

# Where the guest kernels are, too (guest/cache.py). What the types are checked with is kept there,
# because it serves every clone of this machine: mypy compares the content of files.
CACHE := $(or $(ORCHESTRATOR_CACHE),$(if $(filter 0,$(shell id -u)),/var/cache,$(or $(XDG_CACHE_HOME),$(HOME)/.cache))/orchestrator)
TYPES := mkdir -p $(CACHE); find $(CACHE) -maxdepth 1 -name 'mypy-*' -mtime +30 -exec rm -r {} +; MYPY_CACHE_DIR=$(CACHE)/mypy-$(KEY) $(BIN)/mypy

INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

# What `make check` and `make test` run side by side; tests are told apart by their markers, each of
# which has its folders (_MARKERS_OF_FOLDERS in tests/conftest.py), so that no command collects all.
BESIDE := $(BIN)/python tools/side_by_side.py
STYLE := $(BIN)/ruff check; $(BIN)/ruff format --check; $(BIN)/python tools/supply_chain.py licences; $(BIN)/reuse lint --lines; $(BIN)/python tools/prose.py
PLAYBOOKS := PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python tools/passed_before.py playbooks playbooks .ansible-lint requirements-dev.lock -- $(BIN)/ansible-lint -q playbooks
SPREAD := --numprocesses=auto --maxprocesses=4
# Unit tests keep their stores in memory where it has room: each commit of a store waits for a disk,
# and on a busy one that took most of their time. Their other results are the same.
IN_MEMORY := $(shell test -w /dev/shm && test "$$(df --output=avail -k /dev/shm | tail -1)" -gt 4000000 && echo env PYTEST_DEBUG_TEMPROOT=/dev/shm)
UNITS := $(IN_MEMORY) $(BIN)/pytest $(SPREAD) --dist=worksteal \
	-m 'not build and not long and not slow' tests/unit kmods/tests
# By file, because here the fixtures of a module cost more than what stealing single tests saves.
SLOW_UNITS := $(IN_MEMORY) $(BIN)/pytest $(SPREAD) --dist=loadscope --no-loadscope-reorder --durations=15 -m '(slow or build) and not long' tests/unit
# What the modules compute, in user space. It depends on these folders and the compiler alone.
CORES := $(BIN)/python tools/passed_before.py cores kmods/core kmods/tests /usr/bin/gcc requirements-dev.lock -- $(IN_MEMORY) $(BIN)/pytest --durations=5 -m 'slow and not long' kmods/tests
GUESTS := $(BIN)/pytest $(SPREAD) --dist=loadscope --no-loadscope-reorder --own-cpu --durations=15 \
	-m '(guest or kmods) and not (real_time or lab_hosts or long)' tests/guest tests/kmods tests/web
BROWSER := $(BIN)/pytest --durations=10 -m 'browser and not (guest or long)' tests/web
LAB := $(BIN)/pytest --durations=5 -m 'lab_hosts and not real_time and not long'
# What sets hosts up is what the playbooks and these files say. It is not tried again with the same.
SET_UP := playbooks tests/lab/namespaces.py tests/lab/test_playbooks.py tests/support/sshd.py tests/conftest.py tools kmods hatch_build.py pyproject.toml requirements.lock requirements-dev.lock
HOSTS := $(LAB) tests/lab --ignore=tests/lab/test_playbooks.py; $(BIN)/python tools/passed_before.py hosts $(SET_UP) -- $(LAB) tests/lab/test_playbooks.py
REAL_TIME := $(BIN)/pytest --durations=15 -m 'real_time and not long' tests/hostile tests/lab

.PHONY: help setup run check test test-long test-hostile test-faults test-determinism test-examples test-kernels test-flent test-vagrant fuzz docs lint sbom audit format lock guest bench screenshots clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: $(DEV_READY)  ## install packages and .venv, for running and for developing
	@:

run: $(RUN_READY)  ## run the quickstart scenario, and say where to look
	@$(BIN)/orchestrator run $(QUICKSTART)

check: $(DEV_READY)  ## check style, types, licences and the quick unit tests (a minute on 2 CPUs)
	@$(BESIDE) check "style=$(STYLE)" "types=$(TYPES)" "units=$(UNITS)"

test: check  ## check all that a merge needs: `make check`, slow unit tests, playbooks, builds, guests, lab, browser (12 minutes on 2 CPUs)
	@$(BIN)/orchestrator guest build --quiet
	@$(BESIDE) --show guests --show hosts tests "slow units=$(SLOW_UNITS)" "playbooks=$(PLAYBOOKS)" "guests=$(GUESTS)" "browser and cores=$(BROWSER); $(CORES)" "hosts=$(HOSTS)"
	$(REAL_TIME)

test-vagrant: $(DEV_READY)  ## as root: make a box, `vagrant up` it without KVM, try all of it, destroy it
	@tools/setup vagrant
	$(BIN)/pytest tests/vagrant --exitfirst --capture=no $(if $(THOROUGH),,-m 'not thorough')

test-long: test-hostile test-faults test-determinism test-examples test-kernels test-flent fuzz docs  ## what `make test` has no time for, but for test-vagrant
	@:

DETERMINISM := tests/guest/test_determinism.py tests/guest/test_interrupted_sweep.py tests/guest/test_cluster.py
FLENT := tests/unit/results/export/test_export_flent.py

test-determinism: $(DEV_READY)  ## run each kind of scenario in nine ways, a sweep with ten kills and one with a lost worker, for equal digests
	@$(BIN)/orchestrator guest build --quiet
	$(BIN)/pytest -m long $(DETERMINISM)

test-examples: $(DEV_READY)  ## run each example at full length, 1000 pairs of hosts, a mutant of each constant, DKMS for every kernel, a claim from a wheel; programs; packets in tshark, tcpdump and tcptrace
	@tools/setup long
	@$(BIN)/orchestrator guest build --quiet
	$(BIN)/pytest $(SPREAD) --own-cpu -m long tests/guest tests/unit kmods/tests tests/kmods tests/web tests/lab $(addprefix --ignore=,$(DETERMINISM) $(FLENT))

test-kernels: $(DEV_READY)  ## fetch and build Linux 6.1 and 7.3, and run scenarios on them and on the default kernel
	@for series in 6.1 7.3; do $(BIN)/orchestrator guest fetch $$series && $(BIN)/orchestrator guest build $$series || exit; done
	@$(BIN)/orchestrator guest build --quiet
	$(BIN)/pytest -m long tests/kernels

test-flent: $(DEV_READY)  ## install flent into build/flent, and let it read an exported run
	$(PYTHON) -m venv build/flent
	build/flent/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement tests/unit/results/export/flent.lock
	FLENT=build/flent/bin/flent $(BIN)/pytest -m long $(FLENT)

# A kernel that can hold its processes by seccomp.
BUILD_7_3 := $(BIN)/orchestrator guest fetch 7.3 >/dev/null && $(BIN)/orchestrator guest build 7.3 --quiet

test-hostile: $(DEV_READY)  ## attack this machine from a guest and a build, as root and as nobody
	@$(BUILD_7_3)
	@$(BIN)/orchestrator guest build --quiet
	$(BIN)/pytest tests/hostile

test-faults: $(DEV_READY)  ## kill, fill and share at random moments, TRIES=N of each kind, SEED=N
	@$(BIN)/orchestrator guest build --quiet
	$(BIN)/python -m tests.faults $(if $(TRIES),--tries $(TRIES)) $(if $(SEED),--seed $(SEED))

fuzz: $(DEV_READY)  ## feed random input to each parser for SECONDS=60
	FUZZ_SECONDS=$(or $(SECONDS),60) $(BIN)/pytest tests/fuzz --capture=no

docs: build/sphinx/.ready  ## build the documentation's site, build/docs/index.html, without a warning
	build/sphinx/bin/python -m sphinx -q -n -W --keep-going -c docs -d build/sphinx/doctrees . build/docs

build/sphinx/.ready: requirements-docs.lock
	$(PYTHON) -m venv build/sphinx
	build/sphinx/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

lint: $(DEV_READY)  ## check style, types (of the playbooks, too), licences and documents
	$(STYLE)
	$(TYPES)
	$(PLAYBOOKS)

sbom: $(DEV_READY)  ## write a CycloneDX bill of materials, build/sbom.cdx.json
	$(BIN)/python tools/supply_chain.py sbom build/sbom.cdx.json

audit: $(DEV_READY)  ## look for known vulnerabilities; status 75: not checked, no database
	$(BIN)/python tools/supply_chain.py audit

format: $(DEV_READY)  ## put the code in its form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

guest: $(RUN_READY)  ## build the guest kernel unless it is cached
	@$(BIN)/orchestrator guest build

bench: $(RUN_READY) $(if $(filter-out ns3,$(THEMES)),$(if $(filter ns3,$(THEMES)),$(NS3)),$(NS3))  ## measure what runs cost, beside ns-3, in 30 minutes; QUICK=1: 5 minutes, THEMES="ns3 jobs": these
	@$(BIN)/orchestrator guest build --quiet
	@$(if $(filter-out kernels,$(THEMES)),$(if $(filter kernels,$(THEMES)),$(BUILD_7_3)),$(BUILD_7_3))
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(THEMES)

# ns-3 for `make bench` alone: the libraries and headers of its wheel, without its Python interface.
$(NS3): bench/ns3/ns3.lock bench/ns3/dumbbell.cc
	$(PYTHON) -m venv build/ns3
	build/ns3/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	place=$$(build/ns3/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/ns3; \
	g++ -std=c++20 -O3 -o $@ bench/ns3/dumbbell.cc -I$$place/include -L$$place/lib64 -Wl,-rpath,$$place/lib64 \
		$(addprefix -lns3.44-,applications traffic-control internet point-to-point network core)

screenshots: $(DEV_READY)  ## make runs and two report cards, and draw the pictures of the dashboard and of cards in docs/
	@$(BIN)/orchestrator guest build --quiet
	mkdir -p build/screenshots
	$(BIN)/orchestrator run $(QUICKSTART) --resume --db build/screenshots/runs.db
	$(BIN)/orchestrator run scenarios/tutorial/70-bbr-vs-cubic.yaml --resume --jobs 2 --db build/screenshots/runs.db
	for limit in 100p 101p; do $(BIN)/orchestrator run $(QUICKSTART) --set topology.bottleneck.queue.limit=$$limit \
		--resume --quiet --db build/screenshots/parting.db; done
	$(BIN)/orchestrator diff $$($(BIN)/orchestrator runs --json --db build/screenshots/parting.db | \
		$(BIN)/python -c 'import json, sys; print(*(run["id"] for run in json.load(sys.stdin)["runs"]))') \
		--db build/screenshots/parting.db
	run=$$($(BIN)/orchestrator runs --experiment quickstart --json --db build/screenshots/runs.db | \
		$(BIN)/python -c 'import json, sys; print(json.load(sys.stdin)["runs"][-1]["id"])'); \
	$(BIN)/orchestrator zoom $$run --window 0s..2.5s --db build/screenshots/runs.db; \
	$(BIN)/python -m tests.web.screenshots build/screenshots/runs.db docs $$run build/screenshots/parting.db; \
	$(BIN)/orchestrator plot sequence $$run --segments --flow westwood --from 0s --to 2s --width ieee-wide \
		--height 2.2in --db build/screenshots/runs.db -o docs/trace-sequence.png; \
	$(BIN)/orchestrator plot queue $$run --from 0.4s --to 1.6s --width ieee-wide \
		--height 1.9in --db build/screenshots/runs.db -o docs/trace-queue.png
	for control in cubic scenarios/own-module/mycc; do $(BIN)/orchestrator evaluate $$control --jobs 2 \
		--db build/screenshots/cards.db -o build/screenshots/$${control##*/}; done
	$(BIN)/python -m tests.web.card_pictures docs build/screenshots/cubic build/screenshots/mycc

lock:  ## pin the newest versions that pyproject.toml allows, with hashes
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet uv==$(UV_VERSION)
	compile() { build/lock/bin/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate pyproject.toml --extra dask --group build "$$@"; }; \
	compile --output-file requirements.lock; \
	build/lock/bin/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --group docs --output-file requirements-docs.lock; \
	compile --group dev --constraints requirements.lock --output-file requirements-dev.lock; \
	echo uv==$(UV_VERSION) | build/lock/bin/uv pip compile --quiet --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate - --output-file playbooks/installer.lock

clean:  ## remove what was built or installed here; stored results stay
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(RUN_READY):
	tools/setup run
	$(call install,requirements.lock)
	$(BIN)/python -m guest.source
	@touch $@

$(DEV_READY):
	tools/setup test
	$(call install,requirements-dev.lock,poetry-core)
	$(BIN)/python -m guest.source
	@touch $@ $(RUN_READY)

COMMA := ,
# $(call install,LOCK,BUILDER): the environment as locked, and this working tree in it. BUILDER is a
# package of LOCK that builds others; an isolated build would fetch one that is not pinned.
define install
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
rm -f $(VENV)/.ready-*
$(if $(2),sed -n '/^$(2)==/$(COMMA)/[^\\]$$/p' $(1) | $(INSTALL) --require-hashes --requirement /dev/stdin)
$(INSTALL) --no-build-isolation --require-hashes --requirement $(1)
$(INSTALL) --no-deps --no-build-isolation --editable .
endef
