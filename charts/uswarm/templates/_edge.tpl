{{/* How the edge of this chart is reached from outside; empty without one. */}}
{{- define "uswarm.edgeUrl" -}}
{{- if .Values.ingress.enabled }}
{{- printf "http%s://%s" (ternary "s" "" (ne .Values.ingress.tls.secretName "")) .Values.ingress.host }}
{{- else if .Values.httpRoute.enabled }}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) }}
{{- end }}
{{- end }}

{{/* `true` if clients reach the API by https. */}}
{{- define "uswarm.edgeHasTls" -}}
{{- if hasPrefix "https://" (include "uswarm.publicUrl" .) }}true{{ end }}
{{- end }}

{{/* Whether this chart makes an edge. */}}
{{- define "uswarm.hasEdge" -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled }}true{{ end }}
{{- end }}

{{/* Strict-Transport-Security: browsers ignore it over http, so it is not sent there. */}}
{{- define "uswarm.hsts.env" -}}
- name: HSTS_MAX_AGE_S
  value: {{ ternary (int64 .Values.http.hstsMaxAgeSeconds) 0 (include "uswarm.edgeHasTls" . | eq "true") | quote }}
{{- end }}

{{- define "uswarm.publicUrl" -}}
{{- default (include "uswarm.edgeUrl" .) .Values.http.publicUrl }}
{{- end }}
