#!/bin/sh
# Claim: in a clean clone, with none of protuner's caches or installations, `make demo`
# ends within 10 minutes and its winner is at least as fast as Adams2019's beam search;
# `make test` passes; both again with no network. The last part needs root, for a network
# namespace that has none.
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
beam=$(python3 -c '
import json
for b in json.load(open("out/harris/report.json"))["baselines"]:
    if b["name"] == "adams2019":
        print(b["verdict"]["ratio"]["value"])')
make test
unshare -n make demo
unshare -n make test
verdict=holds
{ [ "$took" -le 600 ] && python3 -c "import sys; sys.exit(not $beam >= 1)"; } || verdict="does not hold"
printf "%s: make demo took %s s in a clean clone, its winner %.3fx as fast as Adams2019's beam; make test passed; both again offline\n" "$verdict" "$took" "$beam"
[ "$verdict" = holds ]
