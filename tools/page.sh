#!/usr/bin/env bash
# The page that the server serves at /: built for the binary to embed, and tested.
#
#   tools/page.sh                 builds page/dist, which `cargo build` then embeds
#   tools/page.sh --test TELAR    types, units, and a headless browser against TELAR, a binary with the page
#   tools/page.sh --shots TELAR   the pictures of docs/page.md, made anew
#   tools/page.sh --speed TELAR   what issue 20 asks to be measured
#
# Needs Node.js 20 with npm; packages are installed below page/, from the lock file. The tests want
# Chromium, and Firefox besides: CHROMIUM and FIREFOX name them, or else they are installed where this
# system has apt. Without Firefox, what is tested in it is skipped.
set -euo pipefail
mode=${1:-}
telar=
if [[ -n $mode ]]; then telar=$(realpath "${2:?the path of the telar binary}"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/../page"

packages() {
    # The copy of the lock file says what is installed.
    if ! cmp -s package-lock.json node_modules/.installed; then
        npm ci --no-audit --no-fund --loglevel=error
        cp package-lock.json node_modules/.installed
    fi
}

install() {
    local sudo=()
    if ((EUID != 0)); then sudo=(sudo -n); fi
    "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -y -qq --no-install-recommends "$@"
}

browser() {
    export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
    if [[ ! -x $CHROMIUM ]]; then install chromium fonts-dejavu-core; fi
}

# The second browser; the tests say so if it is not there.
firefox() {
    export FIREFOX=${FIREFOX:-/usr/bin/firefox-esr}
    if [[ ! -x $FIREFOX ]]; then install firefox-esr || true; fi
}

packages
case $mode in
'')
    node build.mjs
    ;;
--test)
    npx --no-install tsc --noEmit
    browser >/dev/null
    firefox >/dev/null 2>&1
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    failed=0
    # One file at a time: two browsers on two cores wait for each other.
    TELAR=$telar node --test --test-concurrency=1 --test-reporter=spec \
        tests/unit/*.test.mjs tests/graph/*.test.mjs tests/browser/*.test.mjs 2>&1 | tee "$log" || failed=1
    awk '$2 == "pass" { passed = $3 } $2 == "fail" { failed = $3 }
         END { printf "test result: page. %d passed; %d failed\n", passed, failed }' "$log"
    node tests/graph/harness/check.mjs || failed=1
    exit "$failed"
    ;;
--shots)
    browser >/dev/null
    TELAR=$telar SHOTS=../docs/pictures node tests/shots.mjs
    ;;
--speed)
    browser >/dev/null
    TELAR=$telar node tests/speed.mjs
    node tests/graph/harness/whole.mjs
    ;;
*)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "../tools/page.sh"
    exit 2
    ;;
esac
