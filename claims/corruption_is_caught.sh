#!/bin/sh
# Claim: 100 candidates whose results are corrupted on purpose (one element, one
# border, one tile, a race) are all caught.
set -u
cd "$(dirname "$0")/.."
. claims/claim/figure_of_test.sh
figure_of_test ./internal/bridge TestCorruptedResultsAreCaught -timeout 30m
