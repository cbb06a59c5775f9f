{{/* Rules that the schema cannot express. Each message names the value. */}}
{{- define "uswarm.validate" -}}
{{- $missing := list }}
{{- range $name := keys .Values.secrets | sortAlpha }}
{{- if and (include "uswarm.needsSecret" (dict "root" $ "name" $name)) (not (include "uswarm.secretName" (dict "root" $ "name" $name))) }}
{{- $missing = append $missing (printf "secrets.%s.existingSecret" $name) }}
{{- end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "Required: %s. Name existing Secrets in namespace %s, or set evaluation.enabled=true to generate them." (join ", " .) $.Release.Namespace) }}
{{- end }}
{{- include "uswarm.validateImages" . }}
{{- if not .Values.oidc.issuers }}
{{- fail "oidc.issuers is required: set at least one {issuer, audience}." }}
{{- end }}
{{- if not (or .Values.objectStorage.bucket .Values.evaluation.enabled) }}
{{- fail "objectStorage.bucket is required: name the S3 bucket for uploaded files." }}
{{- end }}
{{- include "uswarm.validateScaling" . }}
{{- include "uswarm.validatePods" . }}
{{- include "uswarm.validateModels" . }}
{{- include "uswarm.validateDns" . }}
{{- with .Values.trustedCA }}
{{- if and .existingConfigMap .existingSecret }}
{{- fail "trustedCA.existingConfigMap and trustedCA.existingSecret are mutually exclusive." }}
{{- end }}
{{- end }}
{{- if and .Values.secrets.proxy.existingSecret (not (or .Values.proxy.https .Values.proxy.http)) }}
{{- fail "secrets.proxy has no effect without proxy.https or proxy.http." }}
{{- end }}
{{- if and .Values.secrets.tracing.existingSecret (not .Values.tracing.otlp.endpoint) }}
{{- fail "secrets.tracing has no effect without tracing.otlp.endpoint." }}
{{- end }}
{{- if and .Values.secrets.search.existingSecret (not .Values.searxngClient.endpoint) }}
{{- fail "secrets.search has no effect without searxngClient.endpoint: the SearXNG of this chart needs no credentials." }}
{{- end }}
{{- include "uswarm.validateEdge" . }}
{{- include "uswarm.validateTraffic" . }}
{{- include "uswarm.validateWeb" . }}
{{- include "uswarm.validateOperators" . }}
{{- if and .Values.nonProduction.e2eBypass (not .Values.evaluation.enabled) (not .Values.nonProduction.e2eBypassBesideKeptData) }}
{{- fail "nonProduction.e2eBypass requires evaluation.enabled: anyone with the token could act as any user of persistent stores. Unset it, or also set nonProduction.e2eBypassBesideKeptData=true." }}
{{- end }}
{{- if and .Values.drain.enabled (ge (int .Values.drain.graceSeconds) (int .Values.drain.timeoutSeconds)) }}
{{- fail "drain.graceSeconds must be less than drain.timeoutSeconds: the drain would time out before it takes over from the controller." }}
{{- end }}
{{- if and (eq (default "auto" .Values.drain.hooks) "argocd") (lookup "v1" "Namespace" "" "default") }}
{{- fail "drain.hooks=argocd requires Argo CD, which renders the chart without a cluster: Helm would install the hooks as permanent objects. Use auto." }}
{{- end }}
{{- include "uswarm.validateStores" . }}
{{- include "uswarm.validateToolServers" . }}
{{- include "uswarm.validateAlone" . }}
{{- include "uswarm.validateFramework" . }}
{{- include "uswarm.validateNamespaces" . }}
{{- end }}

