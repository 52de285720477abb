"""Writes sklearn.json: Gaussian processes evaluated by scikit-learn.

Run with scikit-learn and numpy installed; the file names their versions.
Each case has inputs, observations, hyperparameters, the log marginal
likelihood with its gradient by the logs of (lengths, signal, noise),
predictions at new inputs (variance without noise), and the likelihood
scikit-learn's own optimiser reaches within protuner's bounds.
"""
import json

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

rng = np.random.default_rng(20231)
cases = []
for n, d in [(1, 1), (5, 2), (20, 3), (60, 8), (100, 5)]:
    x = rng.random((n, d))
    if d == 5:
        x = np.round(x * 4) / 4  # a grid, with repeated inputs
    y = np.sin(4 * x[:, 0]) + x.sum(axis=1) ** 2 / d + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / (y.std() or 1)
    new = rng.random((7, d))
    lengths = 10 ** rng.uniform(-0.7, 0.7, d)
    signal, noise = 10 ** rng.uniform(-0.5, 0.5), 10 ** rng.uniform(-4, -1)
    kernel = ConstantKernel(signal, (1e-2, 1e2)) * Matern(lengths, (1e-2, 1e3), nu=2.5) + WhiteKernel(noise, (1e-6, 1))
    gp = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(x, y)
    mean, std = gp.predict(new, return_std=True)
    value, grad = gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=True)
    case = dict(x=x.tolist(), y=y.tolist(), new=new.tolist(), length=lengths.tolist(), signal=signal, noise=noise,
                mean=mean.tolist(), variance=(std**2 - noise).tolist(), likelihood=value,
                gradient=np.r_[grad[1 : d + 1], grad[0], grad[d + 1]].tolist())
    if n >= 20:
        fitted = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=10, random_state=0).fit(x, y)
        case["best"] = fitted.log_marginal_likelihood_value_
    cases.append(case)
with open("sklearn.json", "w") as f:
    json.dump(dict(sklearn=sklearn.__version__, numpy=np.__version__, cases=cases), f)
    f.write("\n")
