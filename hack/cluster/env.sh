# Sourced by the scripts beside it. Versions of what comes from Go modules are those of go/*/go.mod;
# their sums are in go/*/go.sum. Here is only what a go.mod cannot say.
#
# The caller sets: OUT, the folder for everything made; NODE_IMAGE, the name for the node image;
# DOCKER_HOST where docker is not the usual one.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

module_version() { # folder module
  sed -nE "s#^(require )?[[:space:]]*$2 (v[^ ]+).*#\2#p" "$HERE/go/$1/go.mod" | head -n1
}
KUBE_VERSION=$(module_version kube k8s.io/kubernetes)
CONTAINERD_VERSION=$(module_version containerd github.com/containerd/containerd/v2)
RUNC_VERSION=$(module_version runc github.com/opencontainers/runc)
# The image tags that kubeadm of this Kubernetes version uses; go.mod pins the actual versions.
ETCD_TAG=3.6.5-0
COREDNS_TAG=v1.12.1
# containerd's configuration in kind names the first, kubeadm the second.
PAUSE_TAGS=(3.10 3.10.1)
# The last Debian whose systemd supports cgroup v1.
DEBIAN=bookworm
export GOFLAGS="-trimpath -buildvcs=false"
