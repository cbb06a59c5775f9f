{{- define "uswarm.validateEdge" -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "Not set: ingress.host; the Ingress must not take requests for every host of the cluster." }}
{{- end }}
{{- with .Values.httpRoute }}
{{- if .enabled }}
{{- if not .parentRefs }}
{{- fail "Not set: httpRoute.parentRefs; name the Gateway that the HTTPRoute belongs to, as [{name, namespace, sectionName}]." }}
{{- end }}
{{- if not .hostnames }}
{{- fail "Not set: httpRoute.hostnames; the HTTPRoute must not take requests for every host of its Gateway." }}
{{- end }}
{{- else if or .parentRefs .hostnames }}
{{- fail "httpRoute.parentRefs or httpRoute.hostnames is set without httpRoute.enabled=true; no HTTPRoute would be made." }}
{{- end }}
{{- if and .enabled (not $.Values.http.publicUrl) (not $.Values.ingress.enabled) (hasPrefix "*" (first .hostnames)) }}
{{- fail "Not set: http.publicUrl; httpRoute.hostnames begins with a wildcard, so the links to files would have no host." }}
{{- end }}
{{- if and .enabled $.Values.ingress.enabled (not (has $.Values.ingress.host .hostnames)) (not $.Values.http.publicUrl) }}
{{- fail "Not set: http.publicUrl; Ingress and HTTPRoute have different hosts, so it must say which of them the links to files name." }}
{{- end }}
{{- end }}
{{- end }}

{{/* What an edge of this chart must say about those behind it and about TLS. */}}
{{- define "uswarm.validateTraffic" -}}
{{- if include "uswarm.hasEdge" . }}
{{- if and (not .Values.http.trustedProxies) (gt (int .Values.orchestrator.rateLimits.address.perSecond) 0) }}
{{- fail "Not set: http.trustedProxies; name the addresses of the edge, else all clients share one rate limit by address. Or set orchestrator.rateLimits.address.perSecond=0." }}
{{- end }}
{{- if not (or .Values.http.insecure (include "uswarm.edgeHasTls" .)) }}
{{- if .Values.http.publicUrl }}
{{- fail "http.publicUrl does not begin with https; tokens would cross the network in plain text. Change it, or set http.insecure=true to accept that." }}
{{- end }}
{{- fail "Not set: ingress.tls.secretName; tokens would cross the network in plain text. Name a TLS Secret, set http.publicUrl to an https URL if TLS ends before the Ingress, or set http.insecure=true to accept plain HTTP." }}
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.validateScaling" -}}
{{- range $name := list "orchestrator" "gateway" }}
{{- $component := get $.Values $name }}
{{- with $component.autoscaling }}
{{- if .enabled }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "%s.autoscaling.minReplicas is above its maxReplicas." $name) }}
{{- end }}
{{- if not (dig "requests" "cpu" "" $component.resources) }}
{{- fail (printf "Not set: %s.resources.requests.cpu; the target of %s.autoscaling is a share of it." $name $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (not .Values.objectStorage.bucket) (gt (int (include "uswarm.mostReplicas" (dict "values" .Values.orchestrator))) 1) }}
{{- fail "Not set: objectStorage.bucket; with orchestrator.replicas above 1, or orchestrator.autoscaling, each replica would have files of its own." }}
{{- end }}
{{- end }}
