{{/*
Building blocks of NetworkPolicies. Ports are pod ports, because most plug-ins evaluate a connection after its Service
is resolved.
*/}}

{{/* podSelector and policyTypes of a component's policy. */}}
{{- define "uswarm.network.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "uswarm.metadata" . | nindent 2 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "uswarm.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
{{- end }}

{{/* Component pods: root, components (names). */}}
{{- define "uswarm.network.components" -}}
{{- range .components }}
- podSelector:
    matchLabels:
      {{- include "uswarm.selectorLabels" (dict "root" $.root "component" .) | nindent 6 }}
{{- end }}
{{- end }}

{{/* The same, from another namespace. */}}
{{- define "uswarm.network.componentsFromAfar" -}}
{{- range .components }}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ $.root.Release.Namespace | quote }}
  podSelector:
    matchLabels:
      {{- include "uswarm.selectorLabels" (dict "root" $.root "component" .) | nindent 6 }}
{{- end }}
{{- end }}

{{- define "uswarm.network.runtimeLabels" -}}
app.kubernetes.io/component: agent-runtime
app.kubernetes.io/part-of: uswarm
{{- end }}

{{- define "uswarm.network.runtimes" -}}
- namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values: {{ prepend .Values.runtime.extraNamespaces .Values.runtime.namespace | uniq | toJson }}
  podSelector:
    matchLabels:
      {{- include "uswarm.network.runtimeLabels" . | nindent 6 }}
{{- end }}

{{/* A list of ports, as in a policy. */}}
{{- define "uswarm.network.tcp" -}}
{{- $ports := list }}
{{- range . }}
{{- $ports = append $ports (int .) }}
{{- end }}
{{- range uniq $ports }}
- { protocol: TCP, port: {{ . }} }
{{- end }}
{{- end }}

{{/* Egress to `to` on `ports`. As in a NetworkPolicy, an empty `to` allows every address. */}}
{{- define "uswarm.network.egress" -}}
- ports:
    {{- include "uswarm.network.tcp" .ports | trim | nindent 4 }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Ingress to `ports` from a value's peers. */}}
{{- define "uswarm.network.ingress" -}}
- ports:
    {{- include "uswarm.network.tcp" .ports | trim | nindent 4 }}
  {{- with .from }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Between release components: root, components, ports. */}}
{{- define "uswarm.network.fromComponents" -}}
{{- include "uswarm.network.ingress" (dict "ports" .ports "from" (include "uswarm.network.components" . | fromYamlArray)) }}
{{- end }}
{{- define "uswarm.network.toComponents" -}}
{{- include "uswarm.network.egress" (dict "ports" .ports "to" (include "uswarm.network.components" . | fromYamlArray)) }}
{{- end }}

{{- define "uswarm.network.fromMetrics" -}}
{{- include "uswarm.network.ingress" (dict "ports" (list 8081) "from" .Values.networkPolicy.metrics.from) }}
{{- end }}

{{- define "uswarm.network.fromEdge" -}}
{{- include "uswarm.network.ingress" (dict "ports" (list 8080) "from" .Values.networkPolicy.edge.from) }}
{{- end }}

{{- define "uswarm.network.toDns" -}}
{{- $to := .Values.networkPolicy.dns.to }}
{{- if $to }}
{{- range .Values.networkPolicy.dns.nodeLocal }}
{{- $to = append $to (dict "ipBlock" (dict "cidr" .)) }}
{{- end }}
{{- end -}}
- ports:
    {{- range .Values.networkPolicy.dns.ports }}
    - { protocol: UDP, port: {{ int . }} }
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  {{- with $to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if .Values.openshift.enabled }}
- ports:
    - { protocol: UDP, port: 5353 }
    - { protocol: TCP, port: 5353 }
  to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: openshift-dns
{{- end }}
{{- end }}

{{- define "uswarm.network.toApiServer" -}}
{{- include "uswarm.network.egress" .Values.networkPolicy.apiServer }}
{{- end }}

{{/* The evaluation store if enabled, else the peers from networkPolicy. */}}
{{- define "uswarm.network.toDatabase" -}}
{{- if include "uswarm.ownPostgres" . }}
{{- include "uswarm.network.toComponents" (dict "root" . "components" (list "postgres") "ports" (list 5432)) }}
{{- else }}
{{- include "uswarm.network.egress" .Values.networkPolicy.database }}
{{- end }}
{{- end }}
{{- define "uswarm.network.toRealtime" -}}
{{- if include "uswarm.ownValkey" . }}
{{- include "uswarm.network.toComponents" (dict "root" . "components" (list "valkey") "ports" (list 6379)) }}
{{- else }}
{{- include "uswarm.network.egress" .Values.networkPolicy.realtime }}
{{- end }}
{{- end }}

