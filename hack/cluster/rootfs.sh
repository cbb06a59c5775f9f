#!/usr/bin/env bash
# The node's Debian root file system, as $OUT/rootfs.tar. Packages come from where this machine's apt
# takes them if that is the same Debian, else from mmdebstrap's own choice.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

packages=(
  systemd util-linux mount kmod procps bash ca-certificates e2fsprogs
  conntrack iptables nftables iproute2 ethtool libseccomp2
  jq # kind's createContainer hook calls it; without it no container starts
)
sources=()
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
  if [[ -f $file ]] && grep -q "$DEBIAN" "$file"; then
    sources=("$file")
    break
  fi
done
mmdebstrap --quiet --mode=root --variant=essential --format=tar \
  --include="$(IFS=,; echo "${packages[*]}")" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --aptopt='Acquire::Languages "none"' "$DEBIAN" "$OUT/rootfs.tar" "${sources[@]}"
