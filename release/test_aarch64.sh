#!/usr/bin/env bash
# Runs the core's tests on an aarch64 wheel, under qemu-user. Needs Debian 12 (CPython 3.11) on another processor, and root:
#
#     make wheels PYTHONS=python3.11 PROCESSORS=aarch64
#     release/test_aarch64.sh dist/lopt_plugin-*-cp311-*aarch64*.whl [PYTEST'S ARGUMENTS]
#
# Without arguments it runs the folders of test-core, in under two hours on 2 cores. Only qemu is installed; CPython and
# what the tests import lie in build/aarch64. A test that limits memory fails: qemu-user ignores such limits.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheel=$(realpath "$1")
shift
folder=$PWD/build/aarch64
root=$folder/root site=$folder/site

if [ ! -e "$root/usr/bin/python3.11" ]; then
    apt-get install --yes --quiet qemu-user-static
    dpkg --add-architecture arm64
    apt-get update --quiet
    mkdir -p "$folder/packages" "$root"
    (cd "$folder/packages" && apt-get download python3.11:arm64 python3.11-minimal:arm64 libpython3.11-{stdlib,minimal}:arm64 \
        lib{c6,gcc-s1,stdc++6,ssl3,expat1,ffi8,lzma5,bz2-1.0,sqlite3-0,uuid1,readline8,tinfo6,ncursesw6,crypt1}:arm64 zlib1g:arm64)
    for package in "$folder"/packages/*.deb; do dpkg-deb --extract "$package" "$root"; done
fi
# Tests start other processes: the kernel must know what to do with a program of this processor.
if [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf ':qemu-aarch64:M::%s:%s:/usr/bin/qemu-aarch64-static:OCF' "$magic" "$mask" > /proc/sys/fs/binfmt_misc/register
fi
rm -rf "$site"
python3 -m pip install --quiet --target "$site" --only-binary=:all: --python-version 3.11 --implementation cp \
    --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_28_aarch64 \
    "$wheel[corpus,plot,tiktoken]" pytest pytest-xdist pytest-benchmark hypothesis jinja2 pyyaml

export QEMU_LD_PREFIX=$root PYTHONHOME=$root/usr PYTHONPATH=$site LOPT_TIER=quick
[ $# -gt 0 ] || set -- tests/{cli,encoder,native,pipeline,routes,tokenizer,unicode_tables} tests/test_{public_names,settings}.py
exec "$root/usr/bin/python3.11" -P -m pytest -p no:cacheprovider -n auto --dist loadfile -q "$@"
