{{/* The Secret that evaluation.enabled creates. */}}
{{- define "uswarm.evaluationSecret" -}}
{{ include "uswarm.fullname" . }}-evaluation
{{- end }}

{{/* The Secret of an entry of `secrets`: the existing one, else the generated one. */}}
{{- define "uswarm.secretName" -}}
{{- $entry := get .root.Values.secrets .name }}
{{- default (ternary (include "uswarm.evaluationSecret" .root) "" .root.Values.evaluation.enabled) $entry.existingSecret }}
{{- end }}

{{/* An environment variable from an entry of `secrets`: root, name, variable, field (default: key). */}}
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
The provider that GET /v1/models returns: the configured one, else the default of runtimes. They use openai if their
Secret has OPENAI_API_KEY or OPENAI_BASE_URL. The Secret that an evaluation creates is initially empty.
*/}}
{{- define "uswarm.modelProvider" -}}
{{- $modelEnv := .Values.runtime.modelEnv }}
{{- default (ternary "openai" "demo" (and $modelEnv.enabled (not (empty $modelEnv.existingSecret)))) .Values.runtime.defaultProvider }}
{{- end }}

{{/* The Secret with model API keys in the runtime namespace; empty if there is none. */}}
{{- define "uswarm.modelEnvSecret" -}}
{{- with .Values.runtime.modelEnv }}
{{- if .enabled }}{{ default (ternary "uswarm-model-env" "" $.Values.evaluation.enabled) .existingSecret }}{{ end }}
{{- end }}
{{- end }}
