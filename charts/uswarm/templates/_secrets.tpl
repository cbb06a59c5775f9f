{{/* The Secret that evaluation.enabled makes. */}}
{{- define "uswarm.evaluationSecret" -}}
{{ include "uswarm.fullname" . }}-evaluation
{{- end }}

{{/* The Secret behind an entry of `secrets`: the one that is named, else the generated one. */}}
{{- define "uswarm.secretName" -}}
{{- $entry := get .root.Values.secrets .name }}
{{- default (ternary (include "uswarm.evaluationSecret" .root) "" .root.Values.evaluation.enabled) $entry.existingSecret }}
{{- end }}

{{/* One environment variable out of an entry of `secrets`: root, name, variable, field (default: key). */}}
{{- define "uswarm.secretEnv" -}}
{{- $entry := get .root.Values.secrets .name }}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ include "uswarm.secretName" . }}
      key: {{ get $entry (default "key" .field) }}
{{- end }}

{{- define "uswarm.needsSecret" -}}
{{- if eq .name "signature" }}{{ if eq .root.Values.signature.mode "required" }}true{{ end }}
{{- else if has .name (list "admin" "migrations" "objectStorage" "integrations") }}
{{- else if eq .name "e2e" }}{{ if .root.Values.nonProduction.e2eBypass }}true{{ end }}
{{- else }}true{{ end }}
{{- end }}

{{- define "uswarm.ownPostgres" -}}
{{- if and .Values.evaluation.enabled (not .Values.secrets.database.existingSecret) }}true{{ end }}
{{- end }}

{{- define "uswarm.ownValkey" -}}
{{- if and .Values.evaluation.enabled (not .Values.secrets.realtime.existingSecret) }}true{{ end }}
{{- end }}

{{/*
The provider that GET /v1/models names: the configured one, else what runtimes choose by themselves. They use openai
when their Secret has OPENAI_API_KEY or OPENAI_BASE_URL; the Secret that an evaluation creates is empty at first.
*/}}
{{- define "uswarm.modelProvider" -}}
{{- $modelEnv := .Values.runtime.modelEnv }}
{{- default (ternary "openai" "demo" (and $modelEnv.enabled (not (empty $modelEnv.existingSecret)))) .Values.runtime.defaultProvider }}
{{- end }}

{{/* The Secret with model keys in the runtime namespace; empty for none. */}}
{{- define "uswarm.modelEnvSecret" -}}
{{- with .Values.runtime.modelEnv }}
{{- if .enabled }}{{ default (ternary "uswarm-model-env" "" $.Values.evaluation.enabled) .existingSecret }}{{ end }}
{{- end }}
{{- end }}
