"""Ensembles: many runs of a serial program, each in a directory of its own on scratch, with one table at the end.

- values, spec: what an ensemble file says; parameters: the table of parameter values
- templates, pest: input files with values in them; readings: results from output files
- scratch, directory: where members run, and what one leaves to the next
- keeper, memory, marks: runs the commands of members and knows all that they start
- member: a member's life, from its directory to its outcome; worker, workers: the processes in which members live
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
