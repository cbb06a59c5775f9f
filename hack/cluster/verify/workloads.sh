# What pods and the API server do.
. ./checks.sh
image=localhost/uswarm-verify/agnhost:1

widget() { printf 'apiVersion: example.test/v1\nkind: Widget\nmetadata: {name: %s, namespace: demo}\nspec: {size: %s}\n' "$@"; }
apply_widget() { widget "$@" | kubectl apply -f -; }
set_status() {
  kubectl -n demo patch widget w --subresource=status --type=merge -p '{"status":{"phase":"Ready"}}' &&
    test "$(kubectl -n demo get widget w -o 'jsonpath={.status.phase}')" = Ready
}
kubelet_summary() {
  kubectl get --raw "/api/v1/nodes/$(kubectl get node -o 'jsonpath={.items[0].metadata.name}')/proxy/stats/summary" |
    grep -q usageNanoCores
}
logged() { kubectl -n demo logs deploy/web -c web | grep -q Started; }
node_port() { curl -sf -m 2 "http://127.0.0.1:$NODE_PORT/hostname" | grep -q ^web-; }

check "namespace and Deployment" kubectl apply -f app.yaml
check "pod of a client" kubectl apply -f client.yaml
check "a Deployment with the whole pod security set and a gRPC probe is available" \
  kubectl -n demo rollout status deploy/web --timeout=60s
check "the client is Ready" kubectl -n demo wait pod/client --for=condition=Ready --timeout=60s
check "a Service answers by its DNS name" \
  kubectl -n demo exec client -- /agnhost connect --timeout=3s web.demo.svc.cluster.local:80
refused "a restricted namespace refuses a root pod" 'violates PodSecurity "restricted:latest"' \
  kubectl -n demo run root --image="$image"
check "CRD" kubectl apply -f crd.yaml
check "CRD established" kubectl wait crd/widgets.example.test --for=condition=Established --timeout=20s
check "custom resource" apply_widget w 2
check "status subresource" set_status
refused "a CEL rule of a CRD" 'size must be positive' apply_widget w2 0
check "ValidatingAdmissionPolicy" kubectl apply -f policy.yaml
refused "a ValidatingAdmissionPolicy refuses" 'at most 5 replicas' \
  kubectl create deployment big --image=x --replicas=9 --dry-run=server
check "resource metrics of the kubelet" kubelet_summary
check "logs" logged
check "NodePort" kubectl apply -f node-port.yaml
check "a node port on this machine's loopback" node_port
kubectl delete -f policy.yaml -f crd.yaml >/dev/null
