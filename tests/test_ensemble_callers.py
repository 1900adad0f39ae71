"""Packages that call an ensemble: SALib and emcee get the values that a function of Python would give them, in their order."""

from __future__ import annotations

from pathlib import Path

import emcee
import numpy as np
from SALib import ProblemSpec
from SALib.analyze import sobol as analysis
from SALib.sample import sobol as sampling
from tailrace.ensemble import Ensemble
from tailrace.toml_table import literal

from tests.ensembles import table_of

# awk calculates in double precision, as Python does. Members with a > 2 fail.
PROGRAM = 'BEGIN { a = {a}; b = {b}; if (a > 2) exit 3; printf "result: %.17g\\n", 4 * a - 0.5 * a * a + b > "out.txt" }'


def value_of(point: np.ndarray) -> float:
    a, b = map(float, point)
    return float("-inf") if a > 2 else 4 * a - 0.5 * a * a + b


def write_function(folder: Path) -> Path:
    path = folder / "ensemble.toml"
    path.write_text(f"""
command = {literal(["awk", PROGRAM])}
[parameters.ranges]
a = [-3.0, 3.0]
b = [0.0, 1.0]
[results]
result = {{ file = "out.txt", regex = 'result: (\\S+)' }}
[engine]
workers = 2
scratch = {literal(str(folder / "scratch"))}
""")
    return path


def test_salib(tmp_path: Path) -> None:
    problem = {"num_vars": 2, "names": ["a", "b"], "bounds": [[-3.0, 1.9], [0.0, 1.0]]}
    points = sampling.sample(problem, 16, calc_second_order=False, seed=1)
    expected = np.array([value_of(point) for point in points])
    with Ensemble(write_function(tmp_path), tmp_path / "out") as ensemble:
        found = np.array(ensemble.map(points))
        described = ProblemSpec(problem).set_samples(points).evaluate(lambda each: np.array(ensemble.map(each)))
    assert found.tolist() == expected.tolist()
    assert described.results.tolist() == expected.tolist()
    indices, wanted = (analysis.analyze(problem, each, calc_second_order=False, seed=1)["S1"] for each in (found, expected))
    assert indices.tolist() == wanted.tolist()
    assert len(table_of(tmp_path / "out")) == 2 * len(points)


def test_emcee(tmp_path: Path) -> None:
    """The same chain as with a function of Python, failed members and all."""
    begin = np.random.default_rng(1).uniform(-1, 1, (6, 2))

    def chain(function: object, pool: object) -> np.ndarray:
        sampler = emcee.EnsembleSampler(6, 2, function, pool=pool)
        sampler.random_state = np.random.RandomState(2).get_state()
        sampler.run_mcmc(begin, 15)
        return np.array(sampler.get_chain())

    with Ensemble(write_function(tmp_path), tmp_path / "out", failed=float("-inf")) as ensemble:
        found = chain(ensemble, ensemble)
    assert found.tolist() == chain(value_of, None).tolist()
    reasons = {row["reason"] for row in table_of(tmp_path / "out").values()}
    assert reasons == {"", "exit"}
