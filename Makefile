# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/sh
HALIDE_VERSIONS := 21.0.0 19.0.0

.PHONY: build demo test lint clean tools halide

# The compiler and linker that Generators and candidates are built with.
tools:
	@command -v g++ >/dev/null && command -v ld >/dev/null || { \
		echo "installing g++" >&2; \
		apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -yq g++ binutils >&2; }

halide: tools
	@scripts/halide.sh $(HALIDE_VERSIONS)

build:
	go build -o bin/protuner ./cmd/protuner

# Tunes a real pipeline from nothing and races what it finds.
demo: halide build
	bin/protuner doctor
	bin/protuner tune apps/harris/harris_generator.cpp --seeds none --budget 3m --db out/demo.db -o out/harris

# Tests of packages that time real code must not disturb each other: one at a time.
test: halide
	go vet ./...
	go test -p 1 -timeout 25m ./...

lint:
	go test ./internal/lint

clean:
	rm -rf bin out
