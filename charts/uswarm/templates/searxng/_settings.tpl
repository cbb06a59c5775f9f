{{/* Enables JSON and only the listed engines. Disables the limiter, which would allow four requests per hour. */}}
{{- define "uswarm.searxng.settings" -}}
{{- $settings := fromYaml (include "uswarm.searxng.baseSettings" .) }}
{{- $_ := set $settings "engines" .Values.searxng.engines }}
{{- toYaml (mustMergeOverwrite $settings (deepCopy .Values.searxng.settings)) }}
{{- end }}

{{- define "uswarm.searxng.baseSettings" -}}
use_default_settings:
  engines:
    keep_only: []
general:
  instance_name: uswarm
  debug: false
  enable_metrics: false
search:
  formats: [html, json]
  safe_search: 0
  default_lang: en
server:
  bind_address: {{ .Values.searxng.bindAddress | quote }}
  port: 8080
  limiter: false
  public_instance: false
valkey:
  url: false
ui:
  default_locale: en
# Less than the 10 s timeout of the search tool, so that a slow engine affects only its own results.
outgoing:
  request_timeout: 4
  max_request_timeout: 8
  enable_http2: true
{{- if or .Values.proxy.https .Values.proxy.http }}
  proxies:
    {{- with .Values.proxy.https }}
    'https://': {{ . | quote }}
    {{- end }}
    {{- with .Values.proxy.http }}
    'http://': {{ . | quote }}
    {{- end }}
{{- end }}
{{- end }}
