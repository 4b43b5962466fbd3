# The commands of this project. CI runs these targets; all of them use the active environment.
# Durations are those of two idle cores. Tests run in parallel; to debug: pytest -n 0 tests/FILE.
.PHONY: setup test documents quick lint types layers course lessons sets book sanitize check figures format options notebooks clean

setup:    ## install clearhead for development (3 minutes, mostly downloads)
	pip install -c constraints.txt -e ".[dev]"

test:     ## the tests, without those of `make documents` (8 to 9 minutes; 15 on older processors)
	pytest

documents: ## run every recipe, lesson, notebook and problem set, briefly (4 minutes)
	pytest -m documents

quick:    ## the tests that are not slow (a minute)
	pytest -m "not slow"

lint:     ## style and likely bugs (seconds)
	ruff check .
	ruff format --check .

types:    ## strict type checking (a minute, later seconds)
	mypy

layers:   ## imports go one way (seconds)
	lint-imports --no-cache

course:   ## each exercise fails as given, its solution passes, each known mistake is named (minutes)
	clearhead learn dev check

lessons:  ## execute the lessons that changed, and store their notebooks in book/lessons (10 minutes if all)
	python -m clearhead.learn.build lessons

sets:     ## write the problem sets as notebooks into book/problem_sets (seconds)
	python -m clearhead.learn.build sets

book:     ## the website of the course, in build/book (half a minute; needs the extra "book")
	sphinx-build -W --keep-going -n -b html book build/book

sanitize: ## the native engine under sanitizers: its tests and a million random calls (half an hour)
	python -m tests.native.sanitizers

check: lint types layers course test documents  ## what CI proves, and the whole course (20 minutes)

figures:  ## print the figures of the structure, and the files on the path of a sentence (a minute)
	pytest -n 0 -q tests/laws/test_structure.py tests/laws/test_short_paths.py tests/laws/test_sizes.py

format:   ## write what lint expects (seconds)
	ruff check --fix .
	ruff format .

options:  ## accept a new option: rewrite the list that freezes the command line (seconds)
	python -m tests.laws.cli_options

notebooks: ## execute the notebooks and store them with their outputs (five minutes)
	python -m tests.notebooks.ipynb

clean:    ## remove caches and builds
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
