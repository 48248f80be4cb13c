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

# Runs `cargo test` with these arguments and records what libtest counted. A test that can not run
# prints a line `skipped: REASON` and returns; it counts as skipped, not as passed.
cargo_tests() { # CARGO-ARGUMENTS -- TEST-ARGUMENTS
    local output status=0
    output="$(mktemp)"
    printf -- '--- cargo test %s\n' "$*"
    # The reasons are in the output of tests that pass.
    cargo test --locked --no-fail-fast "$@" --show-output >"$output" 2>&1 || status=$?
    cat "$output"
    awk '
        /^test result: / { passed += $4; failed += $6 }
        /^test .* \.\.\. FAILED$/ { failures[++n] = $2 }
        # Each test has a heading of this form over its output, and counts once.
        /^---- .* stdout ----$/ { test = $2 }
        /^skipped: / && test != "" { reasons[substr($0, 10)]++; skipped++; test = "" }
        END {
            if (passed - skipped > 0) print "passed", passed - skipped
            for (reason in reasons) print "skipped", reasons[reason], reason
            for (i = 1; i <= n; i++) print "failed 1", failures[i]
            if (failed > n) print "failed", failed - n, "see the log"
            if (status != 0 && failed == 0) print "failed 1 cargo test ended with status", status
        }' status="$status" "$output" >>"$RESULTS"
    rm -f "$output"
}
