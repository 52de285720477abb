#!/bin/sh
# Claim: after kill -9 at 20 random moments of a tune the database opens, the run
# resumes, no key is measured twice, nothing finished is lost, no process and no
# file is left behind.
set -u
cd "$(dirname "$0")/.."
rounds=${1:-20}
if go test ./cmd/protuner -run 'Kill' -count=1 -timeout 60m -v -args -rounds "$rounds"; then
    echo "holds: $rounds of $rounds kills survived"
else
    echo "does not hold: see above"
    exit 1
fi
