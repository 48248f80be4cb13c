# shellcheck shell=bash
# What the tier `guest` and the long parts that need its machine share. Sourced by each, after
# `set -euo pipefail`.

# shellcheck source=scripts/tiers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What the guest has printed.
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
# More arguments for tests/guest/run.
options=()
# Cargo's name of what the guest runs, if its processor is another than that of this machine.
foreign=

# Ends a tier on a machine that cannot have a guest.
need_guest() {
    local tool
    for tool in qemu-system-x86_64 cpio depmod bpftool; do
        if ! have "$tool"; then
            record skipped 1 "no virtual machine: $tool is not installed (scripts/setup test)"
            exit 0
        fi
    done
    if ! tests/guest/kernel >/dev/null; then
        record skipped 1 "no virtual machine: Debian's kernel package cannot be fetched"
        exit 0
    fi
}

# The executable of an integration test of the program, or of another crate; nothing if it cannot be built.
test_executable() { # NAME [CRATE]
    local of=(--workspace)
    [ -z "$foreign" ] || of=(--package isthmus --target "$foreign")
    cargo test --locked "${of[@]}" --test "$1" --no-run --message-format=json |
        sed -n "s/.*crates\/${2:-isthmus}\/.*\"name\":\"$1\".*\"executable\":\"\([^\"]*\)\".*/\1/p" | tail -n 1
}

# Boots the guest once, runs these lines of a shell there one after another, and records what libtest
# counted in them. The tests `vectors` and `namespaces` are in its path.
guest_tests() { # LINE...
    local vectors namespaces program built line script="failed=0; " status=0
    local files=() object
    vectors="$(test_executable vectors)"
    namespaces="$(test_executable namespaces)"
    # The tests look for the programs and the vectors where they are here. Cargo has built all programs that
    # the tests of this name may start.
    program="$(target_dir)/${foreign:+$foreign/}debug/isthmus"
    for built in "$vectors" "$namespaces" "$program"; do
        if [ ! -x "$built" ]; then
            record failed 1 "the tests for 6.1 are not built"
            exit 0
        fi
    done
    for built in "$program" "$program-lab"; do
        [ ! -x "$built" ] || files+=(--program "$built:$built")
    done
    # The path of the vectors goes through the folder of the crate.
    local manifest="$root/crates/isthmus/Cargo.toml"
    for object in crates/lab/bpf/*.bpf.o; do
        files+=(--file "$object")
    done
    for line in "$@"; do
        script+="echo '--- $line'; $line || failed=1; "
    done
    tests/guest/run --cpus 2 --memory 2G --timeout 3600 --file tests/guest/load "${files[@]}" \
        --program "$vectors:/usr/local/bin/vectors" --program "$namespaces:/usr/local/bin/namespaces" \
        --file "$root/vectors:$root/vectors" --file "$manifest:$manifest" \
        "${options[@]}" -- sh -c "$script exit \$failed" | tee "$output" || status=$?
    count_tests "$status" "$output"
}

# Has the guest boot the kernel of the counts in bench/exact.json as long as Debian has it, unless somebody names another: a
# newer one may take more or fewer instructions for a packet, which no change of ours explains.
use_noted_kernel() {
    local noted
    noted="$(sed -n 's/^ *"kernel": "\(.*\)",$/\1/p' bench/exact.json)"
    if [ -z "${ISTHMUS_GUEST_KERNEL:-}" ] && ISTHMUS_GUEST_KERNEL="$noted" tests/guest/kernel >/dev/null; then
        export ISTHMUS_GUEST_KERNEL="$noted"
    fi
}

# Counts the instructions of packets, and records a test for each row of bench/exact.json.
exact_tests() { # ARGUMENT OF `isthmus lab exact`...
    local program counted status=0
    # Cargo builds the programs for the tests, and with the features that these ask for.
    test_executable namespaces >/dev/null
    program="$(target_dir)/debug/isthmus"
    counted="$(target_dir)/exact"
    # The count does not depend on how busy this machine is, so others go first.
    nice -n 19 tests/guest/run --exact --memory 4G --timeout 3000 --program "$program" --program "$program-lab" \
        --file bench/exact.json --fetch "/root/counted:$counted" -- \
        sh -c 'mkdir counted && isthmus-lab exact --against /guest/exact.json --output counted/exact.json "$@"' sh "$@" |
        tee "$output" || status=$?
    awk -v status="$status" -v counted="$counted/exact.json" '
        $3 == "ok:" { passed++ }
        $3 == "differs:" || $3 == "not" {
            print "failed 1", $0 "; explain it in the commit that changes the row of bench/exact.json to that of", counted
            failed++
        }
        $2 == "no" && $3 == "count:" { print "failed 1", $0; failed++ }
        END {
            if (passed > 0) print "passed", passed, "rows"
            if (passed + failed == 0 || (status != 0 && status != 2)) print "failed 1 the count ended with status", status
        }' "$output" >>"$RESULTS"
}
