# shellcheck shell=bash
# What every script here shares: the place of the repository, and how a script talks.
# Sourced, never run.

# RUSTUP's shims first: a shell that was open when rustup was installed does not have them yet.
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH:/usr/sbin:/sbin"

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export root

# A step that is about to be done.
say() {
    printf '==> %s\n' "$*"
}

# The end of the script, with what would be right.
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Where things are kept that are expensive to fetch and are not part of the repository.
cache_dir() {
    printf '%s/isthmus\n' "${XDG_CACHE_HOME:-$HOME/.cache}"
}

# Where cargo puts what it builds.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$root/target}"
}

# What a program without shared libraries is built for, on this processor or another.
static_target() { # PROCESSOR
    printf '%s-unknown-linux-musl\n' "$1"
}
