{{/* How many replicas of a component there can be. */}}
{{- define "uswarm.mostReplicas" -}}
{{- $autoscaling := default dict .values.autoscaling }}
{{- ternary $autoscaling.maxReplicas .values.replicas (default false $autoscaling.enabled) | default 1 | int }}
{{- end }}

{{/* Left out where an autoscaler decides: an upgrade would undo what it decided. */}}
{{- define "uswarm.replicas" -}}
{{- if not (default dict .values.autoscaling).enabled }}
replicas: {{ int .values.replicas }}
{{- end }}
{{- end }}

{{/* The affinity that was set. Without a word about other pods in it, replicas keep away from each other where they can. */}}
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

{{/* The constraints that were set, else even over nodes and zones where that can be. */}}
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

{{/* None for a single replica, which no drain of a node could move. Pods that are broken never hold one up. */}}
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

{{/* Slow to take pods away: each sends its sockets, or the replies under way, to the others. */}}
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
    name: {{ include "uswarm.componentName" $ }}
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
