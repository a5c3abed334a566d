#!/usr/bin/env bash
# Builds the Node.js package and tests it as a user gets it: the packed tarball, installed into a
# folder of its own.
#
#   tools/node.sh [TEST FILE]...        names of files in crates/node/tests: values.test.mjs
#   tools/node.sh --package
#
# Tests are of a debug build; with --package it is a release build, and nothing is tested. With TELAR set, the package is
# of the libraries that the tests of the workspace run, as in tools/python.sh. The tarball
# goes to target/node/packages. Ends with the sum in the form of `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
if [[ $target != /* ]]; then target=$root/$target; fi

# What is installed, pinned: a release of one of them never turns the gate red by itself.
PACKAGES=("apache-arrow@21.2.0" "fast-check@4.10.2" "typescript@7.0.2" "@types/node@20.19.43")

if ! command -v npm >/dev/null || ! node -e 'process.exit(parseInt(process.version.slice(1)) < 20 ? 1 : 0)'; then
    printf 'skipped: the Node.js package: there is no Node.js 20 or later with npm\n'
    exit 0
fi

profile=debug
arguments=()
if [[ ${1:-} == --package ]]; then
    profile=release
    arguments=(--release)
fi

mkdir -p "$target/node"
clean=$target/node/clean
if [[ $profile == debug && (! -e $clean.done || $(<"$clean.done") != "${PACKAGES[*]}") ]]; then
    printf 'Installing what the Node.js package is tested beside\n'
    rm -rf "$clean"
    mkdir -p "$clean"
    printf '{"private": true}\n' >"$clean/package.json"
    if ! npm install --silent --no-audit --no-fund --save-exact --prefix "$clean" "${PACKAGES[@]}" \
        >"$target/node/npm.log" 2>&1; then
        if grep -Eiq 'ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED' "$target/node/npm.log"; then
            printf 'skipped: the Node.js package: its tests are not installed and there is no network\n'
            exit 0
        fi
        cat "$target/node/npm.log"
        exit 1
    fi
    printf '%s' "${PACKAGES[*]}" >"$clean.done"
fi

selected=(-p telar-node)
# What is compiled for tests can be told to fail: a release is compiled for itself.
if [[ $profile == debug && -n ${TELAR:-} ]]; then selected=(--workspace --lib); fi
if ! cargo build --quiet --locked "${selected[@]}" "${arguments[@]}" >"$target/node/build.log" 2>&1; then
    cat "$target/node/build.log"
    exit 1
fi

# The package as it is published: with the version of the workspace, and the binary.
stage=$target/node/stage
packages=$target/node/$([[ $profile == release ]] && printf packages || printf debug)
rm -rf "$stage" "$packages"
mkdir -p "$packages"
cp -R crates/node/npm "$stage"
rm -f "$stage"/*.node
cp LICENSE "$stage"
platform=$(node -p '`${process.platform}-${process.arch}`')
library=libtelar_node.so
case $platform in
darwin-*) library=libtelar_node.dylib ;;
win32-*) library=telar_node.dll ;;
esac
cp "$target/$profile/$library" "$stage/telar-$platform.node"
if [[ $platform == linux-* ]] && command -v strip >/dev/null; then
    strip --strip-debug "$stage/telar-$platform.node"
fi
version=$(cargo pkgid --locked -p telar-node | sed 's/.*[#@]//')
sed -i.bak "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" "$stage/package.json"
rm "$stage/package.json.bak"
npm pack --silent --pack-destination "$packages" "$stage" >"$target/node/pack.log"
if [[ $profile == release ]]; then
    ls -l "$packages"
    exit 0
fi

rm -rf "$clean/node_modules/telar" "$clean/tests"
npm install --silent --offline --no-audit --no-fund --no-save --no-package-lock --prefix "$clean" \
    "$packages"/telar-*.tgz
cp -R crates/node/tests "$clean/tests"

# In the clean folder, so that what is imported is the package.
cd "$clean"
files=("$@")
if ((${#files[@]} == 0)); then files=($(cd tests && printf '%s\n' *.test.mjs)); fi
status=0
TELAR_ROOT=$root timeout 900 node --expose-gc --test --test-timeout 240000 --test-concurrency 1 \
    --test-reporter spec --test-reporter-destination stdout \
    --test-reporter tap --test-reporter-destination results.tap "${files[@]/#/tests/}" || status=$?
awk '/^# pass / { passed = $3 } /^# (fail|cancelled) / { failed += $3 }
     /^# (skipped|todo) / { ignored += $3 }
     END { printf "test result: node. %d passed; %d failed; %d ignored\n", passed, failed, ignored }' \
    results.tap
exit "$status"
