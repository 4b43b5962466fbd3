# The verbs of this project. `make check` is what CI runs; all of them use the active environment.
.PHONY: setup test lint types layers check format options notebooks clean

setup:    ## install clearhead for development
	pip install -c constraints.txt -e ".[dev]"

test:     ## every test
	pytest

lint:     ## style and mistakes
	ruff check .
	ruff format --check .

types:    ## strict type checking
	mypy

layers:   ## rooms import one way
	lint-imports --no-cache

check: lint types layers test  ## all of the above

format:   ## write what lint asks for
	ruff check --fix .
	ruff format .

options:  ## accept a new flag: rewrite the list that freezes the command line
	python -m tests.laws.cli_options

notebooks: ## write the .ipynb beside each notebook's source
	python -m tests.notebooks.ipynb

clean:    ## remove caches and builds
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
