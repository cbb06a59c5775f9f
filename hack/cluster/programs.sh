#!/usr/bin/env bash
# Builds every program of the node from Go modules into $OUT, and pause from C; prints the duration of each.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo "Go is missing: install what go/*/go.mod name, or newer." && exit 1; }
cd "$HERE/go"
mkdir -p "$OUT/cni" "$OUT/tmp"
# Not in /tmp, which may be cleaned during the build.
export GOTMPDIR=$OUT/tmp

timed() { # name command...
  local name=$1 started=$SECONDS
  shift
  "$@"
  echo "$name $((SECONDS - started)) s"
}
download() {
  local folder
  for folder in */; do go -C "$folder" mod download; done
}
go_build() { # folder program package [options...]
  go build -C "$1" -o "$OUT/$2" "${@:4}" "$3"
}
kube_version_flags() {
  local package version=${KUBE_VERSION#v} major minor
  IFS=. read -r major minor _ <<<"$version"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.%s ' \
      "$package" "gitVersion=v$version" "$package" "gitMajor=$major" "$package" "gitMinor=$minor" \
      "$package" gitTreeState=clean "$package" buildDate=2026-01-01T00:00:00Z
  done
}
pause() {
  local sources
  sources=$(go -C kube list -m -f '{{.Dir}}' k8s.io/kubernetes)
  gcc -Os -static -s "-DVERSION=${PAUSE_TAGS[0]}" -o "$OUT/pause" "$sources/build/pause/linux/pause.c"
}

export CGO_ENABLED=0
timed download download
timed kube go_build kube kube . -ldflags "-s -w $(kube_version_flags)"
timed agnhost go_build kube agnhost k8s.io/kubernetes/test/images/agnhost -ldflags "-s -w"
timed pause pause
timed etcd go_build etcd etcd . -ldflags "-s -w"
containerd=github.com/containerd/containerd/v2
for program in containerd containerd-shim-runc-v2 ctr; do
  timed "$program" go_build containerd "$program" "$containerd/cmd/$program" \
    -tags "no_aufs no_zfs no_btrfs no_devmapper netgo osusergo" \
    -ldflags "-s -w -X $containerd/version.Version=$CONTAINERD_VERSION"
done
CGO_ENABLED=1 timed runc go_build runc runc github.com/opencontainers/runc -tags "seccomp netgo osusergo" \
  -ldflags "-s -w -extldflags -static -X main.version=${RUNC_VERSION#v}"
for plugin in ipam/host-local main/loopback main/ptp meta/portmap; do
  timed "${plugin#*/}" go_build cni "cni/${plugin#*/}" \
    "github.com/containernetworking/plugins/plugins/$plugin" -ldflags "-s -w"
done
timed kind go_build kind kind sigs.k8s.io/kind -ldflags "-s -w"
timed coredns go_build coredns coredns . -ldflags "-s -w"
