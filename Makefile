# Two commands are all a newcomer needs: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
# Compiled kernels are cached beside the environment, so that a second run does not compile again.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache

.PHONY: demo serve test check format bench audit dashboard clean

demo: .venv
	$(BIN)/discreet demo --out out/demo.html

# A gateway with a made-up person whose days pass fast, and a page to look at.
serve: .venv
	$(BIN)/discreet serve --demo

test: .venv .venv/spark-installed
	$(BIN)/python -m pytest -n 2

# Spark is large and needs Java, so that only tests bring it, and only where there is a Java; without it, those tests say
# that they were left out.
.venv/spark-installed: pyproject.toml | .venv
	if command -v java > /dev/null || [ -n "$$JAVA_HOME" ]; then \
	  $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[spark]' && touch $@; \
	else echo 'no Java: the tests of Spark are left out (docs/population.md says how to get it)'; fi

check: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv .venv/spark-installed
	$(BIN)/python -m benchmarks

# The same properties as `make test`, on thousands of random models instead of hundreds.
audit: .venv .venv/spark-installed
	DISCREET_SEARCH=long $(BIN)/python -m pytest -n 2 tests

# The owner's page, from its sources (needs Node). What is built is committed: pip install needs no Node. The digests say
# from which sources, and a test compares them.
BUILT := src/discreet/dashboard
dashboard:
	cd dashboard && npm install --no-audit --no-fund && npm run build
	{ find dashboard -name node_modules -prune -o -type f -print; \
	  ls $(BUILT)/*.html $(BUILT)/*.js $(BUILT)/*.css $(BUILT)/*.svg; } \
	  | LC_ALL=C sort | xargs sha256sum > $(BUILT)/sources.sha256

# Rebuilt only when pyproject.toml changes; a failed install leaves nothing behind that looks finished.
.venv: pyproject.toml
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || { rm -rf .venv; exit 1; }
	touch .venv

clean:
	rm -rf .venv .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis out
