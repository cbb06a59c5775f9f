{{/*
The controller may create Deployments and delete pods in these namespaces. Helm creates objects in them one after another
and stops at the first one whose namespace is missing. Without a cluster, lookup returns nothing.
*/}}
{{- define "uswarm.validateNamespaces" -}}
{{- $own := .Values.runtime.namespace }}
{{- if eq $own .Release.Namespace }}
{{- fail "runtime.namespace must not be the release's namespace: runtimes need a separate namespace." }}
{{- end }}
{{- if has .Release.Namespace .Values.runtime.extraNamespaces }}
{{- fail "runtime.extraNamespaces must not contain the release's namespace: runtimes need separate namespaces." }}
{{- end }}
{{- $created := include "uswarm.createdNamespaces" . | fromJsonArray }}
{{- $isConnected := lookup "v1" "Namespace" "" "default" }}
{{- range $name := prepend .Values.runtime.extraNamespaces $own | uniq }}
{{- $value := eq $name $own | ternary "runtime.namespace" "runtime.extraNamespaces" }}
{{- if regexMatch "^(kube|openshift)(-|$)" $name }}
{{- fail (printf "%s must not contain %s: the namespace belongs to the cluster, and the controller may create Deployments and delete pods in namespaces of runtimes." $value $name) }}
{{- end }}
{{- $found := lookup "v1" "Namespace" "" $name }}
{{- if dig "metadata" "deletionTimestamp" "" $found }}
{{- fail (printf "%s contains %s, which is being deleted. Wait until it is deleted and create it again, or remove it from the value." $value $name) }}
{{- end }}
{{- if and $isConnected (not $found) (not (has $name $created)) (hasPrefix (printf "%s/" $.Chart.Name) $.Template.BasePath) }}
{{- fail (printf "%s contains %s, which does not exist. Create it, or remove it from the value%s." $value $name (eq $name $own | ternary ", or set runtime.createNamespace=true" "")) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Namespaces that the release creates. A parent chart can create others. */}}
{{- define "uswarm.createdNamespaces" -}}
{{- $names := list }}
{{- if .Values.runtime.createNamespace }}{{ $names = append $names .Values.runtime.namespace }}{{ end }}
{{- range .Values.extraObjects }}
{{- if eq .kind "Namespace" }}{{ $names = append $names (tpl .metadata.name $) }}{{ end }}
{{- end }}
{{- toJson $names }}
{{- end }}
