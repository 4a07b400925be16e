# The two commands of the README, and what a contributor needs. Everything installs itself into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all lint format docs clean

demo: .venv/ready
	$(BIN)/lexitree demo

test: .venv/ready
	$(BIN)/pytest -n 2 -m "not slow"

test-all: .venv/ready
	$(BIN)/pytest -n 2

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv build dist site .pytest_cache .ruff_cache .hypothesis

# torch is pinned in constraints.txt, so that the set-up gives the same build every time.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