{{/* Runtimes without DNS must have no other way out, and know the addresses of what they use. */}}
{{- define "uswarm.validateDns" -}}
{{- if not .Values.runtime.dns.enabled }}
{{- if not (and .Values.networkPolicy.enabled (include "uswarm.network.isClosed" .)) }}
{{- fail "runtime.dns.enabled=false requires networkPolicy.enabled, a provider of modelGateway, and networkPolicy.runtime.egressAllowRules.nonPrivateIPs=auto: runtimes reach the internet otherwise." }}
{{- end }}
{{- if or .Values.networkPolicy.runtime.restApi .Values.runtime.stores.redis.addrFromSecret (include "uswarm.network.runtimePorts" . | fromYamlArray) }}
{{- fail "runtime.dns.enabled=false excludes runtime.stores, runtime.proxy and networkPolicy.runtime.restApi, which runtimes find by name." }}
{{- end }}
{{- range $name := list "modelGateway" "searxngClient" }}
{{- if not (get $.Values $name).clusterIP }}
{{- fail (printf "%s.clusterIP is required: runtime.dns.enabled=false lets runtimes know only this address." $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Two controllers would overwrite each other's changes to every UserSwarm. Without a cluster, lookup returns nothing. */}}
{{- define "uswarm.validateAlone" -}}
{{- if .Release.IsInstall }}
{{- $own := printf "%s in namespace %s" .Release.Name .Release.Namespace }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items }}
{{- $labels := default dict .metadata.labels }}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "uswarm") (has (get $labels "app.kubernetes.io/component") (list "controller" "orchestrator")) }}
{{- $annotations := default dict .metadata.annotations }}
{{- $other := printf "%s in namespace %s" (get $annotations "meta.helm.sh/release-name") (get $annotations "meta.helm.sh/release-namespace") }}
{{- if and (hasKey $annotations "meta.helm.sh/release-name") (ne $other $own) }}
{{- fail (printf "The release %s is already installed in this cluster: its controller manages every UserSwarm, so only one release per cluster is allowed." $other) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Only a released chart has a default registry. */}}
{{- define "uswarm.validateImages" -}}
{{- $missing := list }}
{{- range $name := list "orchestrator" "gateway" "modelGateway" "webhook" "controller" "searxngClient" "runtime" }}
{{- $unused := and (eq $name "controller") (ne $.Values.controller.framework "builtin") (not $.Values.drain.enabled) }}
{{- if and (eq $name "modelGateway") (not (include "uswarm.gatewayProviders" $)) }}{{ $unused = true }}{{ end }}
{{- if and (not $unused) (not (coalesce $.Values.images.mirror (get $.Values $name).image.registry $.Values.images.registry)) }}
{{- $missing = append $missing (printf "%s.image.registry" $name) }}
{{- end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "images.registry is required, or each of %s: the target of `npm run images -- --push <registry>`." (join ", " .)) }}
{{- end }}
{{- end }}

{{/* Each group of stores is complete or empty. */}}
{{- define "uswarm.validateStores" -}}
{{- $stores := .Values.runtime.stores }}
{{- with $stores.database }}
{{- if and (or .host .name .user) (not (and .host .name .user $stores.existingSecret)) }}
{{- fail "runtime.stores.database requires all of host, name, user and runtime.stores.existingSecret, or none of them." }}
{{- end }}
{{- end }}
{{- if and $stores.redis.addrFromSecret (not $stores.existingSecret) }}
{{- fail "runtime.stores.existingSecret is required: runtime.stores.redis.addrFromSecret reads SVC_REDIS_ADDR from it." }}
{{- end }}
{{- with $stores.spaces }}
{{- if and (or .endpoint .region .bucket) (not (and .endpoint .region .bucket $stores.existingSecret)) }}
{{- fail "runtime.stores.spaces requires all of endpoint, region, bucket and runtime.stores.existingSecret, or none of them." }}
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.validateToolServers" -}}
{{- if and .Values.userWebhooks.enabled (not .Values.secrets.integrations.existingSecret) }}
{{- fail "secrets.integrations.existingSecret is required with userWebhooks.enabled: webhook secrets are encrypted with its key." }}
{{- end }}
{{- if and .Values.toolServers.userServers.enabled (not .Values.secrets.integrations.existingSecret) }}
{{- fail "secrets.integrations.existingSecret is required with toolServers.userServers.enabled: users' tokens are encrypted with its key." }}
{{- end }}
{{- $ids := list }}
{{- $knownIds := .Files.Get "files/tool-servers.yaml" | fromYamlArray }}
{{- range .Values.toolServers.servers }}
{{- $isKnown := has .id $knownIds }}
{{- if not (or $isKnown (and .name .url)) }}
{{- fail (printf "toolServers.servers: the server %s needs name and url; only these servers are known: %s." .id (join ", " $knownIds)) }}
{{- end }}
{{- $hasAccounts := and $isKnown (not .url) }}
{{- if has .id $ids }}
{{- fail (printf "toolServers.servers has two servers with the id %s." .id) }}
{{- end }}
{{- $ids = append $ids .id }}
{{- if and (eq (dig "auth" "type" (ternary "oauth" "none" $hasAccounts) .) "oauth") (not $.Values.secrets.integrations.existingSecret) }}
{{- fail (printf "secrets.integrations.existingSecret is required: the server %s has auth.type=oauth, and users' tokens are encrypted with its key." .id) }}
{{- end }}
{{- if and (dig "auth" "secret" "" .) (not $.Values.toolServers.existingSecret) }}
{{- fail (printf "toolServers.existingSecret is required: the server %s has auth.secret, which is a key of this Secret." .id) }}
{{- end }}
{{- end }}
{{- end }}
