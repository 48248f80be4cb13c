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
    object=crates/bpf/isthmus.bpf.o
    [ -z "$foreign" ] || object=crates/bpf/isthmus-weakly-ordered.bpf.o
    for object in "$object" crates/lab/bpf/*.bpf.o; do
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
