#!/bin/sh
# Claim: `tune` works unmodified on 15 Generators that are not ours, of the Halide
# project's apps at v21.0.0, as .cpp and as a prebuilt binary: it ends with a schedule
# that was checked. Usage: upstream_generators.sh HALIDE_SOURCE [BUDGET [APP ...]]
# HALIDE_SOURCE is a checkout of Halide v21.0.0, to be fetched for this; nothing of it
# is kept.
set -u
source=${1:?usage: upstream_generators.sh HALIDE_SOURCE [BUDGET [APP ...]]}
budget=${2:-20s}
cd "$(dirname "$0")/.."
apps="harris unsharp hist conv_layer iir_blur bilateral_grid camera_pipe stencil_chain max_filter interpolate
local_laplacian bgu depthwise_separable_conv lens_blur nl_means"
if [ $# -gt 2 ]; then
    shift 2
    apps=$*
fi
halide=${PROTUNER_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/protuner}/halide/21.0.0/halide
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
make -s build || exit 2
good=0
all=0
# nl_means unrolls a reduction whose extent is not constant.
export HL_PERMIT_FAILED_UNROLL=1
try() { # name, how, protuner's arguments
    name=$1 how=$2
    shift 2
    all=$((all + 1))
    if bin/protuner tune "$@" --budget "$budget" --seeds none --baseline none --db "$tmp/$how.db" >"$tmp/out" 2>&1; then
        good=$((good + 1))
        echo "$name ($how): $(grep -m1 'schedules measured' "$tmp/out")"
    else
        echo "$name ($how): $(grep -m1 '^protuner:' "$tmp/out")"
    fi
}
for app in $apps; do
    cpp=$(ls "$source/apps/$app/"*generator.cpp | head -n 1)
    try "$app" source "$cpp" -I "$source/apps/support"
    if g++ -std=c++17 -O1 -I "$halide/include" -I "$halide/share/tools" -I "$source/apps/support" "$cpp" -L "$halide/lib64" \
        -Wl,--whole-archive -lHalide_GenGen -Wl,--no-whole-archive -lHalide -Wl,-rpath,"$halide/lib64" -lpthread -ldl \
        -rdynamic -o "$tmp/$app.generator"; then
        try "$app" binary "$tmp/$app.generator"
    else
        all=$((all + 1))
    fi
done
verdict=holds
[ "$good" = "$all" ] || verdict="does not hold"
echo "$verdict: $good of $all Generators tuned"
[ "$good" = "$all" ]
