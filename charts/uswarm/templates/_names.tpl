{{- define "uswarm.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* The name of a component's objects. SearXNG's name is fixed, because the search tool's documented endpoint contains it. */}}
{{- define "uswarm.componentName" -}}
{{- if eq .component "searxng" }}searxng{{ else }}{{ include "uswarm.fullname" .root }}-{{ .component }}{{ end }}
{{- end }}

{{/* Must never change: a Deployment's selector is immutable. */}}
{{- define "uswarm.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "uswarm.labels" -}}
{{ include "uswarm.selectorLabels" . }}
app.kubernetes.io/part-of: uswarm
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* metadata for a component's object in the release's namespace. */}}
{{- define "uswarm.metadata" -}}
name: {{ include "uswarm.componentName" . | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "uswarm.labels" . | nindent 2 }}
{{- end }}

{{/* Cluster-wide host name of a component's Service. */}}
{{- define "uswarm.host" -}}
{{ include "uswarm.componentName" . }}.{{ .root.Release.Namespace }}.svc.{{ .root.Values.clusterDomain }}
{{- end }}

{{/* an image's registry/repository */}}
{{- define "uswarm.imageRepository" -}}
{{ coalesce .root.Values.images.mirror .image.registry .root.Values.images.registry }}/{{ .image.repository }}
{{- end }}

{{- define "uswarm.image" -}}
{{ include "uswarm.imageRepository" . }}:{{ default (default .root.Chart.AppVersion .root.Values.images.tag) .image.tag }}
{{- with .image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "uswarm.pullPolicy" -}}
{{ default .root.Values.images.pullPolicy .image.pullPolicy }}
{{- end }}
