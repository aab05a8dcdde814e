# Two commands do everything: `make demo` and `make test`. Each sets up what it needs. The path of a clone may hold
# blanks and any letter: names here are relative to it, variables are quoted, and no `rm -rf` is given a variable.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ENVIRONMENT = "$(PYTHON)" scripts/environment.py "$(VENV)"
AGENTS := $(VENV)/agents
# What asks the MCP server in its tests: two programs of others, and the Node they want, which few systems have. And
# what looks at the web page for people who cannot see it.
NODE_PACKAGE := node-$(if $(filter Darwin,$(shell uname -s)),darwin,linux)-$(if $(filter x86_64,$(shell uname -m)),x64,arm64)
AGENT_PACKAGES := @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16 axe-core@4.14.1 $(NODE_PACKAGE)@22.23.3

.PHONY: agents bench browser check clean coverage coverage-surfaces demo docs docs-check imports lint lock setup smoke \
	suite test tools training try-dedupe try-triage types

# Without the second embedder, which the tests install: the output is that of a plain `pip install .`, and that of docs/tour.md.
demo:
	@$(ENVIRONMENT) demo
	@FORGELORE_SECOND_EMBEDDER=none "$(BIN)/forgelore" demo
	@"$(BIN)/python" scripts/demo_page.py

# The suite, then the contract checks over all traffic that the suite made, then a small training run. With COVERAGE=1
# the folders that test in their own process are measured: a process for each command, or a kill, would take twice the
# time and say little more.
MEASURED := $(addprefix tests/,core store net api index embedders search quality facts sync dedupe llm ask clones people paths triage)
OTHERS := $(filter-out $(MEASURED) tests/contracts tests/servers tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
MEASURE := $(if $(COVERAGE),"$(BIN)/coverage" run -m,"$(BIN)/python" -m)

test: setup training tools browser agents
	@"$(MAKE)" --no-print-directory suite
	FORGELORE_TRAFFIC=build/traffic "$(BIN)/python" -m pytest tests/contracts
	@if why=$$("$(BIN)/python" -c 'import torch' 2>&1); then "$(BIN)/python" -m pytest training; \
	else echo "training/ is not tested: $$(echo "$$why" | tail -n 1)"; fi

# The suite alone, or a part of it: make suite MEASURED=tests/search OTHERS=tests/cli
suite: setup
	rm -rf -- build/traffic && mkdir -p build/traffic
	rm -f -- .coverage .coverage.*
	FORGELORE_TRAFFIC=build/traffic $(MEASURE) pytest -n 2 $(MEASURED)
	FORGELORE_TRAFFIC=build/traffic "$(BIN)/python" -m pytest -n 2 $(OTHERS)

# Branches that no test of the measured folders takes, with a floor (pyproject.toml). Needs a run with COVERAGE=1.
coverage:
	"$(BIN)/coverage" combine --quiet
	"$(BIN)/coverage" report

# What people and agents see, measured on demand by the tests that try it from outside, and the servers that these start.
# A part: make coverage-surfaces OUTSIDE=tests/agents
OUTSIDE := tests/action tests/agents tests/cli
coverage-surfaces: export COVERAGE_FILE = $(CURDIR)/build/surfaces.coverage
coverage-surfaces: setup
	mkdir -p build && rm -f -- build/surfaces.coverage build/surfaces.coverage.*
	FORGELORE_MEASURED=surfaces "$(BIN)/coverage" run --rcfile=tests/surfaces.coveragerc -m pytest -n 2 $(OUTSIDE)
	"$(BIN)/coverage" combine --quiet --rcfile=tests/surfaces.coveragerc
	"$(BIN)/coverage" report --rcfile=tests/surfaces.coveragerc

check: lint types imports docs-check test

lint: setup
	"$(BIN)/ruff" format --check .
	"$(BIN)/ruff" check .

types: setup
	"$(BIN)/mypy"

imports: setup
	"$(BIN)/lint-imports"

docs: setup
	"$(BIN)/python" scripts/docs.py

docs-check: setup
	"$(BIN)/python" scripts/docs.py --check

# From nothing to a commented issue, on a local forge.
try-triage: setup
	"$(BIN)/python" scripts/try_triage.py

# From nothing to a reviewed pair, closed and opened again, on a local forge.
try-dedupe: setup
	"$(BIN)/python" scripts/try_dedupe.py

# The built wheel, without any development tool, in an environment of its own.
smoke: setup
	"$(BIN)/python" scripts/smoke.py

bench: setup
	"$(BIN)/python" bench/run.py

lock:
	"$(BIN)/python" scripts/lock.py

setup:
	@$(ENVIRONMENT) dev

# Only the tests of training/ want torch. Where pip does not find this build, everything else goes on without it.
training: setup
	@$(ENVIRONMENT) training

# The tests of completion want the shells themselves, those of silence strace. Where they can be neither found nor
# installed, these are skipped.
tools:
	@missing=""; for tool in zsh fish strace; do command -v $$tool > /dev/null || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq > /dev/null \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing > /dev/null; \
	then exit 0; fi; echo "not installed:$$missing; what needs them will not be tested"

# A test of the page for reviewers wants a real browser. Where none can be found or installed, it is skipped.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		if command -v $$name > /dev/null; then exit 0; fi; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq > /dev/null \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium > /dev/null; \
	then exit 0; fi; echo "not installed: a browser; the page for reviewers will not be tested in one"

# The tests of the MCP server want them. Where they can be neither found nor installed, these are skipped. Scripts of
# packages are not run: none of these needs its own. In the folder, not by --prefix, which hides the system's npmrc.
agents: setup
	@if [ "$$(cat "$(AGENTS)/.installed" 2> /dev/null)" = "$(AGENT_PACKAGES)" ]; then exit 0; fi; \
	mkdir -p "$(AGENTS)"; \
	if ! command -v npm > /dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq > /dev/null \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nodejs npm > /dev/null; fi; \
	echo '{"private": true}' > "$(AGENTS)/package.json"; \
	(cd "$(AGENTS)" && npm install --no-package-lock --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
		$(AGENT_PACKAGES) > /dev/null) && echo "$(AGENT_PACKAGES)" > "$(AGENTS)/.installed" \
		|| echo "not installed: other clients of the MCP server; they will not be tested"

clean:
	rm -rf -- .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
