# Each target makes the environment that it needs. None needs a GPU.
#   make test           the whole suite, in .venv (with Ray and datasets) and, for the engines, in .venv-vllm; ruff, mypy
#   make test-sglang    the tests against the real SGLang server, in .venv-sglang (Python 3.11 or newer)
#   make test-kernels   the GPU kernels and their route in Triton's interpreter, in .venv-sglang
#   make test-sanitize  the tests of the native core, built with AddressSanitizer and UndefinedBehaviorSanitizer
#   make gpu-test       the GPU kernels and their route, with $(PYTHON) as it is: on the GPU, or else in Triton's interpreter
#   make demo           the real vLLM server with --tokenizer-mode lopt and a long prompt, in .venv-demo
#   make demo-sglang    the same with SGLang and --tokenizer-backend lopt, in .venv-demo-sglang
#   make bench          the benchmarks, and benchmarks/RESULTS.md from them; half an hour. BENCH="--only peek2" for some
#   make lint           ruff and mypy alone
#   make clean          removes environments and builds

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
export PYTHON
PIP := -m pip --disable-pip-version-check --quiet

.PHONY: test test-core test-engines test-examples test-sglang test-kernels test-sanitize gpu-test core-for-gpu-test demo \
	demo-sglang bench lint clean environment sglang-environment wheel

test: lint test-core test-examples test-engines

test-core: environment
	.venv/bin/pytest -n auto

# Ray and datasets are large, and no other test needs them. LOPT_REQUIRE_...: without them these tests fail instead of
# being skipped.
test-examples: environment
	.venv/bin/python $(PIP) install "$$(echo build/wheels/*.whl)[dev,ray,datasets]"
	LOPT_REQUIRE_RAY=1 LOPT_REQUIRE_DATASETS=1 .venv/bin/pytest tests/test_ray.py tests/test_datasets.py

# LOPT_REQUIRE_VLLM: without vLLM these tests fail instead of being skipped. The last ones are run again because torch is
# there, which test-core has not: tensors are torch's.
test-engines: wheel
	examples/vllm_demo/environment.sh .venv-vllm cpu
	.venv-vllm/bin/python $(PIP) install --force-reinstall --no-deps build/wheels/*.whl
	.venv-vllm/bin/python $(PIP) install "$$(echo build/wheels/*.whl)[dev]"
	LOPT_REQUIRE_VLLM=1 .venv-vllm/bin/pytest tests/engines tests/test_vllm_registration.py --durations=5
	.venv-vllm/bin/pytest tests/test_interface_grid.py tests/test_padding.py

# LOPT_REQUIRE_SGLANG: as above.
test-sglang: sglang-environment
	LOPT_REQUIRE_SGLANG=1 .venv-sglang/bin/pytest tests/sglang_server tests/test_sglang_registration.py --durations=5

# SGLang's environment has torch and Triton. The NumPy references need neither: test-core has run their tests.
test-kernels: sglang-environment
	LOPT_REQUIRE_KERNELS=1 .venv-sglang/bin/pytest -n auto $$(ls tests/test_gpu_*.py | grep -v reference) --durations=5

sglang-environment: wheel
	examples/sglang_demo/environment.sh .venv-sglang cpu
	.venv-sglang/bin/python $(PIP) install --force-reinstall --no-deps build/wheels/*.whl
	.venv-sglang/bin/python $(PIP) install "$$(echo build/wheels/*.whl)[dev]"

# The sanitizers' runtime has to be loaded before Python, and the C++ library with it, so that exceptions are seen.
# --capture=sys: what the runtime prints before it ends the process must not be lost. Left out: ceilings of memory (freed
# memory is kept back by the sanitizer) and forks among threads (its allocator may hang in the child). PYTHONMALLOC: Python's
# objects, which lists of offsets use again, lie in memory that the sanitizer knows.
test-sanitize: environment
	rm -rf build/sanitized
	LOPT_SANITIZE=ON .venv/bin/python $(PIP) install --no-deps --target build/sanitized \
		--config-settings build-dir=build/sanitized-objects .
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONPATH=build/sanitized \
	PYTHONMALLOC=malloc \
		.venv/bin/pytest --capture=sys -k 'not memory and not fork and not each_code_point and not kept' \
		tests/test_native_*.py tests/test_scanners.py tests/test_normalizers.py tests/test_clip.py \
		tests/test_sentencepiece.py tests/test_wordpiece*.py tests/test_offset*.py tests/test_prefix_store.py \
		tests/test_texts_ahead.py tests/test_growing.py tests/test_model_identity.py

# Needs pytest, hypothesis, tokenizers, transformers, torch and triton; no network. Without a native core, it is built into
# the checkout, with cmake, a C++ compiler and nanobind. With a GPU and compute-sanitizer, a small batch runs under memcheck,
# racecheck and synccheck; else the summary says why not.
gpu-test: core-for-gpu-test
	$(PYTHON) -c "import torch, triton; print('GPU:', torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU')"
	PYTHONPATH="$$PWD:$${PYTHONPATH:-}" LOPT_REQUIRE_KERNELS=1 $(PYTHON) -m pytest -p no:cacheprovider \
		tests/test_gpu_*.py tests/test_padding.py

core-for-gpu-test:
	PYTHONPATH="$$PWD:$${PYTHONPATH:-}" $(PYTHON) -c "import lopt_plugin.native._core" || { \
		cmake -S . -B build/gpu-test -Wno-dev -Dnanobind_DIR="$$($(PYTHON) -m nanobind --cmake_dir)" \
			-DPython_EXECUTABLE="$$($(PYTHON) -c 'import sys; print(sys.executable)')" \
		&& cmake --build build/gpu-test --parallel && cmake --install build/gpu-test --prefix .; }

demo:
	examples/vllm_demo/environment.sh .venv-demo
	.venv-demo/bin/python $(PIP) install .
	.venv-demo/bin/python examples/vllm_demo/demo.py $(DEMO)

demo-sglang:
	examples/sglang_demo/environment.sh .venv-demo-sglang
	.venv-demo-sglang/bin/python $(PIP) install .
	.venv-demo-sglang/bin/python examples/sglang_demo/long_context.py $(DEMO)

bench: environment
	.venv/bin/python $(PIP) install "$$(echo build/wheels/*.whl)[bench]"
	.venv/bin/python benchmarks/run_all.py $(BENCH)

lint: environment
	.venv/bin/ruff check .
	.venv/bin/mypy

environment: wheel
	.venv/bin/python $(PIP) install --force-reinstall --no-deps build/wheels/*.whl
	.venv/bin/python $(PIP) install "$$(echo build/wheels/*.whl)[dev]"

# The tests run what is installed, not the source tree.
wheel: .venv/bin/python
	rm -rf build/wheels
	.venv/bin/python $(PIP) wheel --no-deps --wheel-dir build/wheels .

.venv/bin/python:
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv .venv-vllm .venv-sglang .venv-demo .venv-demo-sglang build dist
