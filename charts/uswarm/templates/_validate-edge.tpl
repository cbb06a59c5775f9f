{{- define "uswarm.validateEdge" -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host is required: without it, the Ingress would match every host." }}
{{- end }}
{{- with .Values.httpRoute }}
{{- if .enabled }}
{{- if not .parentRefs }}
{{- fail "httpRoute.parentRefs is required: name the parent Gateway as [{name, namespace, sectionName}]." }}
{{- end }}
{{- if not .hostnames }}
{{- fail "httpRoute.hostnames is required: without it, the HTTPRoute would match every host of its Gateway." }}
{{- end }}
{{- else if or .parentRefs .hostnames }}
{{- fail "httpRoute.parentRefs and httpRoute.hostnames have no effect unless httpRoute.enabled is true." }}
{{- end }}
{{- if and .enabled (not $.Values.http.publicUrl) (not $.Values.ingress.enabled) (hasPrefix "*" (first .hostnames)) }}
{{- fail "http.publicUrl is required: the first of httpRoute.hostnames is a wildcard, which file links cannot use." }}
{{- end }}
{{- if and .enabled $.Values.ingress.enabled (not (has $.Values.ingress.host .hostnames)) (not $.Values.http.publicUrl) }}
{{- fail "http.publicUrl is required: Ingress and HTTPRoute have different hosts, and file links need one of them." }}
{{- end }}
{{- end }}
{{- end }}

{{/* Rejects settings that would otherwise fail at the first sign-in. */}}
{{- define "uswarm.validateWeb" -}}
{{- with .Values.web }}
{{- if .enabled }}
{{- if not .clientId }}
{{- fail "web.clientId is required with web.enabled: register the page as a public client of the OIDC issuer." }}
{{- end }}
{{- if ne $.Values.signature.mode "off" }}
{{- fail "signature.mode=off is required with web.enabled: a page cannot keep the secret that signs requests." }}
{{- end }}
{{- $issuer := first $.Values.oidc.issuers }}
{{- if .issuer }}
{{- $issuer = dict }}
{{- range $each := $.Values.oidc.issuers }}{{ if eq $each.issuer $.Values.web.issuer }}{{ $issuer = $each }}{{ end }}{{ end }}
{{- if not $issuer }}
{{- fail "web.issuer must be the issuer of an entry of oidc.issuers: the API trusts no others." }}
{{- end }}
{{- end }}
{{- if not (has .clientId (include "uswarm.audiences" $issuer | fromJsonArray)) }}
{{- fail (printf "web.clientId must be an audience of %s in oidc.issuers: the API would refuse the tokens of the page." $issuer.issuer) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Proxies and TLS for an edge that this chart creates. Lists everything that is missing. */}}
{{- define "uswarm.validateTraffic" -}}
{{- $faults := list }}
{{- $services := include "uswarm.edgeServices" . | fromJsonArray }}
{{- $hidesClients := or .Values.ingress.enabled .Values.httpRoute.enabled }}
{{- $types := list }}
{{- range $services }}
{{- $service := (get $.Values .).service }}
{{- $types = append $types (printf "%s.service.type=%s" . $service.type) }}
{{- /* Otherwise, nodes replace client addresses by their own. */}}
{{- if ne $service.externalTrafficPolicy "Local" }}{{ $hidesClients = true }}{{ end }}
{{- end }}
{{- if and $hidesClients (not .Values.http.trustedProxies) (gt (int .Values.orchestrator.rateLimits.address.perSecond) 0) }}
{{- $faults = append $faults (printf "http.trustedProxies is required: without the addresses of the edge, all clients share one rate limit by address. Set it, %sor set orchestrator.rateLimits.address.perSecond=0." (empty $services | ternary "" "set service.externalTrafficPolicy=Local if no proxy is in front of the Services, ")) }}
{{- end }}
{{- if not .Values.http.insecure }}
{{- if and (include "uswarm.hasEdge" .) .Values.http.publicUrl (not (include "uswarm.edgeHasTls" .)) }}
{{- $faults = append $faults "http.publicUrl must use https: tokens would cross the network in plain text. Change it, or set http.insecure=true to allow plain HTTP." }}
{{- else if and .Values.ingress.enabled (not (include "uswarm.edgeHasTls" .)) }}
{{- $faults = append $faults "ingress.tls.secretName is required: tokens would cross the network in plain text. Name a TLS Secret, set http.publicUrl to an https URL if TLS ends before the Ingress, or set http.insecure=true to allow plain HTTP." }}
{{- end }}
{{- if and $services (not .Values.http.publicUrl) }}
{{- $faults = append $faults (printf "http.publicUrl is required with %s: these Services use plain HTTP, so tokens would cross the network in plain text. Set it to an https URL if TLS ends before them, for example in a load balancer that service.annotations configure, or set http.insecure=true to allow plain HTTP." (join " and " $types)) }}
{{- end }}
{{- end }}
{{- with $faults }}
{{- fail (join "\n" .) }}
{{- end }}
{{- end }}

{{- define "uswarm.validateScaling" -}}
{{- range $name := list "orchestrator" "gateway" "modelGateway" }}
{{- $component := get $.Values $name }}
{{- with $component.autoscaling }}
{{- if .enabled }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "%s.autoscaling.minReplicas must not exceed maxReplicas." $name) }}
{{- end }}
{{- if not (dig "requests" "cpu" "" $component.resources) }}
{{- fail (printf "%s.resources.requests.cpu is required: the target of %s.autoscaling is a percentage of it." $name $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.gateway }}
{{- if gt (add (int .shutdownWindowMs) 15000) (mul (int .terminationGracePeriodSeconds) 1000) }}
{{- fail "gateway.terminationGracePeriodSeconds must be at least 15 seconds more than gateway.shutdownWindowMs: a shutdown needs the time before and after it disconnects clients." }}
{{- end }}
{{- end }}
{{- if and (not .Values.objectStorage.bucket) (gt (int (include "uswarm.mostReplicas" (dict "values" .Values.orchestrator))) 1) }}
{{- fail "objectStorage.bucket is required: with orchestrator.replicas above 1, or orchestrator.autoscaling, each replica would store its own files." }}
{{- end }}
{{- end }}

{{/* Apps and their servers have the tokens of users, so none of these may be a token of an operator. */}}
{{- define "uswarm.validateOperators" -}}
{{- range $operators := .Values.operators.issuers }}
{{- range $users := $.Values.oidc.issuers }}
{{- if eq $operators.issuer $users.issuer }}
{{- range $audience := include "uswarm.audiences" $operators | fromJsonArray }}
{{- if has $audience (include "uswarm.audiences" $users | fromJsonArray) }}
{{- fail (printf "operators.issuers: %s is an audience of %s in oidc.issuers. Use a separate client for operators." $audience $users.issuer) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.audiences" -}}
{{- kindIs "string" .audience | ternary (list .audience) .audience | toJson }}
{{- end }}
