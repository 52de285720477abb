#!/bin/sh
# Unpacks Halide's wheels where protuner looks for them. Usage: halide.sh VERSION...
# A wheel is a whole distribution; no Python environment is made or needed.
set -eu
if [ -n "${PROTUNER_DATA:-}" ]; then
    data=$PROTUNER_DATA
elif [ -n "${XDG_DATA_HOME:-}${HOME:-}" ]; then
    data=${XDG_DATA_HOME:-$HOME/.local/share}/protuner
else
    data=${TMPDIR:-/tmp}/protuner-$(id -u)
    mkdir -p -m 700 "$data"
fi

need_pip() {
    python3 -m pip --version >/dev/null 2>&1 && return
    echo "installing pip" >&2
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -yq python3-pip >&2
}

for version in "$@"; do
    dir=$data/halide/$version
    [ -f "$dir/halide/include/Halide.h" ] && continue
    need_pip
    mkdir -p "$data/halide"
    tmp=$(mktemp -d "$data/halide/tmp.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    # Any Python's wheel holds the same libraries, so the host's own version is no matter.
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
        --platform "manylinux_2_28_$(uname -m)" -d "$tmp" "halide==$version"
    python3 -m zipfile -e "$tmp"/halide-*.whl "$tmp/whole"
    chmod +x "$tmp"/whole/halide/bin/*
    rm -rf "$dir"
    mv "$tmp/whole" "$dir"
    rm -rf "$tmp"
    echo "Halide $version is in $dir" >&2
done
