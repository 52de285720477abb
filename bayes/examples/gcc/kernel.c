// A matrix product in tiles, to be tuned by its macros and the compiler's flags. Prints
// the milliseconds of its fastest run as the last line, or fails where its result is
// wrong.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef SIZE
#define SIZE 384
#endif
enum { RUNS = 5, KEPT = 128 * 1024 };

// The copy of a tile that the threads keep has to fit their stacks and caches.
_Static_assert(TILE_J * TILE_K * sizeof(float) <= KEPT, "the copied tile is too large");

static float a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

static inline int least(int x, int y) { return x < y ? x : y; }

static void multiply(void) {
#pragma omp parallel for schedule(SCHEDULE) collapse(2)
    for (int i0 = 0; i0 < SIZE; i0 += TILE_I) {
        for (int j0 = 0; j0 < SIZE; j0 += TILE_J) {
            float kept[TILE_K][TILE_J];
            const int jn = least(TILE_J, SIZE - j0);
            for (int k0 = 0; k0 < SIZE; k0 += TILE_K) {
                const int kn = least(TILE_K, SIZE - k0);
                for (int k = 0; k < kn; k++) {
                    memcpy(kept[k], &b[k0 + k][j0], jn * sizeof(float));
                }
                for (int i = i0; i < least(i0 + TILE_I, SIZE); i++) {
                    for (int k = 0; k < kn; k++) {
                        const float x = a[i][k0 + k];
                        for (int j = 0; j < jn; j++) {
                            c[i][j0 + j] += x * kept[k][j];
                        }
                    }
                }
            }
        }
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(void) {
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = (float)((i * 7 + j) % 13) - 6, b[i][j] = (float)((i + j * 5) % 11) - 5;
        }
    }
    double best = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        memset(c, 0, sizeof c);
        const double began = now();
        multiply();
        best = fmin(best, now() - began);
    }
    for (int i = 0; i < SIZE; i += 37) {
        for (int j = 0; j < SIZE; j += 29) {
            float want = 0;
            for (int k = 0; k < SIZE; k++) {
                want += a[i][k] * b[k][j];
            }
            if (c[i][j] != want) { // small whole numbers: exact in any order
                fprintf(stderr, "element %d, %d is %g, not %g\n", i, j, (double)c[i][j], (double)want);
                return 1;
            }
        }
    }
    printf("%.4f\n", best);
    return 0;
}
