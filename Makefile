# Two commands are all a newcomer needs: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
# Compiled kernels are cached beside the environment, so that a second run does not compile again.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache

.PHONY: demo serve test check format bench audit clean

demo: .venv
	$(BIN)/discreet demo --out out/demo.html

# A gateway with a made-up person whose days pass fast, and a page to look at.
serve: .venv
	$(BIN)/discreet serve --demo

test: .venv
	$(BIN)/python -m pytest -n 2

check: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv
	$(BIN)/python -m benchmarks

# The same properties as `make test`, on thousands of random models instead of hundreds.
audit: .venv
	DISCREET_SEARCH=long $(BIN)/python -m pytest -n 2 tests

# Rebuilt only when pyproject.toml changes; a failed install leaves nothing behind that looks finished.
.venv: pyproject.toml
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || { rm -rf .venv; exit 1; }
	touch .venv

clean:
	rm -rf .venv .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis out