{{/* A URL's port. */}}
{{- define "uswarm.network.portOf" -}}
{{- $url := urlParse . }}
{{- default (ternary "80" "443" (eq $url.scheme "http")) (regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host)) }}
{{- end }}

{{/* Cluster pods, if everything else is reached through the proxy and `to` names nothing. */}}
{{- define "uswarm.network.behindProxy" -}}
{{- if and (empty .to) (include "uswarm.proxy.isMandatory" .root) }}
- namespaceSelector: {}
{{- else if .to }}
{{- toYaml .to }}
{{- else }}
[]
{{- end }}
{{- end }}

{{/* Egress to a server: url, to. The URL selects an address only if it contains one. */}}
{{- define "uswarm.network.toServer" -}}
{{- $to := .to }}
{{- $host := regexReplaceAll ":[0-9]+$" (urlParse .url).host "" }}
{{- if and (empty $to) (regexMatch "^[0-9.]+$" $host) }}
{{- $to = list (dict "ipBlock" (dict "cidr" (printf "%s/32" $host))) }}
{{- end }}
{{ include "uswarm.network.egress" (dict "ports" (list (include "uswarm.network.portOf" (trimSuffix "/" .url) | int)) "to" $to) | trim }}
{{- end }}

{{- define "uswarm.network.toProxy" -}}
{{- range $url := include "uswarm.proxy.urls" . | fromJsonArray }}
{{- include "uswarm.network.toServer" (dict "url" $url "to" $.Values.networkPolicy.proxy.to) }}
{{- end }}
{{- end }}

{{- define "uswarm.network.toCollector" -}}
{{- with .Values.tracing.otlp.endpoint }}
{{- include "uswarm.network.toServer" (dict "url" . "to" $.Values.networkPolicy.tracing.to) }}
{{- end }}
{{- end }}

{{/* Issuers, object storage and integrations, on the ports from other values. */}}
{{- define "uswarm.network.toWeb" -}}
{{- $urls := list .Values.objectStorage.endpoint }}
{{- range concat .Values.oidc.issuers .Values.operators.issuers }}
{{- $urls = concat $urls (list .issuer .jwksUri) }}
{{- end }}
{{- $ports := .Values.networkPolicy.web.ports }}
{{- range compact $urls }}
{{- $ports = append $ports (include "uswarm.network.portOf" . | int) }}
{{- end }}
{{- $to := include "uswarm.network.behindProxy" (dict "root" . "to" .Values.networkPolicy.web.to) | fromYamlArray }}
{{- include "uswarm.network.egress" (dict "ports" $ports "to" $to) }}
{{- include "uswarm.network.toProxy" . }}
{{- end }}

{{/* Cloud metadata endpoints that issue credentials for a pod's role. */}}
{{- define "uswarm.network.toCloudRole" -}}
- ports:
    - { protocol: TCP, port: 80 }
  to:
    - ipBlock: { cidr: 169.254.169.254/32 }
    - ipBlock: { cidr: 169.254.170.2/32 }
    - ipBlock: { cidr: 169.254.170.23/32 }
    - ipBlock: { cidr: 'fd00:ec2::254/128' }
    - ipBlock: { cidr: 'fd00:ec2::23/128' }
{{- end }}

{{/* root, rules: egress that egressAllowRules adds to a component's requirements. */}}
{{- define "uswarm.network.allowed" -}}
{{- if .rules.nonPrivateIPs }}
{{- include "uswarm.network.toInternet" (dict "ranges" .root.Values.networkPolicy.clusterRanges "ports" .rules.nonPrivatePorts) }}
{{- end }}
{{- range .rules.inCluster }}
- ports:
    {{- include "uswarm.network.tcp" .ports | trim | nindent 4 }}
  to:
    - namespaceSelector:
        {{- toYaml .namespaceSelector | nindent 8 }}
      {{- with .podSelector }}
      podSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- range .rules.privateEndpoints }}
- ports:
    {{- include "uswarm.network.tcp" .ports | trim | nindent 4 }}
  to:
    - ipBlock: { cidr: {{ .cidr | quote }} }
{{- end }}
{{- end }}

