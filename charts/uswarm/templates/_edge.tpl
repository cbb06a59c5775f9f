{{/* External URL of the edge that this chart creates; empty if there is none. */}}
{{- define "uswarm.edgeUrl" -}}
{{- if .Values.ingress.enabled }}
{{- printf "http%s://%s" (ternary "s" "" (ne .Values.ingress.tls.secretName "")) .Values.ingress.host }}
{{- else if .Values.httpRoute.enabled }}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) }}
{{- end }}
{{- end }}

{{/* `true` if clients use https. */}}
{{- define "uswarm.edgeHasTls" -}}
{{- if hasPrefix "https://" (include "uswarm.publicUrl" .) }}true{{ end }}
{{- end }}

{{/* Whether this chart creates an edge. */}}
{{- define "uswarm.hasEdge" -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled (include "uswarm.edgeServices" . | fromJsonArray) }}true{{ end }}
{{- end }}

{{/* The components whose Service is reachable from outside the cluster, as a JSON array. They serve plain HTTP. */}}
{{- define "uswarm.edgeServices" -}}
{{- $names := list }}
{{- range $name := list "orchestrator" "gateway" }}
{{- if ne (get $.Values $name).service.type "ClusterIP" }}
{{- $names = append $names $name }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{/*
Whether an edge could use plain HTTP. A Service beside an Ingress or HTTPRoute does not use their TLS: only http.publicUrl
states that TLS ends before it.
*/}}
{{- define "uswarm.edgeIsPlain" -}}
{{- if or (not (include "uswarm.edgeHasTls" .)) (and (include "uswarm.edgeServices" . | fromJsonArray) (not .Values.http.publicUrl)) }}true{{ end }}
{{- end }}

{{/* Strict-Transport-Security is sent only over https; browsers ignore it over http. */}}
{{- define "uswarm.hsts.env" -}}
- name: HSTS_MAX_AGE_S
  value: {{ ternary (int64 .Values.http.hstsMaxAgeSeconds) 0 (include "uswarm.edgeHasTls" . | eq "true") | quote }}
{{- end }}

{{- define "uswarm.publicUrl" -}}
{{- default (include "uswarm.edgeUrl" .) .Values.http.publicUrl }}
{{- end }}
