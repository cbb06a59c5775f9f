#!/usr/bin/env bash
# Puts $OUT/rootfs.tar, the programs and kind's own node files together as $NODE_IMAGE, with the images
# that kubeadm wants already in containerd's store.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PATH=$PATH:/usr/local/go/bin
work=$(mktemp -d "$OUT/node.XXXXXX")
container=
root=$work/root images=$work/images registry=registry.k8s.io base=${NODE_IMAGE%:*}-base
libraries=usr/lib/$(uname -m)-linux-gnu
tags=()

cleanup() {
  local status=$?
  set +e
  [[ -z $container ]] || docker rm -f -v "$container"
  # The node image stands on the layers of the last two.
  docker rmi "${tags[@]}" "$base:local" "$base:rootfs"
  rm -rf "$work"
  exit "$status"
} >/dev/null 2>&1
trap cleanup EXIT

root_file_system() {
  mkdir "$root"
  tar -C "$root" -xf "$OUT/rootfs.tar"
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/dev/*
}

# One image contains the four Kubernetes programs (the kube binary under their names), and iptables and nft with their
# libraries for kube-proxy and kube-netpol.
kubernetes_files() {
  local kube=$images/kube name suffix file
  mkdir -p "$kube"/usr/{bin,sbin,lib64,local/bin} "$kube/$libraries" "$kube"/{etc,run,var/lib}
  mkdir -m 1777 "$kube/tmp"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$kube/$name"; done
  cp -a "$root"/usr/sbin/{xtables-nft-multi,nft} "$kube/usr/sbin/"
  for name in iptables ip6tables; do
    for suffix in "" -save -restore; do ln -s xtables-nft-multi "$kube/usr/sbin/$name$suffix"; done
  done
  cp -a "$root/$libraries/xtables" "$kube/$libraries/"
  # The plugins' libraries too: without libm a Service with two endpoints fails.
  chroot "$root" sh -c "ldd /usr/sbin/xtables-nft-multi /usr/sbin/nft /$libraries/xtables/*.so 2>/dev/null" |
    grep -oE '/lib[^ :]* \(0x' | cut -d' ' -f1 | sort -u |
    while read -r file; do cp -L "$root$file" "$kube$file"; done
  cp "$OUT/kube" "$kube/usr/local/bin/"
  for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kube-netpol; do
    ln -s kube "$kube/usr/local/bin/$name"
  done
  echo 'root:x:0:0:root:/:/sbin/nologin' >"$kube/etc/passwd"
}

import_image() { # folder entrypoint tag...
  local folder=$1 entrypoint=$2 tag
  shift 2
  local changes=(--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
  [[ -z $entrypoint ]] || changes+=(--change "ENTRYPOINT [\"$entrypoint\"]")
  tar -C "$images/$folder" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . |
    docker import "${changes[@]}" - "$1" >/dev/null
  for tag in "${@:2}"; do docker tag "$1" "$tag"; done
  tags+=("$@")
}

container_images() {
  kubernetes_files
  mkdir -p "$images"/{etcd,coredns}/usr/local/bin "$images/pause"
  cp "$OUT/etcd" "$images/etcd/usr/local/bin/"
  cp "$OUT/coredns" "$images/coredns/usr/local/bin/"
  cp "$OUT/pause" "$images/pause/"
  import_image kube "" "$registry"/kube-{apiserver,controller-manager,scheduler,proxy}:"$KUBE_VERSION"
  import_image etcd "" "$registry/etcd:$ETCD_TAG"
  import_image coredns /usr/local/bin/coredns "$registry/coredns/coredns:$COREDNS_TAG"
  import_image pause /pause "${PAUSE_TAGS[@]/#/$registry/pause:}"
}

# What kind's own node image holds beside the programs: entrypoint, units, containerd's configuration.
kind_files() {
  local files folders
  files=$(go -C "$HERE/go/kind" list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files
  cp -r "$files/." "$root/"
  chmod -R u+w "$root/kind" "$root/etc" "$root/usr/local/bin"
  folders=("$root"/kind "$root"/etc/{systemd/system,containerd,sysctl.d})
  find "${folders[@]}" -type d -exec chmod 755 {} +
  find "${folders[@]}" "$root"/etc/{default/kubelet,crictl.yaml} -type f -exec chmod 644 {} +
  chmod 755 "$root"/kind/bin/* "$root"/usr/local/bin/*
}

programs() {
  local name
  install -m755 "$OUT"/{containerd,containerd-shim-runc-v2,ctr} "$root/usr/local/bin/"
  install -m755 "$OUT/runc" "$root/usr/local/sbin/runc"
  install -m755 "$OUT/kube" "$root/usr/bin/kube"
  for name in kubelet kubeadm kubectl crictl; do ln -sf kube "$root/usr/bin/$name"; done
  mkdir -p "$root"/opt/cni/bin "$root"/etc/{cni/net.d,kubernetes/manifests} "$root/kind/manifests"
  install -m755 "$OUT"/cni/* "$root/opt/cni/bin/"
  install -m644 "$HERE/node/10-ptp.conflist" "$root/etc/cni/net.d/"
  install -m755 "$HERE/node/keep-inside.sh" "$root/kind/bin/"
  install -m644 "$HERE/node/keep-inside.service" "$root/etc/systemd/system/"
  sed "s/@KUBE_VERSION@/$KUBE_VERSION/" "$HERE/node/default-cni.yaml" >"$root/kind/manifests/default-cni.yaml"
  printf %s "$KUBE_VERSION" >"$root/kind/version"
}

settings() {
  local hook='{"path": "/kind/bin/mount-product-files.sh"}'
  # As kind's Dockerfile makes it: each container gets the node's product name and uuid.
  "$OUT/ctr" oci spec | jq ".hooks.createContainer += [$hook] | del(.process.rlimits)" >"$root/etc/containerd/cri-base.json"
  # Without CAP_SYS_RESOURCE nothing may lower its oom_score_adj: not containerd's unit, not a pod.
  mkdir -p "$root/etc/systemd/system/containerd.service.d"
  printf '[Service]\nOOMScoreAdjust=0\n' >"$root/etc/systemd/system/containerd.service.d/10-oom.conf"
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "$root/etc/containerd/config.toml"
}

# systemd in a container, as kind's Dockerfile sets it up.
services() {
  local units=$root/lib/systemd/system
  rm -f "$units"/sysinit.target.wants/systemd-tmpfiles-setup.service "$units"/{multi-user,local-fs,basic}.target.wants/* \
    "$units"/sockets.target.wants/*{udev,initctl}* "$root"/etc/systemd/system/*.wants/*
  echo ReadKMsg=no >>"$root/etc/systemd/journald.conf"
  ln -sf /usr/lib/systemd/systemd "$root/sbin/init"
  chroot "$root" systemctl --quiet enable kubelet containerd undo-mount-hacks keep-inside
  chroot "$root" systemctl --quiet mask systemd-binfmt
}

# In the node: takes images from standard input into containerd's store, without unpacking them.
preload='
  containerd >/tmp/containerd.log 2>&1 &
  for _ in $(seq 50); do ctr version >/dev/null 2>&1 && break; sleep 0.2; done
  options="--label=io.cri-containerd.pinned=pinned --all-platforms --no-unpack --digests"
  ctr --namespace=k8s.io images import $options - >/tmp/import.log 2>&1 || { cat /tmp/*.log && exit 1; }
  kill $!
  wait $!
  rm /tmp/*.log
'

import_node() {
  local entrypoint='ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]'
  tar -C "$root" --numeric-owner -c . | docker import - "$base:rootfs" >/dev/null
  # An import takes no STOPSIGNAL.
  printf '%s\n' "FROM $base:rootfs" 'ENV container=docker' 'STOPSIGNAL SIGRTMIN+3' "$entrypoint" |
    DOCKER_BUILDKIT=0 docker build -q -t "$base:local" - >/dev/null
  container=$(docker run -d --network none --entrypoint sleep --security-opt seccomp=unconfined "$base:local" infinity)
  docker save "${tags[@]}" | docker exec -i "$container" bash -c "$preload"
  docker commit --change "$entrypoint" "$container" "$NODE_IMAGE" >/dev/null
}

for step in root_file_system container_images kind_files programs settings services import_node; do
  started=$SECONDS
  $step
  echo "${step//_/ } $((SECONDS - started)) s"
done
