#!/bin/sh
# Rebuilds lab.bpf.o, the committed object with the tester's XDP programs.
# Needs the pinned toolchain with rust-src, and bpf-linker 0.13 built against LLVM 22.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-$PWD/target}/lab-bpf
export CARGO_TARGET_DIR="$target"
# Before: whoever writes meanwhile may or may not be in the object.
sources="$(../../../scripts/bpf-sources .)"
# The flags name the linker and let 32-bit words be read where the header puts them.
RUSTC_BOOTSTRAP=1 \
RUSTFLAGS="-Cdebuginfo=2 -Clinker=bpf-linker -Clink-arg=--btf -Ctarget-cpu=v3 -Ctarget-feature=+allows-misaligned-mem-access --remap-path-prefix=$(realpath ../../..)=isthmus --remap-path-prefix=$PWD=lab-bpf --remap-path-prefix=$HOME=home" \
    cargo build --release --target bpfel-unknown-none -Zbuild-std=core --locked
cp "$target/bpfel-unknown-none/release/lab" lab.bpf.o
llvm-strip-22 --strip-debug lab.bpf.o 2>/dev/null || /usr/lib/llvm-22/bin/llvm-strip --strip-debug lab.bpf.o
printf '%s\n' "$sources" >lab.bpf.o.sources
echo "built $PWD/lab.bpf.o ($(wc -c <lab.bpf.o) bytes)"
