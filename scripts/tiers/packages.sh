# shellcheck shell=bash
# Shared by the long parts that build Debian packages. Sourced by each, after `set -euo pipefail`.

# shellcheck source=scripts/tiers/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages="$(target_dir)/packages"

# Builds these packages: larger than a release, and several times sooner.
build_packages() { # PACKAGE...
    check "packages are built: $*" scripts/packages quick "$@"
}

at_most_6_mb() {
    local size
    for size in $(stat -c %s "$packages"/isthmus_*.deb); do
        printf 'a package of the gateway: %s octets\n' "$size"
        [ "$size" -le 6000000 ] || return
    done
}

# A bill of materials has what cargo links into the program, and no more; it is in the package and beside it.
has_its_bill() { # PACKAGE ARCHITECTURE TARGET
    local bill inside
    bill="$(echo "$packages/$1"-[0-9]*-"$3.cdx.json")"
    inside="./usr/share/doc/$1/$1.cdx.json"
    dpkg-deb --fsys-tarfile "$packages/$1"_*_"$2.deb" | tar -xO "$inside" | cmp - "$bill" &&
        diff <(scripts/crates "$1" "$3") \
            <(jq -r '.metadata.component, .components[] | "\(.name) \(.version)"' "$bill" | sort -u) &&
        jq -e '[.components[] | select(.purl | startswith("pkg:cargo/") | not)] == []' "$bill"
}
