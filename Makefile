# Every target creates the environment that it needs: with uv if it is installed, else with venv
# and pip. `make` lists the targets.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
export UV_PYTHON_DOWNLOADS = never
export UV_COMPILE_BYTECODE = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

BIN := .venv/bin
SEED ?= 1
EXAMPLES ?= 10000
HITS ?= 3
KILLS ?= 100
STOPS ?= 1000
PAIRS ?= 1000000
CUTS ?= 20000
COUNT ?= 100000
SEEDS ?= 200
DAYS ?=

# The files whose coverage by the simulation `make sim` reports.
REACHED := */engine/planner.py,*/engine/worker.py,*/engine/leases.py,*/engine/pruner.py,*/quarterjack/rules/*,*/quarterjack/control.py

.DEFAULT_GOAL := help
.PHONY: help up test check bench bench-times bench-rules bench-engine bench-targets bench-pairs bench-scale fuzz oracle crash sim sim-seed sim-selftest sim-postgres interleave herd wal cuts properties wheel pythons mutate lines lock clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

# install(venv, lock): the locked packages, verified by hash, and this project.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Quarterjack needs Python 3.11 or later; say which with make PYTHON=..."; exit 1; }
	@rm -rf $(1)
	@if [ -n "$(UV)" ]; then \
	    $(UV) venv -q --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(1) && \
	    $(UV) pip install -q --python $(1) --require-hashes -r $(2) && \
	    $(UV) pip install -q --python $(1) --no-deps --no-build-isolation -e . ; \
	else \
	    $(PYTHON) -m venv $(1) && \
	    $(1)/bin/python -m pip install -qq --require-hashes -r $(2) && \
	    $(1)/bin/python -m pip install -qq --no-deps --no-build-isolation -e . ; \
	fi
	@$(1)/bin/python -m compileall -q src
	@touch $@
endef

.venv/ready: pyproject.toml requirements.lock
	$(call install,.venv,requirements.lock)

.venv-%/ready: pyproject.toml requirements-%.lock
	$(call install,.venv-$*,requirements-$*.lock)

up: .venv/ready  ## run the example on SQLite; stop with Ctrl-C
	@$(BIN)/quarterjack up examples/quarterjack.yaml

# pgbouncer from Debian, if it can be installed; without it the tests behind it are skipped.
.venv/pgbouncer: .venv/ready
	@if ! PATH="$$PATH:/usr/sbin" command -v pgbouncer > /dev/null && [ "$$(id -u)" = 0 ] && \
	    command -v apt-get > /dev/null; then \
	    (apt-get update -qq && apt-get install -y -qq pgbouncer) > /dev/null 2>&1 || \
	    echo "warning: cannot install pgbouncer; tests behind it are skipped"; \
	fi
	@touch $@

# Tests marked `unmeasured` (simulations, killed processes) run without coverage, which would take most
# of the time; four at once, because most of them wait.
test: check .venv/pgbouncer  ## all checks and tests, with coverage
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest -q docs README.md
	@$(BIN)/coverage run -m pytest -q tests -n 2 --dist worksteal -m 'not unmeasured'
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report --include='*/quarterjack/times/*,*/quarterjack/rules/*' --fail-under=100
	@$(BIN)/coverage report --fail-under=95
	@$(BIN)/pytest -q tests -n 4 --dist worksteal -m unmeasured

check: .venv/ready  ## format, lint, types, import rules, style
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/mypy --platform darwin src
	@$(BIN)/lint-imports --no-logo | tail -n 3
	@$(BIN)/pytest -q -p no:cacheprovider tests/tidy

bench: bench-times bench-rules bench-engine bench-targets bench-scale  ## all benchmarks

bench-times: .venv-bench/ready  ## next fire times, beside cronsim, croniter, APScheduler and celery
	@PYTHONPATH=tests .venv-bench/bin/python bench/times.py

bench-rules: .venv/ready  ## plan and settle 10,000 schedules
	@$(BIN)/python bench/rules.py

bench-engine: .venv-bench/ready  ## engine on SQLite and PostgreSQL, beside bare drivers and others
	@PYTHONPATH=tests .venv-bench/bin/python -m bench.engine $(ARGS)

bench-targets: .venv-bench/ready  ## no-op tasks, async and sync, beside APScheduler, procrastinate, Docket, Celery
	@PYTHONPATH=tests .venv-bench/bin/python -m bench.targets $(ARGS)

bench-pairs: .venv-bench/ready  ## CPU and statements of this tree beside those of a commit: BEFORE=
	@.venv-bench/bin/python bench/pairs.py $(BEFORE)

bench-scale: .venv/ready  ## a million idle schedules, and pruning a million runs
	@PYTHONPATH=tests $(BIN)/python -m bench.scale $(ARGS)

