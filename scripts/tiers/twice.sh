# shellcheck shell=bash
# Shared by the long parts that build a package twice. Sourced by each, after `set -euo pipefail`.

# shellcheck source=scripts/tiers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Somebody may commit meanwhile, and files have the time of their commit.
commit="$(git -C "$root" rev-parse HEAD)"
folders="$(mktemp -d)"
trap 'rm -rf "$folders"' EXIT

build_in() { # PACKAGE FOLDER ZONE UMASK
    local clone="$folders/$2"
    git clone --quiet --no-hardlinks "$root" "$clone" &&
        git -C "$clone" checkout --quiet "$commit" &&
        (umask "$4" && TZ="$3" CARGO_TARGET_DIR="$clone/target" "$clone/scripts/packages" quick "$1") &&
        mv "$clone/target/packages" "$folders/${2//\//-}-packages" &&
        rm -rf "$clone"
}

same() {
    diff --report-identical-files --recursive --brief "$folders/one-packages" "$folders/other-much-longer-path-packages"
}

# Two people build a package of one commit, in other folders, with other umasks and in other time zones, and get the same
# files.
build_twice() { # PACKAGE
    check "somebody builds $1" build_in "$1" one Pacific/Kiritimati 0022
    check "somebody else builds it" build_in "$1" other/much/longer/path America/Anchorage 0077
    check "they have the same files" same
}
