package space

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// tasksOf maps tasks per dimension of the Func to tiles per loop of a stage.
func (sp *Space) tasksOf(l *Nest, tasks []int64) []int64 {
	st := &sp.stages[l.stageNumber()]
	if sp.o.NoSubtiling {
		tasks = sp.outerTasks(st, l.Size)
	}
	t := make([]int64, len(st.Loops))
	for i, loop := range st.Loops {
		t[i] = 1
		if d := st.along[i]; d >= 0 && loop.Pure {
			t[i] = min(tasks[d], l.Size[i])
		}
	}
	if i := st.shared; i >= 0 && st.tasks(t) == 1 {
		if t[i] = min(tasks[*st.Loops[i].Along], l.Size[i]); t[i] > 1 {
			for j := i + 1; j < len(t); j++ {
				if !st.Loops[j].Pure {
					t[j] = l.Size[j] // stays outside
				}
			}
		}
	}
	return t
}

// tasks is how many tasks a level of this size has.
func (st *stage) tasks(size []int64) float64 {
	n := 1.0
	for i, l := range st.Loops {
		if l.Pure || i == st.shared {
			n *= float64(size[i])
		}
	}
	return n
}

// outerTasks makes the outermost pure loops parallel until there are enough tasks:
// up to eight a core. Like Adams et al.'s code it has them by loop, and takes them
// to be by dimension.
func (sp *Space) outerTasks(st *stage, size []int64) []int64 {
	cores := int64(sp.o.Parallelism)
	tasks := slices.Grow(slices.Clone(size), len(sp.nodes[st.fn].Args))
	for len(tasks) < len(sp.nodes[st.fn].Args) {
		tasks = append(tasks, 1)
	}
	total := int64(1)
	for i := len(size) - 1; i >= 0; i-- {
		if !st.Loops[i].Pure || total >= cores {
			tasks[i] = 1
		}
		for tasks[i] > 1 && total*tasks[i] > cores*8 {
			tasks[i] /= 2
		}
		total *= tasks[i]
	}
	return tasks
}

// idleness is how much longer the busiest core works than the average one.
func idleness(tasks float64, cores int) float64 {
	share := tasks / float64(cores)
	up := float64(int64(share))
	if up < share {
		up++
	}
	return up / share
}

// taskOption is one way to cut a Func at root into tasks: tiles per dimension,
// and how unevenly they fall on the cores.
type taskOption struct {
	tasks  []int64
	idle   float64
	levels []*Nest // what the loops of the Func become
}

// task appends what one task covers, per loop of the pure stage.
func (o *taskOption) task(dst []int64) []int64 {
	for _, l := range o.levels {
		if l.Stage == 0 {
			return l.appendCover(dst)
		}
	}
	return dst
}

// tasks are the options for f, which is at root. While nothing else is inside its
// loops they are the same in all loop nests, and remembered.
func (sp *Space) tasks(root *Nest, f int) []taskOption {
	for c := sp.levels[f].Load(); c != nil; c = c.next {
		if c.stand(root) {
			c.once.Do(func() { c.tasks = sp.taskLevels(root, f) })
			return c.tasks
		}
	}
	return sp.taskLevels(root, f)
}

// stand holds where the loops are children of root as they were made.
func (c *computed) stand(root *Nest) bool {
	k := 0
	for _, l := range root.Children {
		if l.Func == c.fn {
			if l != c.levels[k] {
				return false
			}
			k++
		}
	}
	return k > 0
}

func (sp *Space) taskLevels(root *Nest, f int) []taskOption {
	options := sp.taskOptions(root, f)
	for i := range options {
		options[i].levels = sp.inTasks(root, f, options[i].tasks)
	}
	return options
}

