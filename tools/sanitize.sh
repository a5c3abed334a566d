#!/usr/bin/env bash
# Runs the engine's model, hub, memory and race tests under AddressSanitizer (heap misuse in the unsafe
# modules). Needs a nightly toolchain; rust-src is not needed. Arguments go to every test binary.
#
# ThreadSanitizer is left out: std is not instrumented without rust-src and crossbeam-epoch
# synchronises with fences, which it does not understand, so that it reports races in sound code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export RUSTFLAGS="-Zsanitizer=address"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize"
# A target of its own keeps build scripts and macros free of the sanitizer.
host=$(rustc -vV | sed -n 's/^host: //p')
cargo +nightly test --locked --target "$host" -p telar-engine \
    --test model --test hub --test deletes --test memory --test races --test history_large -- "$@"
