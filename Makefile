# Isthmus. `make help` lists what can be made.
#
# Everything that can be missing is installed by scripts/setup, which needs root for packages only;
# the demonstration, the tests in namespaces and the benchmarks need root themselves.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# A shell that was open when rustup was installed does not have it in its path yet.
export PATH := $(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH):/usr/sbin:/sbin

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
NETWORKDIR ?= $(PREFIX)/lib/systemd/network
# It reads no file under /usr/local.
NMDIR ?= /usr/lib/NetworkManager/conf.d
TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
# What `make install` takes, and how it leaves out what only a debugger reads: STRIP=true keeps that.
BUILT ?= $(TARGET)/release
STRIP ?= strip
# The program that writes the completions: that of a package for another processor does not run here.
RUNS ?= $(BUILT)/isthmus
# The command that builds the programs: all but the one that writes the manual, which few need and which takes 14 s to link.
PROGRAMS := cargo build --release --locked --workspace --exclude isthmus-manual
# The program that writes the manual, in the same way.
MANUAL ?= cargo run --quiet --release --locked --package isthmus-manual --
STATIC := $(shell uname -m)-unknown-linux-musl
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 3600
PROFILE ?= smoke

.PHONY: build gateway static man packages demo test test-long soak turn bench lab lab-guest lab-edge bpf bare check-bpf fuzz vectors docs site install uninstall clean help

build: ## build the programs: the gateway and the laboratory (default)
	$(PROGRAMS)

gateway: ## build the gateway alone, as a router needs it
	cargo build --release --locked --package isthmus

static: ## build the gateway as one file that needs no library; BUILT of `make install` is where it is
	scripts/setup static
	cargo build --release --locked --package isthmus --target $(STATIC)
	@echo "built: $(TARGET)/$(STATIC)/release/isthmus"

demo: ## an IPv6-only host fetches from an IPv4-only server through the gateway (root)
	scripts/setup demo
	$(PROGRAMS)
	$(TARGET)/release/isthmus lab demo

test: ## run all tests; TIERS="lint unit ..." runs some of them
	scripts/setup test
	scripts/test $(TIERS)

test-long: ## run what takes long and is no part of `make test`; PARTS="soak ..." runs some of it
	scripts/setup test $(filter mutants aarch64 supply-chain,$(or $(PARTS),mutants aarch64 supply-chain))
	scripts/test --long $(PARTS)

soak: ## reloads, kills, faults and floods at random for an hour, in each engine (root); SOAK_SECONDS=60 SOAK_SEED=1
	scripts/setup test
	SOAK_SECONDS=$(SOAK_SECONDS) cargo test --locked --package isthmus --test namespaces -- \
	    --nocapture --test-threads=3 soak::

turn: ## before you land: give CI the next part of the long tests
	echo $$(($$(cat .ci/turn) + 1)) >.ci/turn
	git commit --quiet --message "ci: take the next part of the long tests" -- .ci/turn

bench: ## measure and write bench/latest.json (root; takes a while)
	scripts/setup bench
	$(PROGRAMS)
	$(TARGET)/release/isthmus lab bench

lab: ## measure all mechanisms briefly and write report/index.html (root; ten minutes)
	scripts/setup lab
	$(PROGRAMS)
	run="report/$$(date -u +%Y-%m-%dT%H-%M-%SZ)"; \
	$(TARGET)/release/isthmus lab run all --profile $(PROFILE) --output "$$run" || [ $$? -eq 2 ]; \
	$(TARGET)/release/isthmus lab report "$$run" --output report

lab-guest: ## measure Jool and the kernel's tunnels beside ours in a virtual machine (a while: it is emulated)
	scripts/setup lab test
	$(PROGRAMS)
	run="report/guest-$$(date -u +%Y-%m-%dT%H-%M-%SZ)"; \
	scripts/lab-guest "$$run"; \
	$(TARGET)/release/isthmus lab report "$$run" --output report/guest

lab-edge: ## measure paper 002's mechanisms at an edge as slow as a home router, which is emulated (root; ten minutes)
	scripts/setup lab test
	$(PROGRAMS)
	run="report/edge-$$(date -u +%Y-%m-%dT%H-%M-%SZ)"; \
	$(TARGET)/release/isthmus lab run paper-002/slow-edge-{throughput,loss,jitter,cpu} --profile $(PROFILE) --output "$$run" || [ $$? -eq 2 ]; \
	$(TARGET)/release/isthmus lab report "$$run" --output report/edge

bpf: ## rebuild the committed BPF objects (needs `scripts/setup bpf`)
	crates/bpf/build.sh
	crates/lab/bpf/build.sh

bare: ## build the machine without an operating system, which `make install` puts beside the gateway
	cd crates/bare && env -u RUSTFLAGS cargo build --release --locked --target-dir $(abspath $(TARGET))/bare
	$(STRIP) -o $(TARGET)/bare/bare.elf $(TARGET)/bare/x86_64-unknown-none/release/isthmus-bare
	@echo "built: $(TARGET)/bare/bare.elf"

