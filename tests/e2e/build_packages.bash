#!/usr/bin/env bash
# build_packages.bash: makes the Debian packages that tests install, so that they find them (debian_packages).
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
TMP=$(mktemp -d /tmp/c10m-e2e.XXXXXX)
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
. "$HERE/packages.bash"
! no_package_tools && debian_packages
