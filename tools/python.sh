#!/usr/bin/env bash
# Builds the Python package and tests it as a user gets it: the wheel, in an environment of its own.
#
#   tools/python.sh [PYTEST ARGUMENT]...
#   tools/python.sh --wheel
#
# With TELAR, the path of a telar binary, that server is not built, and the package is of the libraries that the tests of
# the workspace run: they are compiled (tools/whole/cargo).
# Tests are of a debug build; with --wheel it is a release build, and nothing is tested. Python is $PYTHON, or python3.11, or python3. The
# wheel goes to target/python/wheels. Ends with the sum in the form of `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}

# What is installed, pinned: a release of one of them never turns the gate red by itself.
PACKAGES=("maturin==1.16.0" "pytest==9.2.0" "pytest-timeout==2.4.0" "hypothesis==6.170.17" "numpy==2.4.6"
    "pandas==3.1.1" "polars==2.1.0" "pyarrow==26.0.1" "neo4j==6.4.1" "networkx==3.6.1" "igraph==1.0.0" "mypy==2.4.1"
    "tzdata==2026.6" "nbclient==0.11.0" "nbformat==5.11.1" "ipykernel==7.4.0")

profile=dev
if [[ ${1:-} == --wheel ]]; then profile=release; fi
python=${PYTHON:-$(command -v python3.11 || command -v python3)}

mkdir -p "$target/python"
environment=$target/python/venv
if [[ ! -e $environment.done || $(<"$environment.done") != "${PACKAGES[*]}" ]]; then
    printf 'Installing what the Python package is tested beside\n'
    rm -rf "$environment"
    "$python" -m venv "$environment"
    if ! "$environment/bin/pip" install --quiet --disable-pip-version-check "${PACKAGES[@]}" \
        >"$target/python/pip.log" 2>&1; then
        if grep -Eiq 'name resolution|network is unreachable|Connection refused' "$target/python/pip.log"; then
            printf 'skipped: the Python package: its tests are not installed and there is no network\n'
            exit 0
        fi
        cat "$target/python/pip.log"
        exit 1
    fi
    printf '%s' "${PACKAGES[*]}" >"$environment.done"
fi

wheels=$target/python/wheels
if [[ $profile == dev ]]; then wheels=$target/python/debug; fi
rm -rf "$wheels"
path=$PATH
# What is compiled for tests can be told to fail: a release is compiled for itself.
if [[ $profile == dev && -n ${TELAR:-} ]]; then path=$root/tools/whole:$PATH; fi
if ! (cd crates/python && PATH=$path VIRTUAL_ENV=$environment CARGO_TARGET_DIR=$target "$environment/bin/maturin" build --quiet \
    --locked --profile "$profile" --out "$wheels") >"$target/python/build.log" 2>&1; then
    cat "$target/python/build.log"
    exit 1
fi
if [[ $profile == release ]]; then
    ls -l "$wheels"
    exit 0
fi
"$environment/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps \
    "$wheels"/telar-*.whl

# The server that Neo4j's driver talks to, beside the adapter that has its surface.
if [[ -z ${TELAR:-} ]]; then
    cargo build --quiet --locked -p telar-server --bin telar
    export TELAR=$target/debug/telar
fi

# Away from the sources, so that what is imported is the wheel.
cd "$target/python"
results=$target/python/results.xml
status=0
"$environment/bin/python" -m pytest -q --junitxml="$results" --rootdir "$root/crates/python" \
    -c "$root/crates/python/pyproject.toml" -p no:cacheprovider "$root/crates/python/tests" "$@" || status=$?
"$environment/bin/python" - "$results" <<'SUM'
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
count = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
failed = count["failures"] + count["errors"]
passed = count["tests"] - failed - count["skipped"]
print(f"test result: python. {passed} passed; {failed} failed; {count['skipped']} ignored")
SUM
exit "$status"
