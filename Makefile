# Everything a developer or a machine does here is a target: `make help` lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
JS     := clients/js

PIP_INSTALL := --disable-pip-version-check install --quiet
PIP    := $(BIN)/python -m pip $(PIP_INSTALL)
# uv is five times as fast as pip. pip is the fallback, for machines where only its configuration has a reachable index.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) --no-compile $(1)

# Tests start many processes, each of which would compile all modules where a machine switches their cache off.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-unit test-mysql test-js test-weekly image-test check check-js clients clients-python clients-js audit fuzz bench bench-peers chaos crash states histories upgrade screenshots lock
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/test.stamp ## Make the virtual environment, with everything for run, test and check

run: $(VENV)/base.stamp $(if $(DATABASE_URL),$(VENV)/mysql.stamp) $(if $(REPRISE_OPENID_ISSUER),$(VENV)/openid.stamp) ## Serve on PORT; embedded, or on DATABASE_URL and REDIS_URL
	@exec $(BIN)/reprise serve

test: $(VENV)/test.stamp test-mysql test-js ## Run all tests; ARGS="-k name" to choose, REQUIRE_SERVICES=1 to fail where a server is missing
	@exec $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 $(ARGS)

test-unit: $(VENV)/test.stamp ## Run the fast unit tests, which need no server and no browser
	@exec $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --hypothesis-profile dev \
		-m "not slow and not services and not browser and not program" tests/unit $(ARGS)

test-weekly: $(VENV)/test.stamp ## Run what is too large for each test run: agents on large libraries, the gate on all sets
	@WEEKLY=1 $(BIN)/python -m pytest -m weekly $(ARGS)

# The driver compiles only with the headers. Without them, the test run's summary lists the skipped tests.
test-mysql: $(VENV)/test.stamp
	@if pkg-config --exists libmariadb 2>/dev/null || pkg-config --exists mysqlclient 2>/dev/null; then \
		$(MAKE) --no-print-directory $(VENV)/mysql.stamp || test -z "$$REQUIRE_SERVICES"; fi

# Likewise, without npm the tests of the JavaScript client are skipped.
test-js:
	@if command -v npm >/dev/null; then \
		$(MAKE) --silent $(JS)/node_modules/.package-lock.json; else test -z "$$REQUIRE_SERVICES"; fi

