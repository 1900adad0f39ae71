#!/bin/bash
# Installs the Debian packages of a list (one a line, # comments) that dpkg does not have.
set -euo pipefail

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$1")
if ! command -v dpkg-query >/dev/null; then
    echo "setup: no dpkg here: install the counterparts of these Debian packages: ${wanted[*]}" >&2
    echo "setup: then run \`mkdir -p .venv-tools && touch .venv-tools/.apt-stamp\`" >&2
    exit 1
fi
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/ installed$//p' || true)
mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | grep -vxF -f <(printf '%s\n' "$installed") || true)
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null; then
    as_root=(sudo)
else
    echo "setup: these Debian packages are missing: ${missing[*]}" >&2
    echo "setup: run as root, or have them installed: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "setup: installing ${missing[*]}"
# Servers of the bench cluster run within it: the machine starts none of their services because their packages are installed.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
