#!/bin/sh
# Make a base image of Debian packages where none can be pulled: debootstrap, then `docker import`.
# usage: images/base.sh [SUITE [MIRROR]]   (default: bookworm, from the mirror that debootstrap has)
# Makes fencepost/base:SUITE. Needs root, debootstrap, and an engine that answers; 25 seconds, 200 MB.
set -eu
suite=${1:-bookworm}
mirror=${2:-}
image=fencepost/base:$suite
fail() { echo "error: $1" >&2; exit 2; }
case $suite in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
[ "$(id -u)" = 0 ] || fail "debootstrap needs root: run images/base.sh as root, once (fencepost/base:$suite is for all users)"
command -v debootstrap >/dev/null || fail "there is no debootstrap here: apt-get install debootstrap"
docker version >/dev/null 2>&1 || fail "no engine answers: scripts/images --help says how to get one"

folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' INT TERM
# What debootstrap mounts is in its own mount namespace, which ends with it, also when it is killed.
if ! unshare --mount debootstrap --variant=minbase "$suite" "$folder/debian" $mirror >"$folder/log" 2>&1; then
    tail -5 "$folder/log" >&2
    fail "debootstrap could not make $suite (above is what it said last)"
fi
rm -rf "$folder"/debian/var/cache/apt/archives/*.deb "$folder"/debian/var/lib/apt/lists/*
tar -C "$folder/debian" --numeric-owner -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
echo "made $image"
