package main

import (
	"fmt"
	"strings"
)

// nest writes loops in an order. Where an order asks for a variable before the loop
// that declares it, what is written does not compile, and is meant not to.
type nest struct {
	b     strings.Builder
	open  map[int]bool
	depth int
}

func (n *nest) block(text string) {
	fmt.Fprintf(&n.b, "%s%s {\n", strings.Repeat(" ", n.depth+4), text)
	n.depth++
}

func (n *nest) line(text string) {
	fmt.Fprintf(&n.b, "%s%s\n", strings.Repeat(" ", n.depth+4), text)
}

// kernel is a family of functions, one for each library.
type kernel struct {
	name   string
	inputs []string
	// locals stand at the head of the function, body inside all loops.
	locals, body string
	// loop opens element e; it may also declare what is known then.
	loop func(n *nest, e int)
	// numbers are the parameters handed over at run time.
	numbers []string
	order   bool // there is a permutation
	vec     bool // the parameter vec is a constant of the library
}

var sparse = []string{"uniform", "skewed", "banded"}

// tiled opens the loops of a dense range in tiles: outer over the tiles, inner over
// the offsets in one. Either may come first.
func (n *nest) tiled(e, outer, inner int, v, limit, size string) {
	n.tiles(e, outer, inner, v, "0", limit, size)
}

// positions opens the loops of a compressed segment of row in tiles.
func (n *nest) positions(e, outer, inner int, v, ptr, row, size string) {
	n.tiles(e, outer, inner, v, fmt.Sprintf("%s[%s]", ptr, row), fmt.Sprintf("%s[%s + 1]", ptr, row), size)
}

// tiles opens the loops of a range from first to before limit in tiles.
func (n *nest) tiles(e, outer, inner int, v, first, limit, size string) {
	switch {
	case e == outer:
		n.block(fmt.Sprintf("for (int %s0 = %s; %s0 < %s; %s0 += %s)", v, first, v, limit, v, size))
	case n.open[outer]:
		n.block(fmt.Sprintf("for (int %s1 = 0; %s1 < least(%s, %s - %s0); %s1++)", v, v, size, limit, v, v))
	default:
		n.block(fmt.Sprintf("for (int %s1 = 0; %s1 < %s; %s1++)", v, v, size, v))
	}
	n.open[e] = true
	if n.open[outer] && n.open[inner] {
		n.line(fmt.Sprintf("const int %s = %s0 + %s1;", v, v, v))
		if e == outer {
			n.block(fmt.Sprintf("if (%s < %s)", v, limit))
		}
	}
}

func (n *nest) dense(e int, v, limit string) {
	n.block(fmt.Sprintf("for (int %s = 0; %s < %s; %s++)", v, v, limit, v))
	n.open[e] = true
}

// Source is the C of one library: the loops in this order, the outermost one shared
// among the threads, whatever that does to the result.
func (k kernel) source(order []int, vec int) string {
	n := &nest{open: map[int]bool{}}
	for _, e := range order {
		k.loop(n, e)
	}
	for _, l := range strings.Split(k.body, "\n") {
		n.line(l)
	}
	for n.depth > 0 {
		n.depth--
		n.line("}")
	}
	return fmt.Sprintf(`#include "kernel.h"
%s
void kernel(struct data *d, const int *q) {
    const int *restrict fptr = d->fptr, *restrict fidx = d->fidx, *restrict ptr = d->ptr, *restrict idx = d->idx;
    const float *restrict val = d->val, *restrict b = d->b, *restrict c = d->c;
    float *restrict out = d->out;
%s
#pragma omp parallel for schedule(runtime)
%s}
`, vectors(vec), k.locals, n.b.String())
}
