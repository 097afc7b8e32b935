# Everything a fresh machine needs: Python >= 3.11, a C++ compiler and make.
#   make demo   set up, train the paper's OCR model on the bundled data, show the result; demo-all: three λ
#   make test   set up, lint, type-check, run all tests
#   make fuzz   the property tests on new random examples
#   make bench  side by side with CRFsuite on the paper's OCR problem (20 minutes); bench-quick: 3 minutes
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CPP    := $(wildcard cpp/*.hpp cpp/*.cpp)

.PHONY: demo demo-all test fuzz bench bench-quick bench-all lint clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml CMakeLists.txt $(CPP)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja \
	  "seqeval>=1.2"  # comes as source, whose own build needs must not be looked for in our environment
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/ocr.py

demo-all: $(STAMP)
	$(BIN)/python examples/ocr.py --all

test: lint
	$(BIN)/python -m pytest

fuzz: $(STAMP)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest $(shell grep -rl hypothesis tests --include='test_*.py')

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run --problems ocr-100 --peers prox-qn,prox-qn-paper,python-crfsuite

bench-all: $(STAMP)
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.hierarchy

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks.run --quick

clean:
	rm -rf $(VENV) build
