{{/* Before 1.33 the API server drops the field, unless a feature gate is on, and the controller would write it again and again. */}}
{{- define "uswarm.validatePods" -}}
{{- range $name, $hostUsers := dict "defaults.hostUsers" .Values.defaults.hostUsers "runtime.pods.hostUsers" .Values.runtime.pods.hostUsers }}
{{- if and (not $hostUsers) (semverCompare "<1.33.0-0" $.Capabilities.KubeVersion.Version) }}
{{- fail (printf "%s: false requires Kubernetes 1.33 or newer, and this cluster has %s." $name $.Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end }}
{{- range $name, $values := dict "orchestrator" .Values.orchestrator "gateway" .Values.gateway "modelGateway" .Values.modelGateway }}
{{- if and $values.autoscaling.enabled $values.autoscaling.external }}
{{- fail (printf "%s.autoscaling.enabled and external exclude each other: two autoscalers would overwrite each other's decision." $name) }}
{{- end }}
{{- end }}
{{- end }}
