{{/* What the schema cannot say; each refusal is one sentence that names the value. */}}
{{- define "uswarm.validate" -}}
{{- $missing := list }}
{{- range $name := keys .Values.secrets | sortAlpha }}
{{- if and (include "uswarm.needsSecret" (dict "root" $ "name" $name)) (not (include "uswarm.secretName" (dict "root" $ "name" $name))) }}
{{- $missing = append $missing (printf "secrets.%s.existingSecret" $name) }}
{{- end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "Not set: %s; name existing Secrets in namespace %s, or set evaluation.enabled=true to try things out with generated ones." (join ", " .) $.Release.Namespace) }}
{{- end }}
{{- include "uswarm.validateImages" . }}
{{- if not .Values.oidc.issuers }}
{{- fail "Not set: oidc.issuers; name at least one {issuer, audience} whose tokens sign users in." }}
{{- end }}
{{- if not (or .Values.objectStorage.bucket .Values.evaluation.enabled) }}
{{- fail "Not set: objectStorage.bucket; name the S3 bucket that uploaded files go to." }}
{{- end }}
{{- include "uswarm.validateScaling" . }}
{{- if and .Values.runtime.modelEnv.enabled (not (include "uswarm.modelEnvSecret" .)) }}
{{- fail (printf "Not set: runtime.modelEnv.existingSecret; name the Secret with model keys in namespace %s, or set runtime.modelEnv.enabled=false." .Values.runtime.namespace) }}
{{- end }}
{{- if eq .Values.runtime.namespace .Release.Namespace }}
{{- fail "runtime.namespace is the release's own namespace; the pods of workspaces need one of their own." }}
{{- end }}
{{- if has .Release.Namespace .Values.runtime.extraNamespaces }}
{{- fail "runtime.extraNamespaces names the release's own namespace; the pods of workspaces need others." }}
{{- end }}
{{- with .Values.trustedCA }}
{{- if and .existingConfigMap .existingSecret }}
{{- fail "trustedCA names both existingConfigMap and existingSecret; the certificate authority can come from one only." }}
{{- end }}
{{- end }}
{{- include "uswarm.validateEdge" . }}
{{- include "uswarm.validateTraffic" . }}
{{- if and .Values.nonProduction.e2eBypass (not .Values.evaluation.enabled) (not .Values.nonProduction.e2eBypassBesideKeptData) }}
{{- fail "nonProduction.e2eBypass is set without evaluation.enabled; anyone with the token could act as any user of stores that keep data. Remove it, or set nonProduction.e2eBypassBesideKeptData=true as well." }}
{{- end }}
{{- if and .Values.drain.enabled (ge (int .Values.drain.graceSeconds) (int .Values.drain.timeoutSeconds)) }}
{{- fail "drain.graceSeconds is not below drain.timeoutSeconds; time would be up before the drain does anything by itself." }}
{{- end }}
{{- if and (eq (default "auto" .Values.drain.hooks) "argocd") (lookup "v1" "Namespace" "" "default") }}
{{- fail "drain.hooks=argocd is for Argo CD, which renders the chart without a cluster; Helm would install the hooks as lasting objects. Leave it at auto." }}
{{- end }}
{{- include "uswarm.validateStores" . }}
{{- include "uswarm.validateAlone" . }}
{{- include "uswarm.validateFramework" . }}
{{- end }}

{{/* Two controllers, or Metacontrollers, would write over each other's work on every UserSwarm. Where there is no cluster to ask, nothing is found. */}}
{{- define "uswarm.validateAlone" -}}
{{- if .Release.IsInstall }}
{{- $own := printf "%s in namespace %s" .Release.Name .Release.Namespace }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items }}
{{- $labels := default dict .metadata.labels }}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "uswarm") (has (get $labels "app.kubernetes.io/component") (list "controller" "orchestrator")) }}
{{- $annotations := default dict .metadata.annotations }}
{{- $other := printf "%s in namespace %s" (get $annotations "meta.helm.sh/release-name") (get $annotations "meta.helm.sh/release-namespace") }}
{{- if and (hasKey $annotations "meta.helm.sh/release-name") (ne $other $own) }}
{{- fail (printf "The release %s is in this cluster already; its controller looks after every UserSwarm, so there can be one release a cluster." $other) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* No registry has our images for everybody, so none can be the default. */}}
{{- define "uswarm.validateImages" -}}
{{- $missing := list }}
{{- range $name := list "orchestrator" "gateway" "webhook" "controller" "searxngClient" "runtime" }}
{{- $unused := and (eq $name "controller") (ne $.Values.controller.framework "builtin") (not $.Values.drain.enabled) }}
{{- if and (not $unused) (not (coalesce $.Values.images.mirror (get $.Values $name).image.registry $.Values.images.registry)) }}
{{- $missing = append $missing (printf "%s.image.registry" $name) }}
{{- end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "Not set: images.registry, or each of %s; it is where `npm run images -- --push <registry>` put the images." (join ", " .)) }}
{{- end }}
{{- end }}

{{/* A group of stores is whole or absent. */}}
{{- define "uswarm.validateStores" -}}
{{- $stores := .Values.runtime.stores }}
{{- with $stores.database }}
{{- if and (or .host .name .user) (not (and .host .name .user $stores.existingSecret)) }}
{{- fail "runtime.stores.database needs host, name, user and runtime.stores.existingSecret together, or none of them." }}
{{- end }}
{{- end }}
{{- if and $stores.redis.addrFromSecret (not $stores.existingSecret) }}
{{- fail "Not set: runtime.stores.existingSecret; runtime.stores.redis.addrFromSecret takes SVC_REDIS_ADDR from it." }}
{{- end }}
{{- with $stores.spaces }}
{{- if and (or .endpoint .region .bucket) (not (and .endpoint .region .bucket $stores.existingSecret)) }}
{{- fail "runtime.stores.spaces needs endpoint, region, bucket and runtime.stores.existingSecret together, or none of them." }}
{{- end }}
{{- end }}
{{- end }}
