{{/* JSON on; no limiter, which would let four requests an hour through; only the engines that are named. */}}
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
# Less than the ten seconds after which the tool gives up, so that slow engines cost only themselves.
outgoing:
  request_timeout: 4
  max_request_timeout: 8
  enable_http2: true
{{- end }}
