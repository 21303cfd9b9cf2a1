# Two commands do everything on a fresh machine that has Python 3.10 or newer: `make perf` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
# Images often set it. Hundreds of processes would each compile the package anew then, for a second and a half.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: perf test lint unit browser cluster faults proof fuzz soak vendor clean

# Within ten minutes on two cores, the last arms' fewest rounds included.
perf: $(READY)
	$(BIN)/python -m pytest perf_tests -m "not gpu" --tfperf-window 0.2 --tfperf-max-time 480

test: lint unit browser cluster

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Logic and the plugin's behaviour in pytest, without clusters.
unit: $(READY)
	$(BIN)/python -m pytest -q -n 2 tests/unit tests/architecture tests/plugin tests/docs tests/history

# The HTML report in a real Chromium.
browser: $(READY) $(BROWSER)
	$(BIN)/python -m pytest -q tests/browser

# Real processes, real TensorFlow, three files at a time, as processes often wait for each other; what has times to meet or
# is about the machine itself has it to itself.
cluster: $(READY)
	$(BIN)/python -m pytest -q -n 3 --dist loadfile -m "not alone" \
		tests/strategies tests/cluster tests/gate tests/faults tests/soak --durations=25
	$(BIN)/python -m pytest -q -m alone tests/cluster tests/gate tests/faults --durations=15

# Every fault of a task in every phase under every strategy; `make test` tries a part of them.
faults: $(READY)
	$(BIN)/python -m pytest -q -n 2 tests/faults/tasks --every-fault --durations=15

$(READY): setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	# pip would compile all of TensorFlow, on one core; what is imported is compiled then.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[cpu,dev]"
	# Keras 2 as it lives on is tested too; its own dependency would bring the GPU build of TensorFlow over the CPU's.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps tf_keras
	touch $(READY)

# One that is on PATH will do; else Playwright's own, else Debian's package; it says what to do where there is none.
$(BROWSER): $(READY)
	$(BIN)/python -m tools.browser
	touch $(BROWSER)

# What docs/verdicts.md claims, measured anew: a quarter of an hour on two new cores with nothing else on them, an hour on older ones.
# Its peers need other versions of NumPy and so on. PROOF_GATES=5000 is quicker, and says less of rare alarms.
PROOF_GATES ?= 20000
proof:
	$(PYTHON) -m venv $(VENV)-proof
	$(VENV)-proof/bin/python -m pip install --quiet --disable-pip-version-check -e ".[proof]"
	$(VENV)-proof/bin/python -m benchmarks.verdicts --gates $(PROOF_GATES)

# Looks for input that breaks what reads it, for so many seconds each; what reaches new code is kept in .fuzz.
FUZZ_SECONDS ?= 180
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	for target in baseline report marker protocol; do \
		$(BIN)/python -m tools.fuzz $$target --seconds $(FUZZ_SECONDS) --corpus .fuzz/$$target || exit 1; \
	done

# Every fault as above; then so many clusters in one session, then so many sessions in a row, and what grows. Twenty minutes on
# two new cores with nothing else on them, an hour and a half on older ones.
SOAK_CLUSTERS ?= 500
SOAK_SESSIONS ?= 50
soak: faults
	$(BIN)/python -m tools.soak clusters --count $(SOAK_CLUSTERS)
	$(BIN)/python -m tools.soak sessions --count $(SOAK_SESSIONS)

# The JavaScript libraries that the HTML pages carry, in their newest minor versions. Needs npm.
vendor:
	$(PYTHON) tools/vendor.py

clean:
	rm -rf $(VENV) $(VENV)-proof .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .fuzz
