{{/* The Secret that evaluation.enabled creates. */}}
{{- define "uswarm.evaluationSecret" -}}
{{ include "uswarm.fullname" . }}-evaluation
{{- end }}

{{/* The Secret for an entry in `secrets`: the existing one, else the generated one. */}}
{{- define "uswarm.secretName" -}}
{{- $entry := get .root.Values.secrets .name }}
{{- default (ternary (include "uswarm.evaluationSecret" .root) "" .root.Values.evaluation.enabled) $entry.existingSecret }}
{{- end }}

{{/* An environment variable from an entry in `secrets`: root, name, variable, field (default: key). */}}
{{- define "uswarm.secretEnv" -}}
{{- $entry := get .root.Values.secrets .name }}
- name: {{ .variable | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ include "uswarm.secretName" . | quote }}
      key: {{ get $entry (default "key" .field) | quote }}
{{- end }}

{{- define "uswarm.needsSecret" -}}
{{- if eq .name "signature" }}{{ if eq .root.Values.signature.mode "required" }}true{{ end }}
{{- else if has .name (list "admin" "databaseRead" "migrations" "objectStorage" "integrations" "push" "modelProviders" "search" "proxy" "tracing") }}
{{- else if has .name (list "modelToken" "modelCalls") }}{{ if include "uswarm.gatewayProviders" .root }}true{{ end }}
{{- else if eq .name "e2e" }}{{ if .root.Values.nonProduction.e2eBypass }}true{{ end }}
{{- else }}true{{ end }}
{{- end }}

{{- define "uswarm.ownPostgres" -}}
{{- if and .Values.evaluation.enabled (not .Values.secrets.database.existingSecret) }}true{{ end }}
{{- end }}

{{- define "uswarm.ownValkey" -}}
{{- if and .Values.evaluation.enabled (not .Values.secrets.realtime.existingSecret) }}true{{ end }}
{{- end }}
