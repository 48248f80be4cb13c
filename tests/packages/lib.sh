# shellcheck shell=bash
# How a fresh Debian 12 is made and booted. Sourced, after `set -euo pipefail`.
#
# The machine has its own network, whose other ends are namespaces inside it. The files of Debian come from its archive
# once and are kept in ~/.cache/isthmus.

tests="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=scripts/lib.sh
. "$tests/../../scripts/lib.sh"

# Prints the name of an archive with a Debian that has these packages too.
debian() { # NAME [PACKAGE]...
    local image more
    image="$(cache_dir)/$1.tar"
    shift
    more="$(printf ',%s' "$@")"
    if [ ! -e "$image" ]; then
        mkdir -p "${image%/*}"
        mmdebstrap --quiet --variant=minbase \
            --include="systemd,systemd-sysv,dbus,iproute2,iputils-ping,procps,socat,ethtool${more%,}" \
            bookworm "${image%.tar}-new.tar" >&2
        mv "${image%.tar}-new.tar" "$image"
    fi
    printf '%s\n' "$image"
}

# Boots it with a folder of packages in /packages, and has a script there use them as root. Prints what that says.
boot() { # IMAGE PACKAGES SCRIPT
    local machine status=0
    machine="$(mktemp -d "${TMPDIR:-/var/tmp}/isthmus-debian.XXXXXX")"
    # shellcheck disable=SC2064 # It is this machine that is removed.
    trap "rm -rf --one-file-system '$machine'" EXIT
    tar --extract --file "$1" --directory "$machine" --numeric-owner
    mkdir "$machine/packages"
    cp "$2"/*_"$(dpkg --print-architecture)".deb "$machine/packages"
    install -m 755 "$3" "$machine/packages/inside"
    cat >"$machine/etc/systemd/system/inside.service" <<'UNIT'
[Unit]
After=multi-user.target
SuccessAction=exit
FailureAction=exit

[Service]
Type=oneshot
ExecStart=/packages/inside
StandardOutput=file:/packages/log
StandardError=inherit
TimeoutStartSec=300

[Install]
WantedBy=default.target
UNIT
    mkdir -p "$machine/etc/systemd/system/default.target.wants"
    ln -s ../inside.service "$machine/etc/systemd/system/default.target.wants/"
    timeout 400 systemd-nspawn --quiet --directory "$machine" --register=no --keep-unit --private-network \
        --capability=all --system-call-filter='bpf perf_event_open' --boot \
        >"$machine/packages/console" 2>&1 </dev/null || status=$?
    cat "$machine/packages/log"
    grep -qx '==> all is well' "$machine/packages/log" || {
        tail -n 20 "$machine/packages/console" >&2
        die "the machine ended with status $status"
    }
}