fuzz: .venv/ready  ## a million hostile strings for the parsers
	@PYTHONPATH=tests $(BIN)/python -m harness.times.fuzz --count 1000000 --seed $(SEED)

oracle: .venv/ready  ## every offset change 2020-2037 against a minute-by-minute oracle
	@PYTHONPATH=tests $(BIN)/python -m harness.times.oracle --seed $(SEED)

crash: .venv/ready  ## kill -9 at every step (first HITS times) and KILLS times at random; SIGSTOP STOPS times
	@PYTHONPATH=tests $(BIN)/python -m harness.crash.kills --hits $(HITS) --kills $(KILLS) --seed $(SEED)
	@PYTHONPATH=tests $(BIN)/python -m harness.crash.many_nodes --hits $(HITS) --kills $(KILLS) --stops $(STOPS) --seed $(SEED)

sim: .venv/ready  ## SEEDS simulations with faults, checked; and their coverage of the engine
	@PYTHONPATH=tests $(BIN)/python -m harness.sim.campaign --seeds $(SEEDS) $(if $(DAYS),--days $(DAYS))
	@rm -f .coverage.sim*
	@for options in "16 --days 7" "24 --days 1"; do \
	    COVERAGE_FILE=.coverage.sim PYTHONPATH=tests $(BIN)/coverage run -m harness.sim.campaign --processes 1 --seeds $$options > /dev/null & \
	done; wait
	@COVERAGE_FILE=.coverage.sim $(BIN)/coverage combine -q
	@COVERAGE_FILE=.coverage.sim $(BIN)/coverage report --skip-covered --include='$(REACHED)' | tail -n 3 | head -n 1

sim-seed: .venv/ready  ## repeat the simulation SEED, with a log of what went wrong
	@PYTHONPATH=tests $(BIN)/python -m harness.sim.campaign --seed $(SEED) $(if $(DAYS),--days $(DAYS))

sim-selftest: .venv/ready  ## check that the simulation detects every planted bug
	@PYTHONPATH=tests $(BIN)/python -m harness.sim.campaign --selftest --seeds 80

sim-postgres: SEEDS = 20
sim-postgres: .venv/ready  ## SEEDS simulations from SEED on SQLite and PostgreSQL, compared row by row
	@PYTHONPATH=tests $(BIN)/python -m harness.sim.both_stores --first $(SEED) --seeds $(SEEDS) $(if $(DAYS),--days $(DAYS))

interleave: .venv/ready  ## interleave pairs of transactions on PostgreSQL, statement by statement
	@PYTHONPATH=tests $(BIN)/python -m harness.store.interleaving

herd: .venv/ready  ## COUNT schedules due in the same second, then an urgent one
	@PYTHONPATH=tests $(BIN)/python -m harness.engine.herd --count $(COUNT)

wal: .venv/ready  ## two processes write and checkpoint SQLite concurrently, PAIRS times
	@PYTHONPATH=tests $(BIN)/python -m harness.store.wal --pairs $(PAIRS) --seed $(SEED)

cuts: .venv/ready  ## power cuts at CUTS moments, for each durability
	@CUTS=$(CUTS) $(BIN)/pytest -q tests/store/test_power_cut.py -n 2

properties: .venv/ready  ## properties of the rules, with EXAMPLES generated histories each
	@EXAMPLES=$(EXAMPLES) $(BIN)/pytest -q tests/rules/test_properties.py -n 2

wheel: .venv/ready  ## build the wheel, install and run it with every Python that is installed
	@PYTHONPATH=tests $(BIN)/python -m harness.acceptance.wheel

pythons: .venv/ready  ## run the tests, but for the longest, with every Python that is installed
	@PYTHONPATH=tests $(BIN)/python -m harness.acceptance.pythons $(ARGS)

mutate: .venv-mutate/ready  ## mutation score of times and rules, or of one: PART=rules
	@.venv-mutate/bin/python tests/mutate.py $(PART)

lines: .venv/ready  ## lines of product code, or of a commit: REVISION=
	@$(BIN)/python bench/lines.py $(REVISION)

lock:  ## update the locked dependencies (needs uv)
	@uv lock -q --upgrade
	@uv export -q --no-emit-project --no-header --no-annotate --extra dev -o requirements.lock
	@uv export -q --no-emit-project --no-header --no-annotate --extra bench -o requirements-bench.lock
	@uv export -q --no-emit-project --no-header --no-annotate --extra mutate -o requirements-mutate.lock

clean:  ## remove everything that was generated
	@rm -rf .venv .venv-* .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@rm -rf .import_linter_cache mutants dist uv.lock
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
