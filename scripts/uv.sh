#!/bin/bash
# Runs uv of the pinned version (UV_VERSION); puts it into .venv-tools when it is not on the PATH.
set -euo pipefail

pinned="uv ${UV_VERSION:?set by the Makefile}"
for uv in .venv-tools/bin/uv "$(command -v uv || true)"; do
    if [ -n "$uv" ] && [ -x "$uv" ] && [[ "$("$uv" --version)" == "$pinned"* ]]; then
        exec "$uv" "$@"
    fi
done
/usr/bin/python3 -m venv .venv-tools
.venv-tools/bin/python -m pip install --quiet "uv==$UV_VERSION"
exec .venv-tools/bin/uv "$@"
