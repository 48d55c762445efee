#!/usr/bin/env bash
# Writes the manual pages from the help of the `lopt` on the PATH. Needs help2man.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT

# The version is the page's footer. A date would make every page differ from the committed one.
version=$(lopt --version | sed -n "1s/.* //p")
page() { # NAME WHAT [COMMAND]
    printf '#!/bin/sh\nexec lopt %s "$@"\n' "${3-}" > "$scripts/$1"
    chmod +x "$scripts/$1"
    TYPER_USE_RICH=0 help2man --no-info --name "$2" --version-string "$version" "$scripts/$1" |
        sed -E 's/^(\.TH [^ ]+ "1") "[^"]*"/\1 ""/' > "$folder/$1.1"
}

page lopt "fast, exact tokenization"
page lopt-check "show a tokenizer's route and compare its ids with Hugging Face's" check
page lopt-bench "measure a tokenizer's speed" bench
page lopt-encode "encode a corpus into shards of token ids" encode
page lopt-compile "write a tokenizer to a file for the C interface" compile
page lopt-demo "run a real engine's server with lopt and compare it with Hugging Face" demo
