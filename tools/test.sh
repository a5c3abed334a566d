#!/usr/bin/env bash
# The gate: every check of the project, in order of cost. Stops at the first step that fails and
# names it; ends with the number of tests passed and failed. Never edits the tree.
#
# All steps share one target directory, one package set and one profile, so that nothing is built
# twice; only packages and feature builds at the end compile the engine again.
set -euo pipefail
trap 'trap - TERM; kill 0' INT TERM
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Runs with features that must stay out of the ordinary build. One line each: arguments of
# `cargo test`. A feature that does not exist is an error, not a skip. Failpoints are in whatever is
# built of the whole workspace (tests/Cargo.toml).
FEATURE_TESTS=(
    "-p telar-engine --features shuttle --lib"
)

export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
log=$target/test-gate.log
: >"$log"
# What tests do without (docs/test-data.md): the output of tests that pass is not shown.
export TELAR_SKIPPED=$target/test-skipped
: >"$TELAR_SKIPPED"
started=$SECONDS

# Adds up the `test result:` lines of all steps so far.
summary() {
    awk '/^test result:/ { passed += $4; failed += $6 }
         END { printf "%d passed, %d failed", passed, failed }' "$log"
    printf ', %d skipped' "$(sort -u "$TELAR_SKIPPED" | wc -l)"
}

# step NAME COMMAND...: runs the command, shows its output, and stops the gate if it fails.
step() {
    local name=$1 begin=$SECONDS status=0
    shift
    printf '==> %s: %s\n' "$name" "$*"
    "$@" 2>&1 | tee -a "$log" || status=$?
    if ((status != 0)); then
        printf '\nFAILED: %s (exit %d after %d s)\n%s\n' \
            "$name" "$status" $((SECONDS - begin)) "$(summary)"
        exit 1
    fi
    printf '<== %s: ok, %d s\n\n' "$name" $((SECONDS - begin))
}

# What failed, once more where the output ends: what each test program says of it, as far as that is short.
failures() {
    awk '/^---- .* stdout ----$/ || /^✖ failing tests:/ || /^FAILED: / || /^E  / { left = 24 }
         left-- > 0' "$log" | cut -c 1-300 | head -n 120
}

# Lanes have no such end of their own.
finish() {
    local status=$?
    if ((status != 0)); then printf 'the gate failed:\n%s\n%s\n' "$(failures)" "$(summary)"; fi
}
trap finish EXIT

# install PACKAGE...: system packages, where this system has apt and we may use it.
install() {
    local sudo=()
    if ((EUID != 0)); then sudo=(sudo -n); fi
    if ! command -v apt-get >/dev/null; then
        printf 'missing: %s; install it with the package manager of this system\n' "$*"
        return 1
    fi
    "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -y -qq "$@"
}

# Rust with its components, a C compiler (LMDB and zstd are C), Git (the repository's own rules read
# the list of its files), strace (power failures are made of what it records) and Node.js (the page).
#
# `step` tests the status of what it calls, which turns `set -e` off inside: say `|| return 1`.
tools() {
    if ! command -v cargo >/dev/null; then
        printf 'missing: cargo; install Rust with rustup\n'
        return 1
    fi
    if ! cargo fmt --version >/dev/null 2>&1; then rustup component add rustfmt || return 1; fi
    if ! cargo clippy --version >/dev/null 2>&1; then rustup component add clippy || return 1; fi
    if ! command -v cc >/dev/null; then install gcc libc6-dev || return 1; fi
    if ! command -v git >/dev/null; then install git || return 1; fi
    if ! command -v strace >/dev/null; then install strace || return 1; fi
    if ! command -v npm >/dev/null; then install nodejs npm || return 1; fi
    cargo --version && cargo clippy --version && cc --version | head -n 1
}

docs() {
    RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --locked
}

# Programs beside each other; examples in documentation are compiled and run meanwhile.
tests() {
    local host status=0
    host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    # What stores of the cluster answered to many at once, for a checker.
    export TELAR_BESIDE=$target/beside TELAR_HISTORIES=$target/histories
    rm -rf "$TELAR_BESIDE" "$TELAR_HISTORIES" && mkdir -p "$TELAR_BESIDE" || return 1
    env "CARGO_TARGET_${host}_RUNNER=$PWD/tools/beside.sh" \
        cargo test --workspace --locked --no-fail-fast --lib --bins --tests --examples || status=1
    cargo test --workspace --locked --no-fail-fast --doc || status=1
    tools/beside.sh --wait || status=1
    # What the next steps run, out of the way of builds with other features.
    mkdir -p "$target/gate" && cp "$target/debug/"{telar,check-history} "$target/gate/" || return 1
    return "$status"
}

# What talks to the binary, and waits for it much of the time.
outside() {
    local telar=$target/gate/telar
    step openapi tools/openapi.sh "$telar"
    step histories tools/porcupine.sh "$target/histories"
    # Neo4j's drivers and the TCK over Bolt.
    step drivers tools/drivers.sh "$telar"
    # The page in a browser.
    step 'page tests' tools/page.sh --test "$telar"
}

# What is compiled once more, and enough besides that it takes as long as the lane above.
packages() {
    # Without failpoints, as it is shipped.
    step 'clippy of what is shipped' cargo clippy --locked -p telar-engine -p telar-db -- -D warnings
    # The wheel in an environment of its own, and the tarball in a folder of its own; of what is compiled.
    step python env "TELAR=$target/gate/telar" tools/python.sh
    step node env "TELAR=$target/gate/telar" tools/node.sh
    local arguments words
    for arguments in "${FEATURE_TESTS[@]}"; do
        # Arguments of cargo hold no blanks, so splitting at blanks is what is meant.
        read -r -a words <<<"$arguments"
        step "tests ($arguments)" cargo test --locked --no-fail-fast "${words[@]}"
    done
    # Frameworks for agents, offline once they are installed (1 GB; with the heavy ones 2.4 GB).
    local frameworks=(graphiti langchain mcp lightrag graphrag mem0 telar_mcp)
    if [[ -n ${TELAR_LONG:-} ]]; then frameworks=(); fi
    step frameworks tools/frameworks.sh "$target/gate/telar" "${frameworks[@]}"
    if [[ -n ${TELAR_LONG:-} ]]; then step 'frameworks, compared' tools/frameworks.sh --compare "$target/gate/telar"; fi
}

step tools tools
step format cargo fmt --all --check
step fetch cargo fetch --locked
# Before anything is compiled, as the server embeds it.
step page tools/page.sh
step clippy cargo clippy --workspace --all-targets --locked -- -D warnings
step docs docs
step tests tests

# Beside each other; the output of the second is shown when it has ended.
packages >"$target/packages.log" 2>&1 &
packages=$!
status=0
(outside) || status=1
wait "$packages" || status=1
cat "$target/packages.log"
if ((status != 0)); then exit 1; fi

if [[ -s $TELAR_SKIPPED ]]; then
    printf 'not tested, for want of (docs/test-data.md; TELAR_REQUIRE_DATA=1 makes it an error):\n'
    sort -u "$TELAR_SKIPPED" | sed 's/^/    /'
fi
printf 'all steps ok in %d s\n%s\n' $((SECONDS - started)) "$(summary)"
