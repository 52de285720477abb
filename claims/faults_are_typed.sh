#!/bin/sh
# Claim: children that crash, hang, allocate without end, write nonsense, exit
# silently, answer twice or for another, or leave a grandchild are typed as what they
# are under both Halide versions; the next candidate is served, no process and no file
# stays behind.
set -u
cd "$(dirname "$0")/.."
. claims/claim/figure_of_test.sh
figure_of_test ./internal/bridge TestFaultsAreTyped -timeout 30m
