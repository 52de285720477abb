// Times the kernels of one table. The first argument is the kernel, the second the
// input, the third the folder of the kernels' libraries. Every line of standard input
// is a request: the library, the OpenMP schedule (static or dynamic), its chunk, the
// threads, and the numbers that the kernel takes. Every answer is the nanoseconds of
// the fastest of a few runs, "wrong" where a run computed something else than the
// reference, or "missing" where there is no such library.
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

enum { RUNS = 5, SLOW_RUNS = 2, NUMBERS = 4 };

// A run this many times slower than the fastest so far is not worth more of them.
static const double slow = 3;

static uint64_t state;

// splitmix64
static uint64_t draw(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(void) { return (double)(draw() >> 11) / 9007199254740992.0; }

static void *room(size_t n, size_t size) {
    void *p = aligned_alloc(64, (n * size + 127) / 64 * 64);
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    memset(p, 0, n * size);
    return p;
}

static float *numbers(size_t n) {
    float *p = room(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        p[i] = (float)(uniform() + 0.5);
    }
    return p;
}

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// segment fills at most n different ascending indices below limit and returns how many.
static int segment(int *into, int n, int limit, int centre, int width) {
    for (int k = 0; k < n; k++) {
        into[k] = width ? (centre + (int)(draw() % (uint64_t)width)) % limit : (int)(draw() % (uint64_t)limit);
    }
    qsort(into, n, sizeof(int), ascending);
    int kept = 0;
    for (int k = 0; k < n; k++) {
        if (kept == 0 || into[k] != into[kept - 1]) {
            into[kept++] = into[k];
        }
    }
    return kept;
}

// compressed makes n segments of indices below limit, mean long each: all alike
// ("uniform"), most of them short and a few very long ("skewed"), or near the diagonal
// ("banded").
static void compressed(const char *input, int n, int limit, int mean, int **ptr, int **idx) {
    *ptr = room(n + 1, sizeof(int));
    *idx = room((size_t)n * mean * 8 + 4096, sizeof(int));
    int at = 0;
    for (int i = 0; i < n; i++) {
        int length = mean, width = 0;
        if (!strcmp(input, "skewed")) {
            length = (int)(0.35 * mean / pow(uniform() + 1e-3, 0.66));
        } else if (!strcmp(input, "banded")) {
            width = 4 * mean;
            length = mean / 2 + (int)(draw() % (uint64_t)mean);
        }
        length = length < 1 ? 1 : length > limit ? limit : length > 6 * mean + 1000 ? 6 * mean + 1000 : length;
        if ((size_t)at + length > (size_t)n * mean * 8) {
            length = 1;
        }
        at += segment(*idx + at, length, limit, (int)((long)i * limit / n), width);
        (*ptr)[i + 1] = at;
    }
}

// make fills in what the kernel reads, and in want what it should compute.
static void make(struct data *d, const char *kernel, const char *input, float **want) {
    state = 0x5eed;
    for (const char *c = kernel; *c; c++) state = state * 31 + (uint64_t)*c;
    for (const char *c = input; *c; c++) state = state * 31 + (uint64_t)*c;
    if (!strcmp(kernel, "mm_cpu")) {
        const int shape[3][3] = {{256, 256, 256}, {128, 512, 256}, {512, 128, 192}};
        int s = !strcmp(input, "square") ? 0 : !strcmp(input, "wide") ? 1 : 2;
        d->n = shape[s][0], d->m = shape[s][1], d->k = shape[s][2];
        d->b = numbers((size_t)d->n * d->k), d->c = numbers((size_t)d->k * d->m);
        d->length = (size_t)d->n * d->m;
        *want = room(d->length, sizeof(float));
        for (int i = 0; i < d->n; i++)
            for (int k = 0; k < d->k; k++)
                for (int j = 0; j < d->m; j++) (*want)[i * d->m + j] += d->b[i * d->k + k] * d->c[k * d->m + j];
        return;
    }
    if (!strcmp(kernel, "spmm") || !strcmp(kernel, "sddmm")) {
        d->n = d->m = !strcmp(kernel, "spmm") ? 4000 : 1500;
        compressed(input, d->n, d->m, 14, &d->ptr, &d->idx);
        d->b = numbers((size_t)d->m * RANK), d->c = numbers((size_t)d->m * RANK);
    } else if (!strcmp(kernel, "spmv")) {
        d->n = 12000, d->m = 12000;
        compressed(input, d->n, d->m, 24, &d->ptr, &d->idx);
        d->b = numbers(d->m);
    } else { // mttkrp and ttv: rows of fibres of positions
        int rows = !strcmp(kernel, "ttv") ? 1000 : 400;
        d->n = rows, d->k = 200, d->m = 500;
        compressed(input, rows, d->k, 8, &d->fptr, &d->fidx);
        compressed(input, d->fptr[rows], d->m, !strcmp(kernel, "ttv") ? 20 : 6, &d->ptr, &d->idx);
        d->b = numbers((size_t)d->k * RANK), d->c = numbers((size_t)d->m * RANK);
    }
    int segments = d->fptr ? d->fptr[d->n] : d->n;
    d->val = numbers(d->ptr[segments]);
    d->length = !strcmp(kernel, "spmv") ? (size_t)d->n : !strcmp(kernel, "sddmm") ? (size_t)d->ptr[segments]
              : !strcmp(kernel, "ttv") ? (size_t)segments : (size_t)d->n * RANK;
    float *w = *want = room(d->length, sizeof(float));
    for (int i = 0; i < d->n; i++) {
        int from = d->fptr ? d->fptr[i] : i, to = d->fptr ? d->fptr[i + 1] : i + 1;
        for (int f = from; f < to; f++) {
            for (int p = d->ptr[f]; p < d->ptr[f + 1]; p++) {
                const float v = d->val[p];
                const int x = d->idx[p];
                if (!strcmp(kernel, "spmv")) w[i] += v * d->b[x];
                else if (!strcmp(kernel, "ttv")) w[f] += v * d->c[x];
                else for (int j = 0; j < RANK; j++) {
                    if (!strcmp(kernel, "spmm")) w[i * RANK + j] += v * d->b[x * RANK + j];
                    else if (!strcmp(kernel, "sddmm")) w[p] += v * d->b[i * RANK + j] * d->c[x * RANK + j];
                    else w[i * RANK + j] += v * d->b[d->fidx[f] * RANK + j] * d->c[x * RANK + j];
                }
            }
        }
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

// once runs the kernel and returns its nanoseconds, negative where it is wrong.
static double once(kernel_function *f, struct data *d, const int *q, const float *want) {
    memset(d->out, 0, d->length * sizeof(float));
    const double began = now();
    f(d, q);
    const double took = now() - began;
    for (size_t i = 0; i < d->length; i++) {
        if (!(fabsf(d->out[i] - want[i]) <= 2e-3f * (fabsf(want[i]) + 1))) {
            return -1;
        }
    }
    return took;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: runner KERNEL INPUT FOLDER\n");
        return 2;
    }
    struct data d = {0};
    float *want = 0;
    make(&d, argv[1], argv[2], &want);
    d.out = room(d.length, sizeof(float));
    double fastest = 1e18;
    char name[64], kind[16];
    int chunk, threads, q[NUMBERS];
    while (scanf("%63s %15s %d %d %d %d %d %d", name, kind, &chunk, &threads, &q[0], &q[1], &q[2], &q[3]) == 8) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.so", argv[3], name);
        void *library = dlopen(path, RTLD_NOW);
        kernel_function *f = library ? (kernel_function *)dlsym(library, "kernel") : 0;
        if (!f) {
            puts("missing");
            fflush(stdout);
            continue;
        }
        omp_set_schedule(!strcmp(kind, "static") ? omp_sched_static : omp_sched_dynamic, chunk);
        omp_set_num_threads(threads);
        double best = once(f, &d, q, want); // warms up; the threads are there afterwards
        int runs = best > slow * fastest ? SLOW_RUNS : RUNS;
        for (int r = 0; r < runs && best >= 0; r++) {
            const double t = once(f, &d, q, want);
            best = t < best ? t : best; // negative: wrong
        }
        if (best < 0) {
            puts("wrong");
        } else {
            fastest = best < fastest ? best : fastest;
            printf("%.0f\n", best);
        }
        fflush(stdout);
    }
    return 0;
}
