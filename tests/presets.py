"""The presets that the library writes, as users name them. Those that need a number have one that fits few ranks."""

PRESETS = ("single", "fpp", "hds", "shared", "split:2", "node", "collective")
# `scratch` has neither steps = "all" nor overlap.
PRESETS_WITH_SCRATCH = (*PRESETS, "scratch")
