#!/bin/sh
# Claim: a search killed by SIGKILL at 20 random moments, in either store, resumes;
# nothing that was told is evaluated again, and its trials are in the end those of a
# search that nobody disturbed.
set -u
cd "$(dirname "$0")/.."
if go test ./bayes -run 'KillAndResume' -count=1 -v; then
    echo "holds: 20 of 20 kills survived in each of 2 stores, the trace as undisturbed"
else
    echo "does not hold: see above"
    exit 1
fi
