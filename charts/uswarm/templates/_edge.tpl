{{/* How the edge of this chart is reached from outside; empty without one. */}}
{{- define "uswarm.edgeUrl" -}}
{{- if .Values.ingress.enabled }}
{{- printf "http%s://%s" (ternary "s" "" (ne .Values.ingress.tls.secretName "")) .Values.ingress.host }}
{{- else if .Values.httpRoute.enabled }}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) }}
{{- end }}
{{- end }}

{{- define "uswarm.publicUrl" -}}
{{- default (include "uswarm.edgeUrl" .) .Values.http.publicUrl }}
{{- end }}
