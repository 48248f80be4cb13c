#!/usr/bin/env bash
# Builds the BPF programs into isthmus.bpf.o, the same for processors that do not order plain accesses to memory into
# isthmus-weakly-ordered.bpf.o (see crates/atomic), and those that look at them into trace.bpf.o. All are
# committed: a plain `cargo build` of the workspace then needs neither LLVM nor bpf-linker. Needs bpf-linker 0.13
# with LLVM 22, and the toolchain of rust-toolchain.toml with rust-src (stable, hence RUSTC_BOOTSTRAP for -Zbuild-std).
# Usage: build.sh [OBJECT...]    default: all three
set -euo pipefail
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-target}
export RUSTC_BOOTSTRAP=1
# Neither must the place of the sources, which cargo hashes into names.
RUSTC_WRAPPER="$PWD/rustc.sh"
export RUSTC_WRAPPER
# Paths of this machine must not get into the object: it has to be the same everywhere.
flags="-g -Clinker=bpf-linker -Clink-arg=--btf -Ctarget-cpu=v3 --check-cfg=cfg(weakly_ordered) \
 --remap-path-prefix=$(realpath ../..)=isthmus \
 --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo \
 --remap-path-prefix=$(rustc --print sysroot)=rust"
strip="$(command -v llvm-strip-22 || echo /usr/lib/llvm-22/bin/llvm-strip)"
[ $# -gt 0 ] || set -- trace.bpf.o isthmus.bpf.o isthmus-weakly-ordered.bpf.o
build() { # PROGRAM OBJECT [FLAG...]
    # Before: whoever writes meanwhile may or may not be in the object.
    local sources
    sources="$(../../scripts/bpf-sources .)"
    RUSTFLAGS="$flags ${*:3}" \
        cargo build --release --bin "$1" --target bpfel-unknown-none -Zbuild-std=core
    cp "$target/bpfel-unknown-none/release/$1" "$2"
    # Loaders place what the types and lines of a program refer to by their offsets: the relocations of both are a
    # third of it.
    "$strip" --strip-debug --remove-section=.rel.BTF --remove-section=.rel.BTF.ext "$2"
    printf '%s\n' "$sources" >"$2.sources"
}
for object; do
    case "$object" in
    trace.bpf.o) build isthmus-trace "$object" ;;
    isthmus.bpf.o) build isthmus-bpf "$object" ;;
    isthmus-weakly-ordered.bpf.o) build isthmus-bpf "$object" --cfg=weakly_ordered ;;
    *) echo "error: there is no object \"$object\"" >&2 && exit 2 ;;
    esac
done
