#!/bin/sh
# Claim: a search killed by SIGKILL at 20 random moments, in either store, resumes;
# nothing that was told is evaluated again, and its trials are in the end those of a
# search that nobody disturbed.
set -u
cd "$(dirname "$0")/.."
. claims/claim/figure_of_test.sh
figure_of_test ./bayes TestKillAndResume
