"""Where the files of unmodified programs go: the rules of `[place]` in tailrace.toml.

- patterns: names and targets as tokens
- rules: `[place]` as values, with all checks
- compiled: the rules as the flat file that the preload maps; the format is that of src/place/rules.hpp
- mapping: logical paths to physical ones and back, by the preload's own code
- files: the files of a run's folders: placed, flat, or both
- made_files: the files that a program makes, from a log or a folder
- proposal: rules from names
- tree: apply and undo, on an existing directory
"""