# npm writes this file at the end of an installation.
$(JS)/node_modules/.package-lock.json: $(JS)/package-lock.json
	@echo "Installing what $(JS)/package-lock.json pins (once)"
	@cd $(JS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# COMPOSE is the command for compose files; BUILD_ARGS are arguments of the build, such as a mirror's address.
image-test: $(VENV)/test.stamp ## Build the image and start the compose file with CONTAINER_ENGINE (docker, podman) on loopback
	@CONTAINER_ENGINE="$${CONTAINER_ENGINE:-docker}" $(BIN)/python -m pytest tests/e2e/containers $(ARGS)

check: $(VENV)/test.stamp check-js ## Lint, formatting, types, the direction of imports, and what is installed against the pins
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd clients/python && ../../$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/prose
	$(BIN)/python .ci/audit

check-js: test-js
	@if [ -d $(JS)/node_modules ]; then cd $(JS) && npm run --silent check; fi

clients: clients-python clients-js ## Build the client libraries into build/clients: a wheel and an npm tarball

# The folder of an earlier build is removed, because modules that were deleted since then would be in the wheel.
clients-python: build/clients/bin/python
	rm -rf clients/python/build
	build/clients/bin/python -m build --wheel --outdir build/clients clients/python

clients-js: $(JS)/node_modules/.package-lock.json
	mkdir -p build/clients
	cd $(JS) && npm pack --silent --pack-destination ../../build/clients

build/clients/bin/python:
	$(PYTHON) -m venv build/clients
	build/clients/bin/python -m pip --disable-pip-version-check install --quiet "build>=1.3,<2"

# Not a part of check, because it queries the database of advisories: check must have the same result tomorrow, and offline.
audit: build/audit/bin/pip-audit ## Look for known vulnerabilities in all that is pinned; needs the internet
	build/audit/bin/pip-audit --no-deps --disable-pip $(foreach file,installers build mysql openid test,--requirement requirements/$(file).txt) $(ARGS)

build/audit/bin/pip-audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip --disable-pip-version-check install --quiet "pip-audit>=2.10,<3"

fuzz: $(VENV)/test.stamp build/fuzz/corpus ## Fuzz what reads trace batches for 10 minutes; ARGS="-max_total_time=60" for another time
	$(BIN)/python -m pip --disable-pip-version-check install --quiet "atheris>=3,<4"
	$(BIN)/python -m tests.fuzz.otlp -max_total_time=600 -artifact_prefix=build/fuzz/ $(ARGS) build/fuzz/corpus

# A byte in front of each recorded batch picks its encoding: 0 is none.
build/fuzz/corpus:
	mkdir -p $@
	$(BIN)/python -c 'from pathlib import Path; [Path("$@", f.name).write_bytes(b"\0" + f.read_bytes()) for f in Path("tests/data/otlp").glob("*.json") if f.name != "expected.json"]'

bench: $(VENV)/test.stamp test-mysql ## Measure what docs/performance.md promises; on a machine that does nothing else
	@for name in ingest reading storage requests client runs fairness replays galera start worst; do \
		$(BIN)/python -m bench.$$name || exit 1; done

bench-peers: $(VENV)/test.stamp test-mysql build/peers/installed ## Compare with other gateways, trace servers and a column store, which it installs
	@for name in peers.gateways peers.stores storage peers.columns; do $(BIN)/python -m bench.$$name || exit 1; done

build/peers/installed: bench/peers/requirements.txt bench/peers/stores.txt bench/peers/package.json
	@echo "Installing what is compared with, into build/peers (once)"
	@$(PYTHON) -m venv build/peers
	@$(BIN)/uv pip install --quiet --python build/peers/bin/python --requirement bench/peers/requirements.txt
	@$(PYTHON) -m venv build/peers/stores  # these need other versions of the same packages
	@$(BIN)/uv pip install --quiet --python build/peers/stores/bin/python --requirement bench/peers/stores.txt
	@cp bench/peers/package.json build/peers && cd build/peers && npm install --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

chaos: $(VENV)/test.stamp test-mysql ## Kill, cut off, fill and slow down everything under load; ARGS="--rounds 100" for longer
	@exec $(BIN)/python -m tests.chaos $(ARGS)

crash: $(VENV)/test.stamp test-mysql ## Kill operations at each of their writes; an hour, ARGS="--at-most 5" for less
	@exec $(BIN)/python -m tests.crash $(ARGS)

states: $(VENV)/test.stamp ## Search each planted fault in the states of work with 20 seeds; ARGS="--seeds 5" for less
	@exec $(BIN)/python -m tests.states $(ARGS)

histories: $(VENV)/test.stamp test-mysql ## Check what concurrent clients see while processes die; ARGS="--seeds 5" for less
	@exec $(BIN)/python -m tests.histories $(ARGS)

upgrade: $(VENV)/test.stamp test-mysql ## Upgrade a used installation of release 0.1.0 under load, and go back; ARGS="--only SQLite" for less
	@exec $(BIN)/python -m tests.upgrade $(ARGS)

screenshots: $(VENV)/test.stamp ## Take the screenshots in docs/images/ again; needs Chromium
	$(BIN)/python -m docs.images.make

# The hashes are of all files of a release on the index, so use an index with the same files as PyPI, and no others.
# Pins that were made on the oldest supported Python also work on newer ones, but not the reverse.
lock: build/lock/bin/pip-compile ## Pin the ranges of setup.py again; PYTHON=the oldest supported, ARGS=--upgrade for newer pins
	printf 'pip\nuv\n' | $(COMPILE:setup.py=-) --output-file requirements/installers.txt --allow-unsafe
	$(COMPILE) --output-file requirements/build.txt --allow-unsafe --only-build-deps --build-deps-for editable
	$(COMPILE) --output-file requirements/base.txt
	$(COMPILE) --output-file requirements/mysql.txt --extra mysql --constraint requirements/base.txt
	$(COMPILE) --output-file requirements/openid.txt --extra openid --constraint requirements/base.txt
	$(COMPILE) --output-file requirements/test.txt --extra test --constraint requirements/base.txt

COMPILE = CUSTOM_COMPILE_COMMAND="make lock" build/lock/bin/pip-compile setup.py --quiet --strip-extras \
	--generate-hashes --annotation-style line --no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(ARGS)

build/lock/bin/pip-compile:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip --disable-pip-version-check install --quiet pip-tools

# Only venv is needed: pip is among the pinned installers, and to make and compile another one takes longer than all the rest.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "Reprise needs Python 3.11 or newer: install it, or name it with make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv --clear --without-pip $(VENV) \
		|| { echo "$(PYTHON) cannot make virtual environments: apt-get install python3-venv (or your system's like)"; exit 1; }

# One stamp for each set of pins, so that a later start installs nothing. The pins are complete (make check tests it), so no
# dependencies are resolved. All processors compile the installed modules, and with the first ones those of Reprise.
$(VENV)/%.stamp: requirements/%.txt $(VENV)/own.stamp
	@echo "Installing $< into $(VENV) (once)"
	@$(call INSTALL,--require-hashes --no-deps --no-build-isolation --requirement $<)
	@-$(BIN)/python -m compileall -q -q -j 0 -x 'site-packages/(pip|setuptools)/' $(VENV)/lib app config clients/python/src
	@touch $@

# setuptools warns about folders of data, and editable installations. The client was once a package besides the server's, which
# now contains it; its removal would remove the command `reprise`.
$(VENV)/own.stamp: setup.py clients/python/pyproject.toml $(VENV)/build.stamp
	@! ls -d $(VENV)/lib/python*/site-packages/reprise_client-*.dist-info >/dev/null 2>&1 \
		|| $(BIN)/python -m pip uninstall --quiet --yes reprise-client
	@export PYTHONWARNINGS=ignore; $(call INSTALL,--no-deps --no-build-isolation --editable .)
	@touch $@

# Build tools are pinned as well: otherwise installers would download the newest ones for each build, without hashes. They are
# installed by uv if the machine has it, by the pip of $(PYTHON), or by the one that Python brings along.
$(VENV)/build.stamp: requirements/build.txt requirements/installers.txt | $(BIN)/python
	@uv pip install --quiet --python $(BIN)/python $(INSTALLERS) 2>/dev/null \
		|| $(PYTHON) -m pip --python $(BIN)/python $(PIP_INSTALL) --no-compile $(INSTALLERS) 2>/dev/null \
		|| { $(BIN)/python -m ensurepip --default-pip >/dev/null && $(PIP) --no-compile $(INSTALLERS); } \
		|| { echo "No pip can install into $(VENV): apt-get install python3-venv (or your system's like)"; exit 1; }
	@touch $@

INSTALLERS = --require-hashes --no-deps --requirement requirements/installers.txt --requirement requirements/build.txt
