# Verifies that memory limits are enforced and that no traffic leaves this machine.
. ./checks.sh

killed() { [[ $(kubectl get pod oom -o 'jsonpath={.status.containerStatuses[0].state.terminated.reason}') == OOMKilled ]]; }

check "pod above its memory limit" kubectl apply -f oom.yaml
check "the pod is OOMKilled" killed
# A documentation address (RFC 5737). Without keep-inside the attempt would time out.
refused "an external address is refused immediately" REFUSED \
  kubectl -n demo exec client -- /agnhost connect --timeout=5s 192.0.2.1:443
