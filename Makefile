# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/sh
HALIDE_VERSIONS := 21.0.0 19.0.0

.PHONY: build demo test lint clean tools halide
# Whatever is timed must not be disturbed: `make -j demo test` is one after the other, too.
.NOTPARALLEL:

# sudo leaves out where Go's own archive is unpacked.
export PATH := $(PATH):/usr/local/go/bin
# Settings that others need: tests find their data by their own path, which -trimpath hides, and
# vendored modules and workspaces are of other projects. The last of two flags counts.
export GOFLAGS := $(GOFLAGS) -trimpath=false -mod=readonly
export GOWORK := off

APT := DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600

# The compiler and linker that Generators and candidates are built with.
tools:
	@command -v go >/dev/null || { echo "there is no go on PATH; install Go 1.26" >&2; exit 1; }
	@echo '#include <vector>' | g++ -x c++ -fsyntax-only - 2>/dev/null && command -v ld >/dev/null || { \
		[ "$$(id -u)" = 0 ] || { echo "g++ is missing; as root: apt-get install g++ binutils" >&2; exit 1; }; \
		echo "installing g++" >&2; \
		$(APT) update >&2 && $(APT) install -y g++ binutils >&2; }

halide: tools
	@scripts/halide.sh $(HALIDE_VERSIONS)

# Where git refuses to look at the checkout, as at another user's, the commit is not known.
build:
	go build -buildvcs=$$(git status --porcelain >/dev/null 2>&1 && echo auto || echo false) -o bin/protuner ./cmd/protuner

# Tunes a real pipeline from nothing and races what it finds.
demo: halide build
	bin/protuner doctor
	bin/protuner tune apps/harris/harris_generator.cpp --seeds none --budget 3m --db out/demo.db -o out/harris

# Tests of packages that time real code must not disturb each other: one at a time. Some act as
# another user, who must be able to read what they write.
test: halide
	go vet ./...
	umask 022 && go test -p 1 -timeout 25m ./...

lint:
	go test ./internal/lint

clean:
	rm -rf bin out
