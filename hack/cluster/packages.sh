#!/usr/bin/env bash
# Installs the Debian packages that are missing of those that something needs: `images`, `docker` or
# `node`, which is everything.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

missing=()
need() { # package, and a program or a file that tells whether it is there
  [[ $2 == /* && -e $2 ]] || command -v "$2" >/dev/null || missing+=("$1")
}
PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin
for_images() { # what images for tests are put together with
  need mmdebstrap mmdebstrap
  need debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
  need python3 python3
  python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
}
for_docker() { # a Docker of our own
  need docker.io dockerd
  need docker.io docker
  need docker.io runc
  need iptables iptables
  need curl curl
}
for_node() { # the node image from sources
  for_images
  for_docker
  need jq jq
  need gcc gcc
  need libc6-dev /usr/include/stdio.h
  need libseccomp-dev /usr/include/seccomp.h
  need pkg-config pkg-config
  need zstd zstd
  command -v go >/dev/null || { echo 'Go is missing: install it, https://go.dev/doc/install.'; exit 1; }
}
"for_${1:-node}"
((${#missing[@]})) || exit 0
if ! command -v apt-get >/dev/null || ((EUID != 0)); then
  echo "Missing are: ${missing[*]}. Install them, or run this as root where apt-get is."
  exit 1
fi
exec "$HERE/apt-install.sh" "${missing[@]}"
