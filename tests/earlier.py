"""What tests/data/make_earlier.py writes and tests/test_earlier_versions.py expects."""

from __future__ import annotations

from tests import formula
from tests.presets import PRESETS

SIZES = formula.Sizes(lev=2, lat=6, lon=5)
WRITTEN_STEPS = 3
TRACE_FILES = ("rank0.bin", "rank1.bin")
STUDY = "small"

STREAMS = {preset.replace(":", "-"): f"layout = '{preset}'\nsteps = 1" for preset in PRESETS} | {
    "two-steps-a-part": "layout = 'node'\nsteps = 2\nranks_per_node = 2",
    "one-file": "layout = 'shared'\nsteps = 'all'",
    "one-file-from-one-rank": "layout = 'single'\nsteps = 'all'",
    "one-file-a-rank": "layout = 'fpp'\nsteps = 'all'",
    "compressed": "layout = 'node'\nsteps = 1\ncompression = 'deflate'",
    "compressed-one-file": "layout = 'collective'\nsteps = 'all'\ncompression = 'deflate'",
    "no-checksums": "layout = 'split:2'\nsteps = 1\nchecksum = false",
    "overlapped": "layout = 'hds'\nsteps = 1\noverlap = 2",
    "kept": "layout = 'fpp'\nsteps = 1\nkeep = 2",
}
