{{/* The hooks that run the drain: helm, argocd, or empty. `helm template` has no cluster, and Helm's hooks never run there. */}}
{{- define "uswarm.drainHooks" -}}
{{- if .Values.drain.enabled -}}
{{- $hooks := default "auto" .Values.drain.hooks -}}
{{- if eq $hooks "auto" -}}
{{- if lookup "v1" "Namespace" "" "default" }}helm{{ end -}}
{{- else if ne $hooks "none" -}}
{{- $hooks -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The ConfigMap that the drain creates as its flag while the release is uninstalled. */}}
{{- define "uswarm.drainFlag" -}}
{{ include "uswarm.fullname" . }}-drain
{{- end }}

{{- define "uswarm.runtimeNamespaces" -}}
{{ prepend .Values.runtime.extraNamespaces .Values.runtime.namespace | uniq | join "," }}
{{- end }}

{{/* Objects that `helm uninstall` keeps, one per line, with the command that deletes it. */}}
{{- define "uswarm.kept" -}}
{{- if and .Values.crds.enabled .Values.crds.keep }}
the CRD of UserSwarm: kubectl delete crd userswarms.uswarm.dev
{{- end }}
{{- if .Values.runtime.createNamespace }}
namespace {{ .Values.runtime.namespace }} with all its objects: kubectl delete namespace {{ .Values.runtime.namespace }}
{{- end }}
{{- if and (include "uswarm.modelEnvSecret" .) .Values.evaluation.enabled (not .Values.runtime.modelEnv.existingSecret) }}
Secret {{ include "uswarm.modelEnvSecret" . }} in namespace {{ .Values.runtime.namespace }}, with model API keys
{{- end }}
{{- if .Values.admissionPolicy.enabled }}
ValidatingAdmissionPolicy {{ include "uswarm.fullname" . }}-policy-lists and its binding, which match nothing
{{- end }}
{{ if include "uswarm.drainHooks" . }}UserSwarms with the label uswarm.dev/keep-on-uninstall=true{{ else }}UserSwarms{{ end }}, with their pods, which are no longer managed
existing Secrets, and external resources: database, Valkey, bucket
{{- end }}

{{- define "uswarm.drain.env" -}}
- name: DRAIN_FLAG
  value: {{ printf "%s/%s" .root.Release.Namespace (include "uswarm.drainFlag" .root) | quote }}
- name: DRAIN_RUN
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['batch.kubernetes.io/controller-uid']
- name: RUNTIME_NAMESPACES
  value: {{ include "uswarm.runtimeNamespaces" .root | quote }}
- name: DRAIN_GRACE_S
  value: {{ int .values.graceSeconds | quote }}
- name: DRAIN_TIMEOUT_S
  value: {{ int .values.timeoutSeconds | quote }}
- name: DRAIN_KEEPS
  value: {{ include "uswarm.kept" .root | trim | quote }}
{{- if eq .root.Values.controller.framework "builtin" }}
- name: CONTROLLER_LEASE
  value: {{ printf "%s/%s" .root.Release.Namespace (include "uswarm.componentName" (dict "root" .root "component" "controller")) | quote }}
{{- end }}
{{- end }}

{{- define "uswarm.cleanup.env" -}}
- name: RELEASE_NAMESPACE
  value: {{ .root.Release.Namespace | quote }}
- name: RELEASE_COMPONENTS
  value: {{ include "uswarm.cleanup.components" .root | quote }}
{{- if eq .root.Values.controller.framework "builtin" }}
- name: CONTROLLER_LEASE
  value: {{ printf "%s/%s" .root.Release.Namespace (include "uswarm.componentName" (dict "root" .root "component" "controller")) | quote }}
{{- end }}
- name: DRAIN_TIMEOUT_S
  value: {{ min 150 (int .values.timeoutSeconds) | quote }}
{{- end }}

{{/* The components whose Deployment or Service shows that the release exists. */}}
{{- define "uswarm.cleanup.components" -}}
{{- $names := list }}
{{- range list "orchestrator" "webhook" "controller" }}
{{- $names = append $names (include "uswarm.componentName" (dict "root" $ "component" .)) }}
{{- end }}
{{- join "," $names }}
{{- end }}

{{/* A Job that deletes UserSwarms: root, component, step, annotations, seconds (deadline). */}}
{{- define "uswarm.drain.job" -}}
{{- $values := merge (dict "image" .root.Values.controller.image "terminationGracePeriodSeconds" 5) .root.Values.drain }}
{{- $component := dict "root" .root "component" .component "values" $values "token" true "env" (printf "uswarm.%s.env" .component) }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "uswarm.componentName" $component }}{{ if ne .step .component }}-{{ .step }}{{ end }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "uswarm.labels" $component | nindent 4 }}
  annotations:
    {{- toYaml .annotations | nindent 4 }}
spec:
  backoffLimit: 3
  # An evicted pod is not a failure: the next pod continues.
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - { type: DisruptionTarget, status: 'True' }
      # The drain timed out, or the release is kept: another pod would fail in the same way.
      - action: FailJob
        onExitCodes: { containerName: drain, operator: In, values: [3] }
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
