{{/*
With mountSecretsAsFiles, a variable NAME from a Secret becomes NAME_FILE, the path of a file that is mounted from the
same key. The variables are derived from the container's environment, so there is no second list of them. Each include
takes the dict of uswarm.container.
*/}}

{{/* Third-party images do not support NAME_FILE. */}}
{{- define "uswarm.secretFiles.used" -}}
{{- if and .root.Values.mountSecretsAsFiles (not (has .component (list "searxng" "postgres" "valkey"))) }}true{{ end }}
{{- end }}

{{/* own: variables as YAML, more: variables from values, which override a file with the same name. */}}
{{- define "uswarm.secretFiles.env" -}}
{{- $replaced := list }}
{{- range .more }}{{ $replaced = append $replaced .name }}{{ end }}
{{- range fromYamlArray .own }}
{{- if dig "valueFrom" "secretKeyRef" dict . }}
{{- if not (has .name $replaced) }}
- name: {{ .name }}_FILE
  value: /etc/uswarm/secrets/{{ .name }}
{{- end }}
{{- else }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end }}

{{/* Sources of a projected volume: one Secret per variable. */}}
{{- define "uswarm.secretFiles.sources" -}}
{{- range fromYamlArray (include .env .) }}
{{- $name := .name }}
{{- with dig "valueFrom" "secretKeyRef" dict . }}
- secret:
    name: {{ .name | quote }}
    items: [{ key: {{ .key | quote }}, path: {{ $name }} }]
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.secretFiles.mount" -}}
{{- if and (include "uswarm.secretFiles.used" .) (include "uswarm.secretFiles.sources" .) }}
- { name: {{ default "secrets" .volume | quote }}, mountPath: /etc/uswarm/secrets, readOnly: true }
{{- end }}
{{- end }}

{{/* 0440 in decimal, because YAML 1.2 parsers read 0440 as a decimal number. */}}
{{- define "uswarm.secretFiles.volume" -}}
{{- if and (include "uswarm.secretFiles.used" .) (include "uswarm.secretFiles.sources" .) }}
- name: {{ default "secrets" .volume | quote }}
  projected:
    defaultMode: 288
    sources:
      {{- include "uswarm.secretFiles.sources" . | trim | nindent 6 }}
{{- end }}
{{- end }}
