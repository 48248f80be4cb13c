# shellcheck shell=bash
# What the tiers share. Sourced by each, after `set -euo pipefail`.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$root" || exit

# A file to which `record` appends; scripts/test sets it.
: "${RESULTS:=/dev/stderr}"

# record passed|failed|skipped NUMBER [WHAT AND WHY]
record() {
    [ "$2" -eq 0 ] || printf '%s\n' "$*" >>"$RESULTS"
}

# Ends a tier that needs root and does not have it.
need_root() { # TESTS
    if [ "$EUID" -ne 0 ]; then
        record skipped 1 "$1: need root"
        exit 0
    fi
}

# Runs a command that is one test: it passes if the status is 0.
check() { # NAME COMMAND...
    local name="$1"
    shift
    printf -- '--- %s: %s\n' "$name" "$*"
    if "$@"; then
        record passed 1 "$name"
    else
        record failed 1 "$name"
    fi
}

# Names of the integration tests of all crates that need no rights, one a line. Those that have a
# tier of their own are called `vectors` and, where they make network namespaces, `namespaces`.
unprivileged_tests() {
    local file
    for file in crates/*/tests/*.rs crates/*/tests/*/main.rs; do
        [ ! -e "$file" ] || basename "${file%/main.rs}" .rs
    done | grep -vx 'vectors\|namespaces' | sort -u
}

# Runs `cargo test` on the workspace with these arguments and records what libtest counted. A test
# that cannot run prints a line `skipped: REASON` and returns; it counts as skipped, not as passed. So
# does a vector that is known to fail.
#
# Always the whole workspace: a package by itself asks for other features of what it depends on, and
# most of the tree would be built again for it.
cargo_tests() { # CARGO-ARGUMENTS -- TEST-ARGUMENTS
    local output status=0
    output="$(mktemp)"
    printf -- '--- cargo test --workspace %s\n' "$*"
    # The reasons are in the output of tests that pass.
    cargo test --locked --workspace --no-fail-fast "$@" --show-output 2>&1 | tee "$output" || status=$?
    count_tests "$status" "$output"
    rm -f "$output"
}

# Records what libtest counted, from its status and its output.
count_tests() { # STATUS FILE
    awk -v status="$1" -f scripts/tiers/count.awk vectors/known-failing.txt "$2" >>"$RESULTS"
}