{{/* Every address except the cluster, its nodes, their network and cloud-internal services. */}}
{{- define "uswarm.network.toInternet" -}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          - 0.0.0.0/8
          - 10.0.0.0/8
          - 100.64.0.0/10
          - 127.0.0.0/8
          # Contains the metadata service of most clouds, and node-local DNS.
          - 169.254.0.0/16
          - 172.16.0.0/12
          - 192.0.0.0/24
          - 192.168.0.0/16
          - 198.18.0.0/15
          # Azure platform services.
          - 168.63.129.16/32
          - 224.0.0.0/4
          - 240.0.0.0/4
          {{- range .ranges }}
          {{- if not (contains ":" .) }}
          - {{ . }}
          {{- end }}
          {{- end }}
    - ipBlock:
        cidr: '::/0'
        except:
          - '::/127'
          # The private ranges above, through NAT64.
          - '64:ff9b::/104'
          - '64:ff9b::a00:0/104'
          - '64:ff9b::6440:0/106'
          - '64:ff9b::7f00:0/104'
          - '64:ff9b::a9fe:0/112'
          - '64:ff9b::ac10:0/108'
          - '64:ff9b::c000:0/120'
          - '64:ff9b::c0a8:0/112'
          - '64:ff9b::c612:0/111'
          - '64:ff9b::a83f:8110/128'
          - '64:ff9b::e000:0/99'
          # NAT64 in a private network.
          - '64:ff9b:1::/48'
          - 'fc00::/7'
          - 'fe80::/10'
          - 'ff00::/8'
          {{- range .ranges }}
          {{- if contains ":" . }}
          - {{ . | quote }}
          {{- end }}
          {{- end }}
  {{- with .ports }}
  ports:
    {{- include "uswarm.network.tcp" . | trim | nindent 4 }}
  {{- end }}
{{- end }}

{{/*
Egress of all runtimes. Without a model gateway, `auto` allows the internet. With it, only the stores and the proxy;
uswarm.network.directEgress adds the rest for runtimes that call providers themselves.
*/}}
{{- define "uswarm.network.runtimeEgress" -}}
{{- $rules := deepCopy .Values.networkPolicy.runtime.egressAllowRules }}
{{- $ports := include "uswarm.network.runtimePorts" . | fromYamlArray }}
{{- if include "uswarm.network.isClosed" . }}
{{- $_ := set $rules "nonPrivateIPs" (not (empty $ports)) }}
{{- $_ := set $rules "nonPrivatePorts" $ports }}
{{- else if $rules.nonPrivatePorts }}
{{- $_ := set $rules "nonPrivatePorts" (concat $rules.nonPrivatePorts $ports) }}
{{- end }}
{{- include "uswarm.network.allowed" (dict "root" . "rules" $rules) }}
{{- end }}

{{- define "uswarm.network.directEgress" -}}
{{- $ports := .Values.networkPolicy.runtime.egressAllowRules.nonPrivatePorts }}
{{- include "uswarm.network.toInternet" (dict "ranges" .Values.networkPolicy.clusterRanges "ports" $ports) }}
{{- end }}

{{/* True if runtimes that use the model gateway are kept from the internet. */}}
{{- define "uswarm.network.isClosed" -}}
{{- if and (include "uswarm.gatewayProviders" .) (eq (toString .Values.networkPolicy.runtime.egressAllowRules.nonPrivateIPs) "auto") }}true{{ end }}
{{- end }}

{{/* The ports in runtime.stores and runtime.proxy, if set. */}}
{{- define "uswarm.network.runtimePorts" -}}
{{- $stores := .Values.runtime.stores }}
{{- $ports := list }}
{{- if $stores.database.host }}{{ $ports = append $ports (int $stores.database.port) }}{{ end }}
{{- /* host:port or a URL, which can end with the number of a database. */}}
{{- with $stores.redis.addr }}
{{- $ports = append $ports (regexFind ":[0-9]+(/[0-9]*)?$" . | regexFind "[0-9]+" | default "6379" | int) }}
{{- end }}
{{- with $stores.spaces.endpoint }}{{ $ports = append $ports (include "uswarm.network.portOf" . | int) }}{{ end }}
{{- range compact (list .Values.runtime.proxy.https .Values.runtime.proxy.http) }}
{{- $ports = append $ports (include "uswarm.network.portOf" . | int) }}
{{- end }}
{{- toYaml $ports }}
{{- end }}
