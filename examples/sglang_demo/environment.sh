#!/usr/bin/env bash
# Makes a Python environment with SGLang, once:  environment.sh FOLDER [cpu]
# With an NVIDIA GPU and without "cpu": SGLang as it is. Otherwise SGLang without its kernels, which are for GPUs only
# (sglang_on_cpu.py replaces them), and with the libraries of requirements_cpu.txt.
set -euo pipefail

folder=$1
kind=${2:-auto}
here=$(cd "$(dirname "$0")" && pwd)
version=0.5.23
python=${PYTHON:-python3}

if [ "$kind" = auto ]; then
    if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then kind=gpu; else kind=cpu; fi
fi
made="$folder/made-by-lopt-$version-$kind"
[ -e "$made" ] && exit 0

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "SGLang $version needs Python 3.11 or newer; set PYTHON" >&2; exit 1; }
size=$([ "$kind" = gpu ] && echo 12 || echo 4)
echo "Making $folder with SGLang $version for the $kind: some minutes and about $size GB of disk, the first time only."
rm -rf "$folder"
"$python" -m venv "$folder"
pip() { "$folder/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
if [ "$kind" = gpu ]; then
    pip install "sglang==$version"
else
    echo "pip will list libraries that SGLang lacks. They are for GPUs, and left out on purpose."
    # torch first, by itself: the resolver then chooses a CPU build if there is one.
    pip install torch==2.13.0
    # Without their dependencies, which are kernels for GPUs and another torch.
    pip install --no-deps "sglang==$version" torchvision==0.28.0 timm==1.0.25
    pip install -r "$here/requirements_cpu.txt"
    "$folder/bin/python" "$here/sglang_on_cpu.py"
fi
touch "$made"
