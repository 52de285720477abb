// Package bayes is Bayesian optimisation for compilers and other programs
// whose configurations are numbers, choices and orders under constraints, and
// are slow to evaluate. It follows BaCO (Hellsten et al., "BaCO: A Fast and
// Portable Bayesian Compiler Optimization Framework", ASPLOS 2023);
// docs/bayes.md goes through the paper's sections and says what differs.
//
// A space (package space) has real, integer, ordinal, categorical and
// permutation parameters and known constraints between them. A Study is asked
// for configurations to try and told how they did:
//
//	study, err := bayes.Open(ctx, sp, bayes.Options{Seed: 1}, nil)
//	for range 50 {
//		trials, err := study.Ask(ctx, 1)
//		...
//		err = study.Tell(ctx, trials[0].ID, bayes.Value(seconds))
//	}
//	best, ok := study.Best()
//
// Failures are outcomes like others: told as Infeasible, Crashed or TimedOut
// they teach a model of hidden constraints. Known constraints are never
// violated and no configuration is proposed twice; when none is left Ask says
// ErrExhausted. Several trials may be open at a time, and told in any order.
//
// With a Store (OpenSQLite, OpenJSONLines) a study survives the death of its
// process: opened again under the same options it returns first what was
// pending, evaluates nothing twice, and goes on as it would have. Equal seeds,
// options and outcomes give equal trials.
//
// Run drives a study with an Evaluator, such as package command's, which runs
// a program for each configuration; Serve lets a program in any language drive
// it over JSON lines. Presets are this program's settings, the paper's, its
// baselines and its ablations.
//
// Sub-packages: space (parameters, constraints, sampling), expr (the
// constraint language), gp (Gaussian processes), forest (random forests),
// command (programs as evaluators).
package bayes
