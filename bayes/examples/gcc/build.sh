#!/bin/sh
# Compiles kernel.c under the flags and macros in the environment, into $1.
exec gcc -std=gnu11 -fopenmp $P_level -march=$P_machine $P_unroll $P_vectorise -fvect-cost-model=$P_cost \
    -mprefer-vector-width=$P_width -DTILE_I=$P_tile_i -DTILE_J=$P_tile_j -DTILE_K=$P_tile_k -DSCHEDULE=$P_schedule \
    ${SIZE:+-DSIZE=$SIZE} "$(dirname "$0")/kernel.c" -o "$1" -lm
