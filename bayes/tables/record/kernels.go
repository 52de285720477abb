package main

import (
	"fmt"
	"strings"
)

// registers is the width of the vectors that a register tile is made of, in floats.
const registers = 8

// vectors declares the register tile of the matrix product: 2 rows of vec columns,
// which an empty assembler statement holds in registers. Where there are more than a
// statement can name, the compiler refuses.
func vectors(vec int) string {
	if vec == 0 {
		return ""
	}
	width := min(vec, registers)
	var pins []string
	for row := range 2 {
		for i := range vec / width {
			pins = append(pins, fmt.Sprintf(`"+x"(acc[%d][%d])`, row, i))
		}
	}
	return fmt.Sprintf("enum { VEC = %d, WIDTH = %d, PARTS = VEC / WIDTH };\n"+
		"typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(4)));\n#define HOLD(acc) __asm__ volatile(\"\" : %s)", vec, width, strings.Join(pins, ", "))
}

// kernels are the paper's. The numbers of loops are those of their permutations.
var kernels = []kernel{
	{ // out[i, j] += val[i, x] b[x, j]; loops: 0 and 1 rows in tiles, 3 and 2 positions in tiles, 4 columns
		name: "spmm", inputs: sparse, numbers: []string{"chunk", "unroll"}, order: true,
		body: "out[i * RANK + j] += val[p] * b[idx[p] * RANK + j];",
		loop: func(n *nest, e int) {
			switch e {
			case 0, 1:
				n.tiled(e, 0, 1, "i", "d->n", "q[0]")
			case 2, 3:
				n.positions(e, 3, 2, "p", "ptr", "i", "q[1]")
			case 4:
				n.dense(e, "j", "RANK")
			}
		},
	},
	{ // out[i, x] = val[i, x] sum of b[i, j] c[x, j]; 0 and 1 rows, 2 and 4 positions, 3 columns: threads must not share columns
		name: "sddmm", inputs: sparse, numbers: []string{"chunk", "unroll"}, order: true,
		body: "out[p] += val[p] * b[i * RANK + j] * c[idx[p] * RANK + j];",
		loop: func(n *nest, e int) {
			switch e {
			case 0, 1:
				n.tiled(e, 0, 1, "i", "d->n", "q[0]")
			case 2, 4:
				n.positions(e, 2, 4, "p", "ptr", "i", "q[1]")
			case 3:
				n.dense(e, "j", "RANK")
			}
		},
	},
	{ // out[i] = sum of val[i, x] b[x]: rows in tiles, positions in tiles of tiles
		name: "spmv", inputs: sparse, numbers: []string{"chunk", "chunk2", "chunk3"},
		body: "float sum = 0;\nfor (int p0 = ptr[i]; p0 < ptr[i + 1]; p0 += q[1])\n" +
			"    for (int p1 = p0; p1 < least(p0 + q[1], ptr[i + 1]); p1 += q[2])\n" +
			"        for (int p = p1; p < least(least(p1 + q[2], p0 + q[1]), ptr[i + 1]); p++) sum += val[p] * b[idx[p]];\nout[i] = sum;",
		loop: func(n *nest, e int) { n.tiled(e, 0, 1, "i", "d->n", "q[0]") },
	},
	{ // out[i, k] = sum of val[i, k, x] c[x]; 0 rows in tiles, 1 and 2 fibres of a tile in tiles, 3 and 4 positions in tiles
		name: "ttv", inputs: sparse, numbers: []string{"chunk_i", "chunk_fpos", "chunk_k"}, order: true,
		body: "out[f] += val[p] * c[idx[p]];",
		loop: func(n *nest, e int) {
			switch e {
			case 0:
				n.block("for (int i0 = 0; i0 < d->n; i0 += q[0])")
				n.line("const int last = fptr[least(i0 + q[0], d->n)];")
				n.open[e] = true
			case 1, 2:
				switch {
				case e == 1:
					n.block("for (int f0 = fptr[i0]; f0 < last; f0 += q[1])")
				case n.open[1]:
					n.block("for (int f1 = 0; f1 < least(q[1], last - f0); f1++)")
				default:
					n.block("for (int f1 = 0; f1 < q[1]; f1++)")
				}
				n.open[e] = true
				if n.open[1] && n.open[2] {
					n.line("const int f = f0 + f1;")
					if e == 1 {
						n.block("if (f < last)")
					}
				}
			case 3, 4:
				n.positions(e, 3, 4, "p", "ptr", "f", "q[2]")
			}
		},
	},
	{ // out[i, j] += val[i, k, x] b[k, j] c[x, j]; 0 and 1 rows, 2 fibres and their positions, 3 and 4 columns in tiles
		name: "mttkrp", inputs: sparse, numbers: []string{"chunk", "unroll"}, order: true,
		body: "out[i * RANK + j] += val[p] * b[fidx[f] * RANK + j] * c[idx[p] * RANK + j];",
		loop: func(n *nest, e int) {
			switch e {
			case 0, 1:
				n.tiled(e, 0, 1, "i", "d->n", "q[0]")
			case 2:
				n.block("for (int f = fptr[i]; f < fptr[i + 1]; f++)")
				n.block("for (int p = ptr[f]; p < ptr[f + 1]; p++)")
				n.open[e] = true
			case 3, 4:
				n.tiled(e, 3, 4, "j", "RANK", "q[1]")
			}
		},
	},
	{ // out = b c; 0, 1, 2 tiles of rows, columns and the inner dimension, 3, 4, 5 within: threads must not share the inner dimension
		name: "mm_cpu", inputs: []string{"square", "wide", "tall"}, numbers: []string{"tile1", "tile2", "split"}, order: true, vec: true,
		body: "vector acc[2][PARTS] = {{{0}}};\nfor (int k = k0; k < least(k0 + q[2], d->k); k++) {\n" +
			"    const vector *x = (const vector *)(c + k * d->m + j);\n" +
			"#pragma GCC unroll 16\n    for (int r = 0; r < PARTS; r++) {\n" +
			"        acc[0][r] += b[i * d->k + k] * x[r];\n        acc[1][r] += b[(i + 1) * d->k + k] * x[r];\n    }\n}\nHOLD(acc);\n" +
			"#pragma GCC unroll 16\nfor (int r = 0; r < PARTS; r++) {\n" +
			"    *(vector *)(out + i * d->m + j + r * WIDTH) += acc[0][r];\n    *(vector *)(out + (i + 1) * d->m + j + r * WIDTH) += acc[1][r];\n}",
		loop: func(n *nest, e int) {
			switch e {
			case 0:
				n.block("for (int i0 = 0; i0 < d->n; i0 += q[1])")
			case 1:
				n.block("for (int j0 = 0; j0 < d->m; j0 += q[0])")
			case 2:
				n.block("for (int k0 = 0; k0 < d->k; k0 += q[2])")
			case 3:
				n.block("for (int i = i0; i < least(i0 + q[1], d->n); i += 2)")
			case 4:
				n.block("for (int j = j0; j < least(j0 + q[0], d->m); j += VEC)")
			}
		},
	},
}
