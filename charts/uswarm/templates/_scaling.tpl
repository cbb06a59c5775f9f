{{/* A component's maximum replica count. */}}
{{- define "uswarm.mostReplicas" -}}
{{- $autoscaling := default dict .values.autoscaling }}
{{- ternary $autoscaling.maxReplicas .values.replicas (or $autoscaling.enabled $autoscaling.external | default false) | default 1 | int }}
{{- end }}

{{/* Omitted with an autoscaler, whose decision an upgrade would overwrite. */}}
{{- define "uswarm.replicas" -}}
{{- $autoscaling := default dict .values.autoscaling }}
{{- if not (or $autoscaling.enabled $autoscaling.external) }}
replicas: {{ int .values.replicas }}
{{- end }}
{{- end }}

{{/* The configured affinity. Without a podAntiAffinity, replicas prefer different nodes. */}}
{{- define "uswarm.affinity" -}}
{{- $affinity := deepCopy (default .root.Values.defaults.affinity .values.affinity) }}
{{- if and (gt (int (include "uswarm.mostReplicas" .)) 1) (not (hasKey $affinity "podAntiAffinity")) }}
{{- $_ := set $affinity "podAntiAffinity" (include "uswarm.softAntiAffinity" . | fromYaml) }}
{{- end }}
{{- with $affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "uswarm.softAntiAffinity" -}}
preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "uswarm.selectorLabels" . | nindent 10 }}
{{- end }}

{{/* The configured constraints. By default, replicas prefer an even spread over nodes and zones. */}}
{{- define "uswarm.topologySpread" -}}
{{- if .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else if gt (int (include "uswarm.mostReplicas" .)) 1 }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "uswarm.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end }}

{{/* None for a single replica, because it would block node drains. Unhealthy pods never block one. */}}
{{- define "uswarm.podDisruptionBudget" -}}
{{- if and .values.podDisruptionBudget.enabled (gt (int (include "uswarm.mostReplicas" .)) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "uswarm.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "uswarm.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Scales down slowly, because each removed pod moves its connections or running turns to the others. */}}
{{- define "uswarm.horizontalPodAutoscaler" -}}
{{- with .values.autoscaling }}
{{- if .enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "uswarm.metadata" $ | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "uswarm.componentName" $ | quote }}
  minReplicas: {{ int .minReplicas }}
  maxReplicas: {{ int .maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int .targetCPUUtilizationPercentage }}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: {{ int .scaleDown.stabilizationSeconds }}
      policies:
        - type: Pods
          value: 1
          periodSeconds: {{ int .scaleDown.periodSeconds }}
{{- end }}
{{- end }}
{{- end }}
