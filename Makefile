# Two commands are all a newcomer needs: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
# Compiled kernels are cached beside the environment, so that a second run does not compile again.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache
# So is Python's bytecode, also where the environment says otherwise: every worker of the tests, and every process that
# they start, would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE
# What is installed here is what was tested. pip reads the first name for what it installs, and for what it builds with
# up to pip 25.2; later ones read the second for that.
TESTED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
INSTALL := pip install --quiet --disable-pip-version-check
# Laws, golden bits, contracts and unit tests, in less than a minute once kernels are compiled: no server, browser, Java
# or long search. pyproject.toml says what the markers mean. `make lowest` runs the same. Searches take a third of their
# seeds.
QUICK := -n 2 --dist loadgroup -m 'not (audit or broker or postgres or browser or spark or kills or search or slow)'
# Whole stories are slow, as tests/conftest.py says: what they would import takes seconds too.
STORIES := choosing cli demo endless evaluation experiments gateway live publish test_docs.py test_docs_commands.py
QUICK += $(STORIES:%=--ignore=tests/%)

.PHONY: demo serve warm quick test again slowest check docs format bench audit lowest update release dashboard pictures clean

demo: .venv
	$(BIN)/discreet demo --out out/demo.html

# A gateway with a made-up person whose days pass fast, and a page to look at.
serve: .venv
	$(BIN)/discreet serve --demo

# Hot loops, compiled once for all workers of the tests: each would compile them for itself. `make demo` and `make serve`
# do without: what is not compiled yet is interpreted.
warm: .venv
	$(BIN)/discreet warm

quick: warm
	DISCREET_SEARCH=short $(BIN)/python -m pytest $(QUICK)

# Everything that can run here, except what only `make audit` runs; what is left out is said. Three processes for two
# cores: tests of Spark, servers and kills wait for others much of their time.
test: warm .venv/spark-installed
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m 'not audit'

# What failed in the last run, one test at a time. Where the last run did not end with failed tests, this fails too.
again: .venv
	$(BIN)/python -m tests.again

# The twenty tests of the last run that took most processor time, and why; fails where one has no reason.
slowest: .venv
	$(BIN)/python -m tests.processor_time

# Spark is large and needs Java, so that only tests bring it, and only where there is a Java; without it, those tests say
# that they were left out.
.venv/spark-installed: pyproject.toml constraints.txt | .venv
	if command -v java > /dev/null || [ -n "$$JAVA_HOME" ]; then \
	  $(TESTED) $(BIN)/$(INSTALL) --editable '.[spark]' && touch $@; \
	else echo 'no Java: the tests of Spark are left out (docs/population.md says how to get it)'; fi

check: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The site, in out/site: strict, so that a link that leads nowhere or a page that nobody finds is an error.
docs: .venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: warm .venv/spark-installed
	$(BIN)/python -m benchmarks

# The same properties as `make test`, on thousands of random models instead of hundreds; and schemathesis over the
# description of the gateway's routes.
audit: warm .venv/spark-installed
	DISCREET_SEARCH=long $(BIN)/python -m pytest -n 2 --dist loadgroup tests
	$(BIN)/python -m benchmarks soak

# The owner's page, from its sources (needs Node). What is built is committed: pip install needs no Node. The digests say
# from which sources, and a test compares them.
BUILT := src/discreet/dashboard
dashboard:
	cd dashboard && npm ci --no-audit --no-fund --ignore-scripts && npm run build
	{ find dashboard -name node_modules -prune -o -type f -print; \
	  ls $(BUILT)/*.html $(BUILT)/*.js $(BUILT)/*.css $(BUILT)/*.svg $(BUILT)/*.webmanifest; } \
	  | LC_ALL=C sort | xargs sha256sum > $(BUILT)/sources.sha256

# The pictures of README and docs, taken of the page itself. It takes Chromium, and `make dashboard` before.
pictures: .venv
	$(BIN)/python -m tests.gateway.pictures docs/pictures

# The quick tests on the lowest versions that pyproject.toml allows, in an environment of its own: whoever installs
# discreet beside older packages gets what was promised.
lowest: .venv-lowest
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba_cache DISCREET_SEARCH=short .venv-lowest/bin/python -m pytest $(QUICK)

.venv-lowest: pyproject.toml experiments/pyproject.toml tools/lowest.py
	rm -rf $@
	$(PYTHON) -m venv $@
	$(PYTHON) tools/lowest.py > $@/lowest.txt
	PIP_CONSTRAINT=$@/lowest.txt PIP_BUILD_CONSTRAINT=$@/lowest.txt $@/bin/$(INSTALL) --editable '.[test]' \
	  --editable experiments \
	  || { rm -rf $@; exit 1; }
	touch $@

# The newest versions of everything: run the checks and all tests before it is committed. Tools have their version in
# pyproject.toml too, which tools/update.py renews first.
update:
	$(PYTHON) tools/update.py

# What is released, in dist: a clean tree, checks, all tests, packages built twice with the same bytes, checksums, notes.
# Nothing is uploaded.
release: check test
	$(BIN)/python tools/release.py

# Rebuilt only when pyproject.toml or constraints.txt changes; a failed install leaves nothing behind that looks finished.
.venv: pyproject.toml experiments/pyproject.toml constraints.txt
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(TESTED) $(BIN)/$(INSTALL) --editable '.[dev]' --editable experiments || { rm -rf .venv; exit 1; }
	touch .venv

clean:
	rm -rf .venv .venv-lowest .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis out
