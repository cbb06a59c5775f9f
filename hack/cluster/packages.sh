#!/usr/bin/env bash
# Installs the Debian packages that are missing of those that the scripts here need. With the
# argument `docker` only the ones that run a Docker of our own.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

missing=()
need() { # package, and a program or a file that tells whether it is there
  [[ $2 == /* && -e $2 ]] || command -v "$2" >/dev/null || missing+=("$1")
}
PATH=$PATH:/usr/sbin:/sbin
need docker.io dockerd
need docker.io docker
need docker.io runc
need iptables iptables
need curl curl
if [[ ${1:-} != docker ]]; then
  need mmdebstrap mmdebstrap
  need debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
  need jq jq
  need gcc gcc
  need libc6-dev /usr/include/stdio.h
  need libseccomp-dev /usr/include/seccomp.h
  need pkg-config pkg-config
  need zstd zstd
fi
((${#missing[@]})) || exit 0
if ! command -v apt-get >/dev/null || ((EUID != 0)); then
  echo "Missing are: ${missing[*]}. Install them, or run this as root where apt-get is."
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y --no-install-recommends -qq "${missing[@]}" >/dev/null
echo "installed ${missing[*]}"
