#!/bin/sh
# Claim: in a clean clone, with none of protuner's caches or installations, `make demo`
# ends within 10 minutes and `make test` passes; both again with no network. The last
# part needs root, for a network namespace that has none.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
git clone -q "$root" "$tmp/clone"
cd "$tmp/clone"
export PROTUNER_DATA="$tmp/data" PROTUNER_CACHE="$tmp/cache" GOMODCACHE="$tmp/mod" GOCACHE="$tmp/build"
start=$(date +%s)
make demo
took=$(($(date +%s) - start))
make test
unshare -n make demo
unshare -n make test
verdict=holds
[ "$took" -le 600 ] || verdict="does not hold"
echo "$verdict: make demo took $took s in a clean clone; make test passed; both again offline"
[ "$took" -le 600 ]
