{{/*
Shared parts of all pods. Each include takes a dict: root, component, values (the component's values), and optionally
token (true if the pod uses the Kubernetes API), user (ids other than 65532), checksum (of the configuration).
*/}}

{{- define "uswarm.podMetadata" -}}
labels:
  {{- $own := include "uswarm.labels" . | fromYaml }}
  {{- /* Version labels would restart unchanged pods. */}}
  {{- $own = omit $own "helm.sh/chart" "app.kubernetes.io/version" }}
  {{- toYaml (merge $own (default dict .values.podLabels) .root.Values.defaults.podLabels) | nindent 2 }}
{{- $annotations := merge dict (default dict .values.podAnnotations) .root.Values.defaults.podAnnotations }}
{{- with .checksum }}
{{- $_ := set $annotations "checksum/config" . }}
{{- end }}
{{- /* The cluster autoscaler may evict these volumes. Volumes that are not listed block the removal of a node. */}}
{{- $local := "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes" }}
{{- /* The evaluation stores keep their data in the pod: a new annotation would lose it on upgrade. */}}
{{- if not (or (hasKey $annotations $local) (has .component (list "postgres" "valkey"))) }}
{{- $_ := set $annotations $local (default "tmp" .scratch) }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "uswarm.podSpec" -}}
{{- $defaults := .root.Values.defaults -}}
serviceAccountName: {{ include "uswarm.componentName" . | quote }}
automountServiceAccountToken: {{ default false .token }}
enableServiceLinks: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ int (default 30 .values.terminationGracePeriodSeconds) }}
securityContext:
  {{- $user := default $defaults.podSecurityContext .user }}
  {{- toYaml (merge (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")) $user) | nindent 2 }}
{{- with default $defaults.nodeSelector .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $defaults.tolerations .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "uswarm.affinity" . }}
{{- with coalesce .values.priorityClassName $defaults.priorityClassName (include "uswarm.priorityClass" .) }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $defaults.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- if not $defaults.hostUsers }}
hostUsers: false
{{- end }}
{{- include "uswarm.topologySpread" . }}
{{- end }}

{{/*
The class that the chart creates, for the permanent components. Jobs that run after the release is deleted cannot use it, and a
new class would replace the pods of the evaluation stores, which keep their data in the pod.
*/}}
{{- define "uswarm.priorityClass" -}}
{{- $components := list "orchestrator" "realtime-gateway" "model-gateway" "webhook" "controller" "searxng-client" "searxng" }}
{{- if and .root.Values.priorityClass.create (has .component $components) }}
{{- include "uswarm.fullname" .root }}-platform
{{- end }}
{{- end }}

{{- define "uswarm.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Image, security context and environment of a container; `env` names the template with its variables. */}}
{{- define "uswarm.container" -}}
image: {{ include "uswarm.image" (dict "root" .root "image" .values.image) }}
imagePullPolicy: {{ include "uswarm.pullPolicy" (dict "root" .root "image" .values.image) }}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  {{- include "uswarm.containerSecurityContext" . | nindent 2 }}
{{- with .env }}
env:
  {{- $more := concat $.root.Values.defaults.extraEnv (default list $.values.extraEnv) }}
  {{- $own := include . $ }}
  {{- if include "uswarm.secretFiles.used" $ }}
  {{- $own = include "uswarm.secretFiles.env" (dict "own" $own "more" $more) }}
  {{- end }}
  {{- include "uswarm.env" (dict "own" $own "more" $more) | trim | nindent 2 }}
{{- end }}
{{- end }}

{{/* A later variable overrides an earlier one of the same name, because names in the list must be unique. */}}
{{- define "uswarm.env" -}}
{{- $byName := dict }}
{{- $names := list }}
{{- range concat (fromYamlArray .own) .more }}
{{- $_ := set $byName .name . }}
{{- $names = append $names .name }}
{{- end }}
{{- range uniq $names }}
- {{ toYaml (get $byName .) | nindent 2 | trim }}
{{- end }}
{{- end }}

{{/*
A container may wait one minute for its database on start. A hung process ignores SIGTERM, so the probes do not wait for
the termination grace period of the pod, which is for running requests.
*/}}
{{- define "uswarm.opsProbes" -}}
startupProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 1
  failureThreshold: 90
  terminationGracePeriodSeconds: 5
livenessProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 5
  terminationGracePeriodSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 3
  timeoutSeconds: 3
{{- end }}

{{/* Time for the edge to remove the pod before the pod stops accepting requests. */}}
{{- define "uswarm.drain" -}}
lifecycle:
  preStop:
    sleep:
      seconds: 5
{{- end }}

{{- define "uswarm.logLevel" -}}
- name: LOG_LEVEL
  value: {{ default .root.Values.defaults.logLevel .values.logLevel | quote }}
{{- end }}

{{- define "uswarm.hasTrustedCA" -}}
{{- with .Values.trustedCA }}{{ if or .existingConfigMap .existingSecret }}true{{ end }}{{ end }}
{{- end }}

{{- define "uswarm.trustedCA.env" -}}
{{- if include "uswarm.hasTrustedCA" . }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/uswarm/trusted-ca/{{ .Values.trustedCA.key }}
{{- end }}
{{- end }}

{{/* Whether services reach https outside of the cluster only through the proxy. */}}
{{- define "uswarm.proxy.isMandatory" -}}
{{- if .Values.proxy.https }}true{{ end }}
{{- end }}

{{- define "uswarm.proxy.urls" -}}
{{- compact (list .Values.proxy.https .Values.proxy.http) | uniq | toJson }}
{{- end }}

{{/* Names of the cluster and of the release, its ranges, and proxy.noProxy. */}}
{{- define "uswarm.proxy.noProxy" -}}
{{- $names := list "localhost" "127.0.0.1" "::1" "$(KUBERNETES_SERVICE_HOST)" ".svc" (printf ".%s" .Values.clusterDomain) }}
{{- range list "orchestrator" "realtime-gateway" "model-gateway" "webhook" "searxng-client" "searxng" }}
{{- $name := include "uswarm.componentName" (dict "root" $ "component" .) }}
{{- $names = append $names $name }}
{{- $names = append $names (printf "%s.%s" $name $.Release.Namespace) }}
{{- end }}
{{- concat $names .Values.networkPolicy.clusterRanges .Values.proxy.noProxy | uniq | join "," }}
{{- end }}

{{/* For services that call servers outside of the cluster. */}}
{{- define "uswarm.proxy.env" -}}
{{- if or .Values.proxy.https .Values.proxy.http }}
{{- with .Values.proxy.https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
- name: NO_PROXY
  value: {{ include "uswarm.proxy.noProxy" . | quote }}
{{- if .Values.secrets.proxy.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" . "name" "proxy" "variable" "PROXY_USERNAME" "field" "username") | trim }}
{{ include "uswarm.secretEnv" (dict "root" . "name" "proxy" "variable" "PROXY_PASSWORD" "field" "password") | trim }}
{{- end }}
{{- end }}
{{- end }}

{{/* For services that work on questions. */}}
{{- define "uswarm.tracing.env" -}}
{{- with .Values.tracing }}
{{- if .otlp.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .otlp.endpoint | quote }}
{{- if $.Values.secrets.tracing.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" $ "name" "tracing" "variable" "OTEL_EXPORTER_OTLP_HEADERS" "field" "headers") | trim }}
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .ratio | quote }}
{{- with .resourceAttributes }}
{{- $attributes := list }}
{{- range $name, $value := . }}
{{- $attributes = append $attributes (printf "%s=%s" $name (urlquery $value | replace "+" "%20")) }}
{{- end }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ join "," $attributes | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.trustedCA.mount" -}}
{{- if include "uswarm.hasTrustedCA" . }}
- name: trusted-ca
  mountPath: /etc/uswarm/trusted-ca
  readOnly: true
{{- end }}
{{- end }}

{{- define "uswarm.trustedCA.volume" -}}
{{- with .Values.trustedCA }}
{{- if .existingConfigMap }}
- name: trusted-ca
  configMap:
    name: {{ .existingConfigMap | quote }}
    items: [{ key: {{ .key | quote }}, path: {{ .key | quote }} }]
{{- else if .existingSecret }}
- name: trusted-ca
  secret:
    secretName: {{ .existingSecret | quote }}
    items: [{ key: {{ .key | quote }}, path: {{ .key | quote }} }]
{{- end }}
{{- end }}
{{- end }}

{{/* Labels and annotations of an object: root, component, own and common ({labels, annotations}). */}}
{{- define "uswarm.objectMetadata" -}}
name: {{ include "uswarm.componentName" . }}{{ .suffix }}
namespace: {{ .root.Release.Namespace | quote }}
{{- $own := default dict .own }}
labels:
  {{- toYaml (merge (include "uswarm.labels" . | fromYaml) (default dict $own.labels) (default dict .common.labels)) | nindent 2 }}
{{- with merge dict (default dict $own.annotations) (default dict .common.annotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "uswarm.deploymentMetadata" -}}
{{- $own := dict "labels" .values.deploymentLabels "annotations" .values.deploymentAnnotations }}
{{- $common := dict "labels" .root.Values.defaults.deploymentLabels "annotations" .root.Values.defaults.deploymentAnnotations }}
{{- include "uswarm.objectMetadata" (merge (dict "own" $own "common" $common) .) }}
{{- end }}

{{- define "uswarm.serviceAccount" -}}
{{- $own := default dict (default dict .values).serviceAccount }}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "uswarm.objectMetadata" (merge (dict "own" $own "common" .root.Values.defaults.serviceAccount) .) | nindent 2 }}
automountServiceAccountToken: {{ default false $own.automount }}
{{- end }}

{{/* `ports` maps names to numbers. */}}
{{- define "uswarm.service" -}}
{{- $own := default dict (default dict .values).service }}
{{- $metadata := merge (dict "own" $own "common" .root.Values.defaults.service) . }}
apiVersion: v1
kind: Service
metadata:
  {{- include "uswarm.objectMetadata" $metadata | nindent 2 }}
spec:
  type: ClusterIP
  {{- with (default dict .values).clusterIP }}
  clusterIP: {{ . | quote }}
  {{- end }}
  selector:
    {{- include "uswarm.selectorLabels" . | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - name: {{ $name | quote }}
      port: {{ $port }}
      targetPort: {{ $name }}
      protocol: TCP
    {{- end }}
{{- if and $own.type (ne $own.type "ClusterIP") }}
---
# A separate Service, because the Service above also has the internal API and metrics, which must stay in the cluster.
apiVersion: v1
kind: Service
metadata:
  {{- include "uswarm.objectMetadata" (merge (dict "suffix" "-edge") $metadata) | nindent 2 }}
spec:
  type: {{ $own.type }}
  {{- with $own.externalTrafficPolicy }}
  externalTrafficPolicy: {{ . }}
  {{- end }}
  {{- if eq $own.type "LoadBalancer" }}
  {{- with $own.loadBalancerClass }}
  loadBalancerClass: {{ . | quote }}
  {{- end }}
  {{- with $own.loadBalancerSourceRanges }}
  loadBalancerSourceRanges:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  selector:
    {{- include "uswarm.selectorLabels" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .ports.http }}
      targetPort: http
      protocol: TCP
      {{- with $own.nodePort }}
      nodePort: {{ int . }}
      {{- end }}
{{- end }}
{{- end }}
