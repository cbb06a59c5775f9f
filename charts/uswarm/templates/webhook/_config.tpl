{{/* What a UserSwarm may name: one entry a line. */}}
{{- define "uswarm.policy" -}}
runtimeNamespaces: {{ prepend .Values.runtime.extraNamespaces .Values.runtime.namespace | uniq | join "\n" | quote }}
imagePrefixes: {{ prepend .Values.runtime.imagePrefixes (include "uswarm.imageRepository" (dict "root" . "image" .Values.runtime.image)) | uniq | join "\n" | quote }}
sharedEnvSecrets: {{ prepend .Values.runtime.sharedEnvSecrets (include "uswarm.modelEnvSecret" .) | compact | uniq | join "\n" | quote }}
{{- end }}

{{- define "uswarm.runtimePods" -}}
{{- $pods := dict }}
{{- range $key, $value := .Values.runtime.pods }}
{{- if $value }}{{ $_ := set $pods $key $value }}{{ end }}
{{- end }}
{{- if not $pods.imagePullPolicy }}
{{- $_ := set $pods "imagePullPolicy" (include "uswarm.pullPolicy" (dict "root" . "image" .Values.runtime.image)) }}
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
    secretKeyRef: { name: {{ $stores.existingSecret }}, key: SVC_DATABASE_PASSWORD }
{{- end }}
{{- end }}
{{- if $stores.redis.addrFromSecret }}
- name: SVC_REDIS_ADDR
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret }}, key: SVC_REDIS_ADDR }
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
    secretKeyRef: { name: {{ $stores.existingSecret }}, key: SVC_SPACES_KEY }
- name: SVC_SPACES_SECRET
  valueFrom:
    secretKeyRef: { name: {{ $stores.existingSecret }}, key: SVC_SPACES_SECRET }
{{- end }}
{{- end }}
{{- end }}