// taskOptions lists the parallel tilings of f, which is at root, those that leave
// fewest cores idle first. (Adams et al.'s code; section 3.2 gives the bounds on
// the number of tasks.) The candidates are the tilings of its pure stage read as
// tile sizes, with RoundTasks as numbers of tiles too, and every iteration as a
// task of its own. With SerialStages what can have no tasks at all does not count.
func (sp *Space) taskOptions(root *Nest, f int) []taskOption {
	var pure []int64
	var levels []*Nest
	for _, l := range root.Children {
		if l.Func != f {
			continue
		}
		levels = append(levels, l)
		if l.Stage == 0 {
			pure = l.Size
		}
	}
	count := func(l *Nest, tasks []int64) float64 {
		return sp.stages[l.stageNumber()].tasks(sp.tasksOf(l, tasks))
	}
	if sp.o.SerialStages {
		divisible := slices.DeleteFunc(slices.Clone(levels), func(l *Nest) bool { return count(l, pure) == 1 })
		if len(divisible) > 0 {
			levels = divisible
		}
	}
	entire := make([]int64, len(pure))
	for i := range entire {
		entire[i] = 1
	}
	tiles := slices.Clip(sp.tilings(pure, splits))
	if sp.o.RoundTasks {
		for _, t := range sp.tilings(pure, splits) {
			round := make([]int64, len(t))
			for i := range t {
				round[i] = ceilDiv(pure[i], t[i])
			}
			tiles = append(tiles, round)
		}
	}
	tiles = append(tiles, entire)
	cores := float64(sp.o.Parallelism)
	seen := map[string]bool{}
	var options []taskOption
	for k, tile := range tiles {
		o := taskOption{tasks: make([]int64, len(tile)), idle: 1}
		for i := range tile {
			o.tasks[i] = ceilDiv(pure[i], tile[i])
		}
		least, most := math.Inf(1), 0.0
		for _, l := range levels {
			total := count(l, o.tasks)
			least, most = min(least, total), max(most, total)
			o.idle = max(o.idle, idleness(total, sp.o.Parallelism))
		}
		if k < len(tiles)-1 && least < cores || most > cores*float64(sp.o.TasksPerCore) {
			continue
		}
		if key := sizeKey(o.tasks); !seen[key] {
			seen[key] = true
			options = append(options, o)
		}
	}
	sortOptions(options, !sp.o.RoundTasks)
	return options
}

// sortOptions sorts by evenness; equally even options stay in order, or, as theirs
// have them, end where the C++ library's introsort leaves them, which breaks ties in a
// search like theirs (Musser 1997: quicksort around the median of three until parts
// have 16 elements, before an insertion sort, which is stable; its way out of deep
// recursion is left out, for options are few).
func sortOptions(options []taskOption, asTheirs bool) {
	if asTheirs {
		partition(options)
	}
	slices.SortStableFunc(options, func(a, b taskOption) int { return cmp.Compare(a.idle, b.idle) })
}

func partition(o []taskOption) {
	for len(o) > 16 {
		a, b, c := 1, len(o)/2, len(o)-1
		if o[a].idle >= o[b].idle {
			a, b = b, a
		}
		switch { // the median of a <= b and c; of equal ones a is the second of them
		case o[b].idle < o[c].idle:
			o[0], o[b] = o[b], o[0]
		case o[a].idle < o[c].idle:
			o[0], o[c] = o[c], o[0]
		default:
			o[0], o[a] = o[a], o[0]
		}
		pivot := o[0].idle
		i, j := 1, len(o)
		for {
			for o[i].idle < pivot {
				i++
			}
			for j--; pivot < o[j].idle; j-- {
			}
			if i >= j {
				break
			}
			o[i], o[j] = o[j], o[i]
			i++
		}
		partition(o[i:])
		o = o[:i]
	}
}

// sizeKey packs extents into a map key.
func sizeKey(size []int64) string {
	b := make([]byte, 0, 3*len(size))
	for _, s := range size {
		b = binary.AppendUvarint(b, uint64(s))
	}
	return string(b)
}
