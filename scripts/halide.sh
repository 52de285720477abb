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
case $data in
/*) ;;
*)
    echo "$data is no absolute path; give PROTUNER_DATA or XDG_DATA_HOME one" >&2
    exit 2
    ;;
esac

# The first Python that has pip: not every one on PATH is Debian's, which apt gives it to.
with_pip() {
    for python in python3 /usr/bin/python3; do
        "$python" -m pip --version >/dev/null 2>&1 && return
    done
    return 1
}

need_pip() {
    with_pip && return
    if [ "$(id -u)" != 0 ]; then
        echo "Python has no pip; as root: apt-get install python3-pip" >&2
        exit 1
    fi
    echo "installing pip" >&2
    apt-get -q -o DPkg::Lock::Timeout=600 update >&2
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 install -y python3-pip >&2
    with_pip || {
        echo "Python still has no pip: see python3 -m pip" >&2
        exit 1
    }
}

# What is needed of an installation; another's hand may have left a part of one.
whole() {
    for file in include/Halide.h lib64/libHalide.so lib64/libHalide_GenGen.a lib64/libautoschedule_adams2019.so; do
        [ -s "$1/halide/$file" ] || return 1
    done
}

tmp=
trap '[ -z "$tmp" ] || rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

for version in "$@"; do
    dir=$data/halide/$version
    whole "$dir" && continue
    need_pip
    mkdir -p "$data/halide"
    # One at a time, which finds what a killed one has left.
    exec 9>"$data/halide/lock"
    flock 9
    whole "$dir" && continue
    rm -rf "$data"/halide/tmp.*
    tmp=$(mktemp -d "$data/halide/tmp.XXXXXX")
    # Any Python's wheel holds the same libraries, so the host's own version is no matter. pip
    # keeps the wheel in TMPDIR, which may be small.
    TMPDIR=$tmp PIP_REQUIRE_VIRTUALENV=0 "$python" -m pip download -q --disable-pip-version-check --no-deps \
        --only-binary=:all: --python-version 3.11 --platform "manylinux_2_28_$(uname -m)" -d "$tmp" "halide==$version"
    "$python" -m zipfile -e "$tmp"/halide-*.whl "$tmp/whole"
    chmod +x "$tmp"/whole/halide/bin/*
    rm -rf "$dir"
    mv "$tmp/whole" "$dir"
    rm -rf "$tmp"
    echo "Halide $version is in $dir" >&2
done
