# make demo   sets everything up, learns two kitchens and writes out/demo/index.html
# make test   sets everything up and runs the tests
# The rest is for people who work on Sightline; `make help` lists it.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# for matrices as small as here a second thread of the algebra library costs more than it gives
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--no-header --no-annotate --no-emit-index-url pyproject.toml requirements/build.in

.PHONY: help demo test test-slow test-kernels lint docs bench bench-docs bench-bandits check lock scenarios clean

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/run.done ## learn two kitchens, against a blind tour; a page in out/demo
	$(BIN)/sightline demo out/demo

test: .venv/dev.done ## all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow"

test-slow: .venv/dev.done ## the slow tests
	$(BIN)/python -m pytest -m slow

test-kernels: .venv/dev.done ## the compiled loops once more, with array bounds checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/boundscheck $(BIN)/python -m pytest -m kernel

lint: .venv/dev.done ## style, types and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: .venv/dev.done ## the documentation, into site/
	$(BIN)/python tools/fill_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: .venv-bench/done ## ours and the peers, side by side
	.venv-bench/bin/python -m benchmarks

bench-docs: .venv-bench/done ## the same, written into docs/benchmarks.md
	.venv-bench/bin/python -m benchmarks --write

bench-bandits: .venv-peers/done ## the learners as plain bandits beside others, into docs/benchmarks.md
	.venv-peers/bin/python -W ignore -m benchmarks --only bandits --write

check: test lint docs test-kernels test-slow ## everything that CI runs

lock: .venv/dev.done ## choose new versions for requirements/*.txt
	$(BIN)/python -m pip install --quiet uv
	$(LOCK) --upgrade -o requirements/run.txt
	$(LOCK) --upgrade --extra gym --extra onnx --extra physics --extra test --extra lint --extra docs -c requirements/run.txt -o requirements/dev.txt
	$(LOCK) --upgrade --extra bench --extra physics -c requirements/run.txt -o requirements/bench.txt

scenarios: .venv/run.done ## draw the shipped kitchens again
	$(BIN)/python tools/draw_kitchens.py

clean: ## remove what make made
	rm -rf .venv .venv-bench .venv-peers out site

.venv/run.done: requirements/run.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Sightline needs Python 3.11 or newer on the PATH."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -r requirements/run.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev.done: .venv/run.done requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

.venv-bench/done: requirements/bench.txt pyproject.toml
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet -r requirements/bench.txt
	.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.venv-peers/done: requirements/peers.txt requirements/bench.txt pyproject.toml
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check install --quiet -r requirements/peers.txt -r requirements/bench.txt
	.venv-peers/bin/python -m pip uninstall --quiet --yes torchvision torchaudio
	.venv-peers/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	@touch $@
