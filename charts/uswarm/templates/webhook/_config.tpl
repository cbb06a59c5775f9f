{{/* Names that a UserSwarm may use, one entry per line. */}}
{{- define "uswarm.policy" -}}
runtimeNamespaces: {{ prepend .Values.runtime.extraNamespaces .Values.runtime.namespace | uniq | join "\n" | quote }}
imagePrefixes: {{ prepend .Values.runtime.imagePrefixes (include "uswarm.imageRepository" (dict "root" . "image" .Values.runtime.image)) | uniq | join "\n" | quote }}
sharedEnvSecrets: {{ prepend .Values.runtime.sharedEnvSecrets (include "uswarm.modelEnvSecret" .) | compact | uniq | join "\n" | quote }}
maxCpu: {{ .Values.runtime.maxResources.cpu | quote }}
maxMemory: {{ .Values.runtime.maxResources.memory | quote }}
{{- end }}

{{- define "uswarm.runtimePods" -}}
{{- $pods := dict }}
{{- range $key, $value := .Values.runtime.pods }}
{{- if $value }}{{ $_ := set $pods $key $value }}{{ end }}
{{- end }}
{{- /* The API server stores no hostUsers that is the default, but it stores `false`. */}}
{{- $pods = omit $pods "hostUsers" }}
{{- if not .Values.runtime.pods.hostUsers }}{{ $_ := set $pods "hostUsers" false }}{{ end }}
{{- if not $pods.imagePullPolicy }}
{{- $_ := set $pods "imagePullPolicy" (include "uswarm.pullPolicy" (dict "root" . "image" .Values.runtime.image)) }}
{{- end }}
{{- /* The API server's default is five minutes. */}}
{{- $tolerations := default list $pods.tolerations }}
{{- range $key := list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" }}
{{- $own := false }}
{{- range $tolerations }}{{ if or (not .key) (eq .key $key) }}{{ $own = or $own (not .effect) (eq .effect "NoExecute") }}{{ end }}{{ end }}
{{- if not $own }}
{{- $tolerations = append $tolerations (dict "key" $key "operator" "Exists" "effect" "NoExecute" "tolerationSeconds" (int $.Values.runtime.lostNodeSeconds)) }}
{{- end }}
{{- end }}
{{- $_ := set $pods "tolerations" $tolerations }}
{{- with .Values.runtime }}
{{- $_ := set $pods "terminationGracePeriodSeconds" (int .terminationGracePeriodSeconds) }}
{{- if .trustedCA.existingConfigMap }}
{{- $_ := set $pods "trustedCA" (dict "configMap" .trustedCA.existingConfigMap "key" .trustedCA.key) }}
{{- end }}
{{- if .secretRevision }}{{ $_ := set $pods "secretRevision" .secretRevision }}{{ end }}
{{- if or .proxy.https .proxy.http }}
{{- $cluster := list "localhost" "127.0.0.1" "::1" ".svc" (printf ".%s" $.Values.clusterDomain) }}
{{- $proxy := dict "noProxy" (concat $cluster .proxy.noProxy | uniq | join ",") }}
{{- with .proxy.https }}{{ $_ := set $proxy "https" . }}{{ end }}
{{- with .proxy.http }}{{ $_ := set $proxy "http" . }}{{ end }}
{{- $_ := set $pods "proxy" $proxy }}
{{- end }}
{{- if not .dns.enabled }}
{{- $aliases := list }}
{{- range $component, $values := dict "model-gateway" $.Values.modelGateway "searxng-client" $.Values.searxngClient }}
{{- $aliases = append $aliases (dict "ip" $values.clusterIP "hostnames" (list (include "uswarm.host" (dict "root" $ "component" $component)))) }}
{{- end }}
{{- $_ := set $pods "hostAliases" $aliases }}
{{- end }}
{{- end }}
{{- toJson $pods }}
{{- end }}

{{- define "uswarm.stores.env" -}}
{{- $stores := .Values.runtime.stores }}
{{- with $stores.database }}
{{- if .host }}
- name: SVC_DATABASE_HOST
  value: {{ .host | quote }}
- name: SVC_DATABASE_PORT
  value: {{ int .port | quote }}
- name: SVC_DATABASE_NAME
  value: {{ .name | quote }}
- name: SVC_DATABASE_USER
  value: {{ .user | quote }}
- name: SVC_DATABASE_SSLMODE
  value: {{ .sslMode | quote }}
- name: SVC_DATABASE_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret | quote }}, key: SVC_DATABASE_PASSWORD }
{{- end }}
{{- end }}
{{- if $stores.redis.addrFromSecret }}
- name: SVC_REDIS_ADDR
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret | quote }}, key: SVC_REDIS_ADDR }
{{- else if $stores.redis.addr }}
- name: SVC_REDIS_ADDR
  value: {{ $stores.redis.addr | quote }}
{{- end }}
{{- with $stores.spaces }}
{{- if .endpoint }}
- name: SVC_SPACES_ENDPOINT
  value: {{ .endpoint | quote }}
- name: SVC_SPACES_REGION
  value: {{ .region | quote }}
- name: SVC_SPACES_BUCKET
  value: {{ .bucket | quote }}
- name: SVC_SPACES_KEY
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret | quote }}, key: SVC_SPACES_KEY }
- name: SVC_SPACES_SECRET
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret | quote }}, key: SVC_SPACES_SECRET }
{{- end }}
{{- end }}
{{- end }}
