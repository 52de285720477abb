package space_test

import (
	"errors"
	"fmt"
	"log"
	"math/rand"

	"github.com/protuner/protuner/bayes/space"
)

func ExampleNew() {
	sp, err := space.New([]space.Param{
		{Name: "tile", Type: space.Ordinal, Values: []float64{4, 8, 16, 32}, Log: true},
		{Name: "vec", Type: space.Ordinal, Values: []float64{2, 4, 8}, Log: true},
		{Name: "order", Type: space.Permutation, Size: 3},
	}, "tile % vec == 0", "order_i0 < order_i2")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sp.Size(), "of", sp.Unconstrained(), "are feasible")
	x, err := sp.Sample(rand.New(rand.NewSource(1)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sp.Feasible(x))
	// Output:
	// 33 of 72 are feasible
	// true
}

func ExampleNew_contradiction() {
	_, err := space.New([]space.Param{
		{Name: "a", Type: space.Integer, Min: 1, Max: 8},
		{Name: "b", Type: space.Integer, Min: 1, Max: 8},
	}, "a > b", "a != 3", "b >= 5 + a")
	fmt.Println(err, errors.Is(err, space.ErrEmpty))
	_, err = space.New([]space.Param{{Name: "a", Type: space.Integer, Min: 1, Max: 8}}, "a < limit")
	fmt.Println(err)
	// Output:
	// no configuration satisfies the constraints: these clash: "a > b" and "b >= 5 + a" true
	// constraint "a < limit", column 5: unknown parameter limit
}
