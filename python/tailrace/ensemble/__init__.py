"""Ensembles: many runs of a serial program, each in a directory of its own on scratch, with one table at the end.

- values, spec: what an ensemble file says; parameters: the table of parameter values
- templates, pest: input files with values in them; readings, fields, modflow: results and whole arrays from output files
- scratch, directory: where members run, and which inputs the next member uses again
- keeper, memory, cgroup, marks: run the commands of members, and watch and end all processes that they start
- member: runs one member, from its directory to its outcome; worker, workers: the processes that run members
- engines: the executors that run members; runner: all members that are left
- folder: the journal, what is finished; results: the table; ensemble: the class `Ensemble`
"""

from typing import TYPE_CHECKING

from tailrace import lazy

_MODULES = {"Ensemble": "ensemble", "EnsembleError": "values", "MemberError": "values", "load_spec": "spec"}

if TYPE_CHECKING:
    from tailrace.ensemble.ensemble import Ensemble
    from tailrace.ensemble.spec import load_spec
    from tailrace.ensemble.values import EnsembleError, MemberError

    __all__ = ["Ensemble", "EnsembleError", "MemberError", "load_spec"]
else:
    __getattr__, __dir__ = lazy.attributes(__name__, _MODULES)