check-bpf: ## compare the committed BPF objects with a clean rebuild
	@if why="$$(scripts/check-bpf --can)"; then scripts/check-bpf; else echo "skipped: $$why"; fi

fuzz: ## run every fuzzer for FUZZ_SECONDS
	fuzz/run $(FUZZ_SECONDS)

vectors: ## write the vectors and docs/compliance.md from their tables
	vectors/generate.py

docs: ## write docs/counters.md, tables of docs/doctor.md and docs/security.md, and the JSON Schema
	WRITE_PAGES=1 cargo test --locked --package isthmus-gateway --test gateway _page
	WRITE_PAGES=1 cargo test --locked --package isthmus-lab --test lab security_page

site: ## build the documentation as a site, in target/site (needs mdbook: `scripts/setup site`)
	rm -rf $(TARGET)/site
	mdbook build --dest-dir $(abspath $(TARGET))/site/docs
	@# The pages also lead to files beside docs.
	git ls-files -z -- examples packaging crates deny.toml '*.md' | xargs -0 cp --no-clobber --parents --target-directory $(TARGET)/site
	@# Of which mdbook thinks that they are pages of the book.
	find $(TARGET)/site/docs -name '*.html' -exec sed -i -E \
	    's,href="((\.\./)+(README|ARCHITECTURE|CONTRIBUTING|packaging/openwrt/README))\.html,href="\1.md,g; s,href="recipes/README,href="recipes/index,' {} +
	@echo "built: $(TARGET)/site/docs/index.html"

man: ## write the manual pages to target/man, which `make install` takes
	scripts/setup packages
	rm -rf $(TARGET)/man
	$(MANUAL) $(TARGET)/man
	{ printf '%% isthmus.toml 5\n\n'; cat docs/configuration.md; } | go-md2man >$(TARGET)/man/isthmus.toml.5

packages: ## build Debian packages of gateway and laboratory, and the gateway as one file, in target/packages
	scripts/packages

install: ## install the gateway and, if it is built, the laboratory under PREFIX (honours DESTDIR)
	@test -x $(BUILT)/isthmus || { echo "error: nothing is built yet: run make first" >&2; exit 1; }
	for program in isthmus isthmus-lab; do \
	    if [ -x $(BUILT)/$$program ]; then \
	        install -D -m 755 -s --strip-program=$(STRIP) $(BUILT)/$$program $(DESTDIR)$(PREFIX)/bin/$$program; \
	    fi; \
	done
	@if [ -e $(TARGET)/bare/bare.elf ]; then \
	    install -D -m 644 $(TARGET)/bare/bare.elf $(DESTDIR)$(PREFIX)/lib/isthmus/bare.elf; \
	fi
	install -d -m 755 $(DESTDIR)$(UNITDIR)
	sed 's|@BINDIR@|$(PREFIX)/bin|; s|@SYSCONFDIR@|$(SYSCONFDIR)|' packaging/isthmus@.service \
	    > $(DESTDIR)$(UNITDIR)/isthmus@.service
	install -D -m 644 packaging/managers/networkd.network $(DESTDIR)$(NETWORKDIR)/10-isthmus.network
	install -D -m 644 packaging/managers/NetworkManager.conf $(DESTDIR)$(NMDIR)/isthmus.conf
	install -d -m 755 $(DESTDIR)$(SYSCONFDIR)/isthmus
	install -d -m 755 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -d -m 755 $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(RUNS) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/isthmus
	$(RUNS) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_isthmus
	$(RUNS) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/isthmus.fish
	@for page in $(TARGET)/man/*.[15]; do \
	    if [ -e "$$page" ]; then \
	        install -D -m 644 "$$page" "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}"; \
	    fi; \
	done
	install -d -m 755 $(DESTDIR)$(PREFIX)/share/doc/isthmus/examples
	install -m 644 README.md LICENSE LICENSE-MIT LICENSE-APACHE LICENSE-GPL-2.0 $(DESTDIR)$(PREFIX)/share/doc/isthmus/
	@for file in examples/*.toml; do \
	    if [ -e "$$file" ]; then install -m 644 "$$file" $(DESTDIR)$(PREFIX)/share/doc/isthmus/examples/; fi; \
	done

uninstall: ## remove what `make install` put there, except configurations
	rm -f $(DESTDIR)$(PREFIX)/bin/isthmus $(DESTDIR)$(PREFIX)/bin/isthmus-lab $(DESTDIR)$(UNITDIR)/isthmus@.service
	rm -f $(DESTDIR)$(NETWORKDIR)/10-isthmus.network $(DESTDIR)$(NMDIR)/isthmus.conf
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/isthmus
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_isthmus
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/isthmus.fish
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/isthmus.1 $(DESTDIR)$(PREFIX)/share/man/man1/isthmus-*.1
	rm -f $(DESTDIR)$(PREFIX)/share/man/man5/isthmus.toml.5
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/isthmus $(DESTDIR)$(PREFIX)/lib/isthmus/bare.elf

clean: ## remove what was built
	cargo clean
	rm -rf crates/bare/target crates/bpf/target crates/lab/bpf/target fuzz/target fuzz/artifacts

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
