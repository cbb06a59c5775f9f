{{- define "uswarm.orchestrator.env" -}}
{{- $values := .root.Values }}
{{- include "uswarm.migrations.env" . }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "realtime" "variable" "REALTIME_REDIS_URL") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "internalApi" "variable" "INTERNAL_API_KEY") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "cursor" "variable" "CURSOR_KEY") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "identityHash" "variable" "IDENTITY_HASH_KEY") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "callKey" "variable" "CALL_PRIVATE_KEY" "field" "privateKey") }}
- name: SIGNATURE_MODE
  value: {{ $values.signature.mode | quote }}
{{- if eq $values.signature.mode "required" }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "signature" "variable" "SIGNATURE_SECRET") }}
{{- end }}
- name: OIDC_ISSUERS
  value: {{ include "uswarm.oidcIssuers" .root | quote }}
- name: OIDC_CLOCK_TOLERANCE_S
  value: {{ int $values.oidc.clockToleranceSeconds | quote }}
- name: HTTP_PORT
  value: '8080'
- name: OPS_PORT
  value: '8081'
- name: INTERNAL_PORT
  value: '8082'
- name: MIGRATE
  value: 'false'
- name: DATABASE_MAX_CONNECTIONS
  value: {{ int .values.databaseMaxConnections | quote }}
- name: TURN_WORKERS
  value: {{ int .values.turnWorkers | quote }}
- name: RUNTIME_WORKERS
  value: {{ int .values.runtimeWorkers | quote }}
- name: RUNTIME_DRIVER
  value: kubernetes
- name: RUNTIME_NAMESPACE
  value: {{ $values.runtime.namespace | quote }}
- name: RUNTIME_ENV_SECRET
  value: {{ include "uswarm.modelEnvSecret" .root | quote }}
- name: RUNTIME_DEFAULT_PROVIDER
  value: {{ $values.runtime.defaultProvider | quote }}
- name: RUNTIME_DEFAULT_MODEL
  value: {{ $values.runtime.defaultModel | quote }}
- name: IDLE_SUSPEND_AFTER_S
  value: {{ int $values.runtime.idleSuspendAfterSeconds | quote }}
- name: LEGAL_VERSION
  value: {{ .values.legal.version | quote }}
{{- if .values.legal.existingConfigMap }}
- name: LEGAL_DIRECTORY
  value: /etc/uswarm/legal
{{- end }}
{{- if $values.nonProduction.e2eBypass }}
- name: USWARM_ENV
  value: test
{{ include "uswarm.secretEnv" (dict "root" .root "name" "e2e" "variable" "E2E_TOKEN") }}
{{- end }}
{{- end }}

{{- define "uswarm.migrations.env" -}}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "database" "variable" "DATABASE_URL") }}
{{- include "uswarm.trustedCA.env" .root }}
{{ include "uswarm.logLevel" . }}
{{- end }}

{{- define "uswarm.oidcIssuers" -}}
{{- $issuers := list }}
{{- range .Values.oidc.issuers }}
{{- $issuer := dict "issuer" .issuer "audience" .audience }}
{{- with .jwksUri }}{{ $_ := set $issuer "jwks_uri" . }}{{ end }}
{{- with .id }}{{ $_ := set $issuer "id" . }}{{ end }}
{{- $issuers = append $issuers $issuer }}
{{- end }}
{{- toJson $issuers }}
{{- end }}
