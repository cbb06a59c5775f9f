#!/usr/bin/env bash
# verify.sh: whether the cluster $CLUSTER_NAME does what tests rely on, seen from outside and from
# pods of an image made from agnhost, a test program of Kubernetes. Needs kubectl and kind in PATH,
# KUBECONFIG, $OUT/agnhost and $NODE_PORT, the port on this machine that leads to node port 30080.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

load_agnhost() {
  local folder
  folder=$(mktemp -d "$OUT/agnhost.XXXXXX")
  mkdir -m 1777 "$folder/tmp"
  cp "$OUT/agnhost" "$folder/"
  tar -C "$folder" --owner=0 --group=0 -c . |
    docker import --change 'ENTRYPOINT ["/agnhost"]' --change 'CMD ["pause"]' - localhost/uswarm-verify/agnhost:1 >/dev/null
  docker save localhost/uswarm-verify/agnhost:1 -o "$folder/image.tar"
  kind load image-archive "$folder/image.tar" --name "$CLUSTER_NAME"
  docker rmi localhost/uswarm-verify/agnhost:1 >/dev/null
  rm -rf "$folder"
}

load_agnhost
cd "$HERE/verify"
for part in workloads policies limits; do
  echo "$part:"
  bash "$part.sh"
done
