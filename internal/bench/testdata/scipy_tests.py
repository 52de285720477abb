# Writes scipy_tests.json: what SciPy makes of samples that MannWhitney and Holm are
# tested with. Run with SciPy installed: python3 scipy_tests.py > scipy_tests.json
import json
import random

import scipy
from scipy import stats

random.seed(1)


def holm(p):
    # SciPy has no Holm; false_discovery_control is another correction. This is the
    # definition, written down.
    order = sorted(range(len(p)), key=lambda i: p[i])
    out, most = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, p[i] * (len(p) - rank)))
        out[i] = most
    return out


def sample(n, shift, digits):
    return [round(10 + shift + random.gauss(0, 1), digits) for _ in range(n)]


cases = []
for n, m in [(3, 3), (5, 8), (10, 10), (12, 20), (20, 20)]:
    for shift in [0, 0.5, 2]:
        a, b = sample(n, 0, 6), sample(m, shift, 6)
        cases.append({"A": a, "B": b, "P": stats.mannwhitneyu(a, b, method="exact").pvalue, "Exact": True})
for n, m in [(60, 70), (100, 90)]:
    for digits in [6, 0]:
        a, b = sample(n, 0, digits), sample(m, 0.3, digits)
        cases.append({"A": a, "B": b, "P": stats.mannwhitneyu(a, b, method="asymptotic").pvalue, "Exact": False})
ps = [[random.random() ** 3 for _ in range(n)] for n in (1, 2, 5, 12)]
gm = [sample(n, 0, 6) for n in (1, 2, 7)]
print(json.dumps({
    "SciPy": scipy.__version__,
    "MannWhitney": cases,
    "Holm": [{"P": p, "Adjusted": holm(p)} for p in ps],
    "GeometricMean": [{"X": x, "Mean": float(stats.gmean(x))} for x in gm],
}, indent=1))
