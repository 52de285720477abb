#!/bin/sh
# Claim: after kill -9 at 20 random moments of a tune the database opens, the run
# resumes, no key is measured twice, nothing finished is lost, no process and no
# file is left behind.
set -u
cd "$(dirname "$0")/.."
. claims/claim/figure_of_test.sh
figure_of_test ./cmd/protuner TestKilledTunes -timeout 60m -args -rounds "${1:-20}"
