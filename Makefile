# Everything a fresh machine needs: Python >= 3.11, a C++ compiler and make.
#   make demo   set up, train the paper's OCR model on the bundled data, show the result; demo-all: three λ
#   make test   set up, lint, type-check, run all tests
#   make fuzz   the property tests on new random examples
#   make fuzz-files  files made to harm, a million of each kind: models, checkpoints, data, templates, label trees
#               (KIND=chain FILES=1000000 JOBS=2 SEED=0 RESUME=1 SANITIZE=1; what each is: python -m tests.fuzz --help)
#   make kill   trainings killed at random moments, a thousand times, resumed to the same bits (KILLS=1000 SIGNALS=200
#               JOBS=2 SEED=0); and how soon Ctrl-C and SIGTERM leave a model
#   make stand-ins-peers  Wapiti, CRF++ and proxqn label with each other's models (a minute of processor)
#   make stand-ins  programs written for pycrfsuite and sklearn_crfsuite, unchanged, with our modules in their place
#               (PROXQN_PROGRAMS=their folder; PARTS="suites files parsers examples")
#   make bounds  whether objective - gap is below the optimum to the last bit: 10,000 random problems (PROBLEMS=10000)
#   make scale  features of any scale: objectives and passes beside those of problems scaled by hand (PROBLEMS=12)
#   make bench  side by side with CRFsuite on the paper's OCR problem (20 minutes); bench-quick: 3 minutes;
#               bench-all: all problems and peers (hours); bench-pages: picture and report of the kept runs;
#               bench-ablation: the solver without each of its ideas, and docs/ablation.md (an hour and a half on
#               two cores; six minutes on sixteen)
#   make replicate  the paper's figures and tables (an hour; DATA=folder of the LSHTC challenge);
#                   replicate-quick: small data, a minute. Pages in out/
#   make lint   ruff and mypy alone
#   make sanitize, levels, out-of-memory, coverage, mutants  proofs of the compiled code and of the tests
#               (docs/reliability.md); each builds kernels of its own, apart from those in use
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# STRICT=1: a warning of the compiler is an error, for our own builds, whose compiler we know; but for one
# that GCC 12 gives of its own headers.
WARNINGS := $(if $(STRICT),-C cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON \
  -C cmake.define.CMAKE_CXX_FLAGS=-Wno-error=maybe-uninitialized)
CPP    := $(shell find cpp -name '*.hpp' -o -name '*.cpp' -o -name '*.inc')

.PHONY: demo demo-all test sanitize levels out-of-memory coverage mutants fuzz fuzz-files kill stand-ins stand-ins-peers bench bench-quick bench-all bench-pages bench-ablation bounds scale replicate replicate-quick format lint clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml CMakeLists.txt $(CPP)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja \
	  "seqeval>=1.2"  # comes as source, whose own build needs must not be looked for in our environment
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation $(WARNINGS) -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/ocr.py

demo-all: $(STAMP)
	$(BIN)/python examples/ocr.py --all

test: lint
	$(BIN)/python -m pytest

fuzz: $(STAMP)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest $(shell grep -rl hypothesis tests --include='test_*.py')

FUZZED ?= chain tree checkpoint crfsuite wapiti crfpp crfpp-text columns conllu attributes jsonl svmlight \
          hierarchy templates patterns
fuzz-files: $(STAMP)
	for kind in $(or $(KIND),$(FUZZED)); do \
	  $(BIN)/python -m tests.fuzz $$kind --number $(or $(FILES),1000000) --jobs $(or $(JOBS),2) --seed $(or $(SEED),0) \
	    $(if $(RESUME),--resume) $(if $(SANITIZE),--sanitize) || exit 1; done

kill: $(STAMP)
	$(BIN)/python -m tests.fuzz.kills --number $(or $(KILLS),1000) --signals $(or $(SIGNALS),200) \
	  --jobs $(or $(JOBS),2) --seed $(or $(SEED),0)

# Builds Wapiti and CRF++ from PEERS, and labels with each other's models; skipped where the sources are missing.
PEERS ?= ../shared/peers
stand-ins-peers: $(STAMP)
	@if [ -f $(PEERS)/build.sh ]; then \
	  mkdir -p out && bash $(PEERS)/build.sh out/peers > out/peers.log 2>&1 || { tail out/peers.log; exit 1; }; \
	  PROXQN_PEERS=out/peers $(BIN)/python -m benchmarks.pattern_programs trips --sentences $(or $(SENTENCES),150) --iterations 8; \
	else echo "skipped: no sources of Wapiti and CRF++ in $(PEERS); name their folder with PEERS="; fi

stand-ins: $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check "lxml>=5" "probableparsing" "doublemetaphone" "future" "nltk>=3.9"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps "probablepeople>=0.5.6"
	$(BIN)/python -m benchmarks.stand_ins $(PARTS)

# JOBS=processes, of all that follow. LEVEL=one kind of processor alone: v4, v3 or plain.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
sanitize: $(STAMP)
	$(BIN)/python -m tests.proofs.sanitize --jobs $(JOBS) $(if $(LEVEL),--levels $(LEVEL))

levels: $(STAMP)
	$(BIN)/python -m tests.proofs.sanitize --checks none --jobs $(JOBS) $(if $(LEVEL),--levels $(LEVEL))

# EVERY=each of so many allocations alone
out-of-memory: $(STAMP)
	$(BIN)/python -m tests.proofs.out_of_memory --jobs $(JOBS) --every $(or $(EVERY),1)
	$(BIN)/python -m tests.proofs.out_of_memory --jobs $(JOBS) --every $(or $(EVERY),1) --lasting
	$(BIN)/python -m tests.proofs.out_of_memory --jobs $(JOBS) --every $(or $(EVERY),1) --anyone 1024

coverage: $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check "coverage>=7.6"
	$(BIN)/python -m tests.proofs.coverage --jobs $(JOBS) --missing 30

mutants: $(STAMP)
	$(BIN)/python -m tests.proofs.mutants --jobs $(JOBS)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(BIN)/mypy

bounds: $(STAMP)
	$(BIN)/python -W ignore -m benchmarks.bounds --problems $(or $(PROBLEMS),10000)

scale: $(STAMP)
	$(BIN)/python -m benchmarks.scale --problems $(or $(PROBLEMS),12)

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run --problems ocr-100 --peers prox-qn,prox-qn-paper,python-crfsuite

bench-all: $(STAMP)
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.hierarchy

bench-pages: $(STAMP)
	$(BIN)/python -m benchmarks.run --analyse-only > /dev/null
	cp out/benchmarks/benchmark.svg docs/benchmark.svg

# Finished runs are kept here as well.
bench-ablation: $(STAMP)
	$(BIN)/python -m benchmarks.ablation
	$(BIN)/python -m benchmarks.ablation.page > /dev/null

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks.run --quick

# Finished runs are kept: after an interruption the same command goes on.
replicate: $(STAMP)
	$(BIN)/python -m replication ocr --jobs 2 --resume
	$(BIN)/python -m replication lshtc --generated $(if $(DATA),--data $(DATA)) --resume
	$(BIN)/python -m replication theory

replicate-quick: $(STAMP)
	$(BIN)/python -m replication ocr --quick --resume
	$(BIN)/python -m replication lshtc --quick --resume
	$(BIN)/python -m replication theory --quick

clean:
	rm -rf $(VENV) build
