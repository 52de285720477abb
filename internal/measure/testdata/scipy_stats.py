"""Writes scipy_stats.json: inputs and what SciPy says of them.

Run with: python3 scipy_stats.py > scipy_stats.json
"""

import json

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20240607)
out = {"scipy": scipy.__version__, "numpy": np.__version__, "wilcoxon": [], "spearman": [], "median": [], "bootstrap": []}


def wilcoxon(d):
    kept = [x for x in d if x != 0]
    exact = len(kept) <= 20 and len(set(map(abs, kept))) == len(kept)
    r = stats.wilcoxon(d, zero_method="wilcox", correction=not exact, method="exact" if exact else "asymptotic")
    out["wilcoxon"].append({"differences": list(map(float, d)), "p": float(r.pvalue)})


for n in (1, 2, 5, 6, 10, 15, 20, 21, 30, 60):
    for shift in (0.0, 0.4, 2.0):
        wilcoxon(np.round(rng.normal(shift, 1, n), 6))
wilcoxon([1, 2, -3, 0, 0, 4, 5, 6, -7])  # zeros
wilcoxon([1, 1, -1, 2, 2, 3, -4, 5])  # ties
wilcoxon([0.5, -0.5, 1.5, -1.5, 2.5, 2.5, 2.5, 0])  # both
wilcoxon(np.round(rng.normal(0.1, 1, 40), 1))  # many of both

for n in (3, 5, 20, 50):
    x = np.round(rng.normal(0, 1, n), 6)
    for y in (np.round(x + rng.normal(0, 1, n), 6), np.round(-x, 6), np.round(rng.normal(0, 1, n), 1), np.round(np.exp(x), 6)):
        out["spearman"].append({"x": x.tolist(), "y": y.tolist(), "rho": float(stats.spearmanr(x, y).statistic)})

for n in (1, 2, 3, 8, 15):
    x = np.round(rng.normal(0, 1, n), 6)
    out["median"].append({"x": x.tolist(), "median": float(np.median(x))})

for n in (10, 15, 30):
    for sigma in (0.01, 0.2):
        x = np.round(np.exp(rng.normal(0.1, sigma, n)), 6)
        r = stats.bootstrap((x,), np.median, confidence_level=0.95, method="percentile", n_resamples=99999, rng=rng)
        out["bootstrap"].append({"x": x.tolist(), "median": float(np.median(x)),
                                 "low": float(r.confidence_interval.low), "high": float(r.confidence_interval.high)})

print(json.dumps(out, indent=1))
