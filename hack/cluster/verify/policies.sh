# What NetworkPolicies let through; after workloads.sh, whose pods it uses.
. ./checks.sh

reach() { # namespace target
  timeout 10 kubectl -n "$1" exec client -- /agnhost connect --timeout=1s "$2" >/dev/null 2>&1 && echo open || echo shut
}
reached() { # expected (namespace target)...
  local expected=$1 got=()
  shift
  while (($#)); do
    got+=("$(reach "$1" "$2")")
    shift 2
  done
  [[ ${got[*]} == "$expected" ]] || { echo "${got[*]}, not $expected" && false; }
}
policy() {
  printf 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: t, namespace: demo}\nspec: %s\n' "$1" |
    kubectl apply -f - >/dev/null
}
address() { kubectl -n demo get pod -l "app=$1" -o 'jsonpath={.items[0].status.podIP}'; }
web_ready() {
  [[ $(kubectl -n demo get pod -l app=web -o 'jsonpath={.items[0].status.conditions[?(@.type=="Ready")].status}') == True ]]
}

kubectl create namespace other >/dev/null
kubectl label namespace other team=o >/dev/null
sed 's/namespace: demo/namespace: other/' client.yaml >"$output.yaml"
check "pod in another namespace" kubectl apply -f "$output.yaml"
rm "$output.yaml"
check "it is Ready" kubectl -n other wait pod/client --for=condition=Ready --timeout=30s
web=$(address web) client=$(address client)
dns='{to: [{namespaceSelector: {}, podSelector: {matchLabels: {k8s-app: kube-dns}}}], ports: [{port: 53, protocol: UDP}, {port: 53}]}'

check "open without a policy" reached "open open" demo "$web:8080" other "$web:8080"
policy '{podSelector: {}, policyTypes: [Ingress]}'
check "default deny of ingress" reached "shut shut" demo "$web:8080" other "$web:8080"
sleep 3
check "probes still pass" web_ready
policy '{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: http}]}]}'
check "podSelector, named port" reached "open shut shut" demo "$web:8080" demo "$web:8081" other "$web:8080"
policy '{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: o}}}]}]}'
check "namespaceSelector" reached "shut open" demo "$web:8080" other "$web:8080"
policy "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [$client/32]}}], ports: [{port: 8000, endPort: 8080}]}]}"
check "ipBlock with except, endPort" reached "shut open shut" demo "$web:8080" other "$web:8080" other "$web:8081"
policy '{podSelector: {matchLabels: {app: client}}, policyTypes: [Egress]}'
check "default deny of egress" reached "shut shut shut" demo "$web:8080" demo kubernetes.default.svc:443 demo 10.96.0.1:443
policy "{podSelector: {matchLabels: {app: client}}, policyTypes: [Egress], egress: [$dns, {to: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: http}]}]}"
check "egress to DNS and to a named port" reached "open shut shut" demo web.demo.svc.cluster.local:80 demo "$web:8081" demo 10.96.0.1:443
kubectl -n demo delete networkpolicy t >/dev/null
check "open at the end" reached "open open" demo "$web:8080" demo 10.96.0.1:443
