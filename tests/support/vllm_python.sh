#!/usr/bin/env bash
# Makes an environment for a vLLM release that has no CPU build, once:  vllm_python.sh RELEASE FOLDER
# It has the Python files of that release over the libraries of .venv-vllm. An engine does not start there.
set -euo pipefail

release=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
below=$(cd "$root"/.venv-vllm/lib/python3*/site-packages && pwd)
made="$folder/made-by-lopt-$release"
[ -e "$made" ] && exit 0

echo "Making $folder with the Python files of vLLM $release: a download of about 350 MB, the first time only."
rm -rf "$folder"
"${PYTHON:-python3}" -m venv "$folder"
pip() { "$folder/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
packages=$(echo "$folder"/lib/python3*/site-packages)
pip download "vllm==$release" --no-deps --dest "$folder/download"
"$folder/bin/python" - "$folder"/download/vllm-*.whl "$packages" <<'PYTHON'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.startswith("vllm/") and not name.endswith((".so", ".h", ".hpp", ".cu", ".cuh", "/vllm-rs")):
            wheel.extract(name, sys.argv[2])
PYTHON
rm -rf "$folder/download"
# Not in the requirements of earlier releases.
pip install orjson
# "cpu" in the version selects the platform; ".python" says that there is no engine.
information="$packages/vllm-$release+cpu.python.dist-info"
mkdir "$information"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu.python\n' "$release" >"$information/METADATA"
echo "$below" >"$packages/below.pth"
touch "$made"
