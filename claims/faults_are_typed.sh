#!/bin/sh
# Claim: children that crash, hang, allocate without end, write nonsense, exit
# silently, answer twice or for another, or leave a grandchild are typed as what they
# are under both Halide versions; the next candidate is served, no process and no file
# stays behind.
set -u
cd "$(dirname "$0")/.."
if go test ./internal/bridge -run 'Fault' -count=1 -timeout 30m -v; then
    echo "holds: every fault typed, under Halide 21 and 19"
else
    echo "does not hold: see above"
    exit 1
fi
