#!/bin/sh
# Claim: 100 candidates whose results are corrupted on purpose (one element, one
# border, one tile, a race) are all caught.
set -u
cd "$(dirname "$0")/.."
if go test ./internal/bridge -run 'Corrupt' -count=1 -timeout 30m -v; then
    echo "holds: 100 of 100 corrupted candidates caught"
else
    echo "does not hold: see above"
    exit 1
fi
