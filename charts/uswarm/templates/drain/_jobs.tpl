{{/* The ConfigMap that is there while the release is being removed. */}}
{{- define "uswarm.drainFlag" -}}
{{ include "uswarm.fullname" . }}-drain
{{- end }}

{{- define "uswarm.runtimeNamespaces" -}}
{{ prepend .Values.runtime.extraNamespaces .Values.runtime.namespace | uniq | join "," }}
{{- end }}

{{/* What helm leaves when it removes the release, one a line, with the way to remove it. */}}
{{- define "uswarm.kept" -}}
{{- if and .Values.crds.enabled .Values.crds.keep }}
the definition of UserSwarm: kubectl delete crd userswarms.uswarm.dev
{{- end }}
{{- if .Values.runtime.createNamespace }}
namespace {{ .Values.runtime.namespace }} with what is in it: kubectl delete namespace {{ .Values.runtime.namespace }}
{{- end }}
{{- if and (include "uswarm.modelEnvSecret" .) .Values.evaluation.enabled (not .Values.runtime.modelEnv.existingSecret) }}
Secret {{ include "uswarm.modelEnvSecret" . }} in namespace {{ .Values.runtime.namespace }}, with model keys
{{- end }}
{{ if .Values.drain.enabled }}UserSwarms labelled uswarm.dev/keep-on-uninstall=true{{ else }}UserSwarms{{ end }}, with their pods; nobody looks after them then
every Secret that values name, and what is outside of the cluster: database, Valkey, bucket
{{- end }}

{{- define "uswarm.drain.env" -}}
- name: DRAIN_FLAG
  value: {{ printf "%s/%s" .root.Release.Namespace (include "uswarm.drainFlag" .root) | quote }}
- name: RUNTIME_NAMESPACES
  value: {{ include "uswarm.runtimeNamespaces" .root | quote }}
- name: DRAIN_GRACE_S
  value: {{ int .values.graceSeconds | quote }}
- name: DRAIN_TIMEOUT_S
  value: {{ int .values.timeoutSeconds | quote }}
- name: DRAIN_KEEPS
  value: {{ include "uswarm.kept" .root | trim | quote }}
{{- end }}

{{/* A Job of `helm uninstall`: root, step, hook, seconds until it is given up. */}}
{{- define "uswarm.drain.job" -}}
{{- $values := merge (dict "image" .root.Values.controller.image "terminationGracePeriodSeconds" 5) .root.Values.drain }}
{{- $component := dict "root" .root "component" "drain" "values" $values "token" true "env" "uswarm.drain.env" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "uswarm.componentName" $component }}{{ if ne .step "drain" }}-{{ .step }}{{ end }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "uswarm.labels" $component | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: '0'
    # One that failed stays, to be read; the next one takes its place.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
spec:
  backoffLimit: 3
  # A pod that its node has no more room for is no failure: the next one goes on.
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - { type: DisruptionTarget, status: 'True' }
  activeDeadlineSeconds: {{ .seconds }}
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      {{- include "uswarm.podMetadata" $component | nindent 6 }}
    spec:
      {{- include "uswarm.podSpec" $component | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: drain
          {{- include "uswarm.container" $component | nindent 10 }}
          args: [/app/dist/drain-main.js, {{ .step }}]
          resources:
            {{- toYaml .root.Values.drain.resources | nindent 12 }}
{{- end }}
