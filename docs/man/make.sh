#!/usr/bin/env bash
# Writes the manual pages from the help of the installed `lopt`, which is on the path. Needs help2man.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT

# The version is the page's footer; a date would make every page differ from the committed one.
version=$(lopt --version | sed -n "1s/.* //p")
page() { # NAME WHAT [COMMAND]
    printf '#!/bin/sh\nexec lopt %s "$@"\n' "${3-}" > "$scripts/$1"
    chmod +x "$scripts/$1"
    TYPER_USE_RICH=0 help2man --no-info --name "$2" --version-string "$version" "$scripts/$1" |
        sed -E 's/^(\.TH [^ ]+ "1") "[^"]*"/\1 ""/' > "$folder/$1.1"
}

page lopt "exact, fast tokenization"
page lopt-check "are the ids exact for a tokenizer, and which route produces them?" check
page lopt-bench "how fast is a tokenizer here, beside others?" bench
page lopt-encode "a corpus to shards of token ids" encode
page lopt-compile "a tokenizer as a file for the C interface" compile
page lopt-demo "a real engine's server with lopt, compared with Hugging Face" demo
