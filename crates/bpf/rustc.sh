#!/usr/bin/env bash
# Runs rustc for build.sh. Cargo tells rustc a hash of where a crate's folder lies, and rustc puts
# it into every symbol, which also decides the order of functions. Here a crate is told by its name
# and version instead, so that the object is the same wherever the repository lies.
# Usage: rustc.sh RUSTC [ARGUMENT...], as RUSTC_WRAPPER
set -euo pipefail
rustc="$1"
shift
arguments=()
for argument in "$@"; do
    case "$argument" in
    metadata=*) argument="metadata=${CARGO_PKG_NAME:-}-${CARGO_PKG_VERSION:-}" ;;
    esac
    arguments+=("$argument")
done
exec "$rustc" "${arguments[@]}"
