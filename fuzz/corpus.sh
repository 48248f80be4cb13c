# shellcheck shell=bash
# The corpora of the fuzzers. Sourced, never run.
#
# fuzz/corpus/TARGET.tar.xz has the inputs that a fuzzer found. An input that found a bug is a file
# of its own, fuzz/corpus/TARGET/NAME, under a name that says what it was.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
corpus="$root/fuzz/corpus"

# Puts all inputs of a target into a folder.
unpack() { # TARGET FOLDER
    mkdir -p "$2"
    if [ -e "$corpus/$1.tar.xz" ]; then
        tar -xJf "$corpus/$1.tar.xz" -C "$2"
    fi
    if [ -d "$corpus/$1" ]; then
        cp "$corpus/$1"/* "$2"
    fi
}

# Makes the archive of a target from the inputs in a folder, without those that have a name. The same
# inputs give the same archive, byte by byte.
pack() { # TARGET FOLDER
    local input
    for input in "$2"/*; do
        [ -e "$corpus/$1/${input##*/}" ] || printf '%s\n' "${input##*/}"
    done | LC_ALL=C sort |
        tar -cf - -C "$2" --format=ustar --mtime=@0 --mode=644 --owner=0 --group=0 --numeric-owner \
            --no-recursion --files-from=- | xz -9e --threads=1 >"$corpus/$1.tar.xz"
}
