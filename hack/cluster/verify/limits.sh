# A memory limit is enforced, and nothing leaves this machine.
. ./checks.sh

killed() { [[ $(kubectl get pod oom -o 'jsonpath={.status.containerStatuses[0].state.terminated.reason}') == OOMKilled ]]; }

check "pod above its memory limit" kubectl apply -f oom.yaml
check "it is OOMKilled" killed
# An address for documentation (RFC 5737); without keep-inside the attempt would time out.
refused "an address outside is refused at once" REFUSED \
  kubectl -n demo exec client -- /agnhost connect --timeout=5s 192.0.2.1:443
