{{- define "uswarm.orchestrator.env" -}}
{{- $values := .root.Values }}
{{- include "uswarm.database.env" . }}
{{- if $values.secrets.databaseRead.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "databaseRead" "variable" "DATABASE_READ_URL") }}
{{- end }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "realtime" "variable" "REALTIME_REDIS_URL") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "internalApi" "variable" "INTERNAL_API_KEY") }}
{{- if $values.secrets.internalApi.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "internalApi" "variable" "INTERNAL_API_KEY_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{- if and $values.secrets.admin.existingSecret $values.secrets.admin.operatorKeys }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "admin" "variable" "ADMIN_API_KEYS" "field" "operatorKeys") }}
{{- else if $values.secrets.admin.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "admin" "variable" "ADMIN_API_KEY") }}
{{- if $values.secrets.admin.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "admin" "variable" "ADMIN_API_KEY_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{- end }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "cursor" "variable" "CURSOR_KEY") }}
{{- if $values.secrets.cursor.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "cursor" "variable" "CURSOR_KEY_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "identityHash" "variable" "IDENTITY_HASH_KEY") }}
{{- if $values.secrets.identityHash.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "identityHash" "variable" "IDENTITY_HASH_KEY_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "callKey" "variable" "CALL_PRIVATE_KEY" "field" "privateKey") }}
{{- if $values.secrets.callKey.previousPrivateKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "callKey" "variable" "CALL_PRIVATE_KEY_PREVIOUS" "field" "previousPrivateKey") }}
{{- end }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "mcpSigning" "variable" "SVC_MCP_SIGNING_KEY") }}
{{- if include "uswarm.gatewayProviders" .root }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "modelToken" "variable" "MODEL_TOKEN_SIGNING_KEY") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "modelCalls" "variable" "MODEL_CALLS_KEY") }}
{{- if $values.secrets.modelCalls.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "modelCalls" "variable" "MODEL_CALLS_KEY_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{- end }}
- name: SIGNATURE_MODE
  value: {{ $values.signature.mode | quote }}
{{- if eq $values.signature.mode "required" }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "signature" "variable" "SIGNATURE_SECRET") }}
{{- if $values.secrets.signature.previousKey }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "signature" "variable" "SIGNATURE_SECRET_PREVIOUS" "field" "previousKey") }}
{{- end }}
{{- end }}
- name: OIDC_ISSUERS
  value: {{ include "uswarm.oidcIssuers" .root | quote }}
{{- if $values.operators.issuers }}
- name: OPERATOR_ISSUERS
  value: {{ include "uswarm.operatorIssuers" .root | quote }}
{{- end }}
{{- if $values.nonProduction.oidcAllowHttp }}
- name: OIDC_ALLOW_HTTP
  value: 'true'
{{- end }}
- name: OIDC_CLOCK_TOLERANCE_S
  value: {{ int $values.oidc.clockToleranceSeconds | quote }}
- name: HTTP_PORT
  value: '8080'
- name: OPS_PORT
  value: '8081'
- name: INTERNAL_PORT
  value: '8082'
- name: HTTP_TRUSTED_PROXIES
  value: {{ join "," $values.http.trustedProxies | quote }}
- name: CORS_ORIGINS
  value: {{ join "," $values.http.corsOrigins | quote }}
- name: DOCS_ENABLED
  value: {{ $values.docs.enabled | quote }}
{{- with $values.web }}{{- if .enabled }}
- name: WEB_CLIENT_ID
  value: {{ .clientId | quote }}
- name: WEB_SCOPES
  value: {{ .scopes | quote }}
- name: WEB_ISSUER
  value: {{ .issuer | quote }}
- name: WEB_ISSUER_ORIGINS
  value: {{ join "," .issuerOrigins | quote }}
{{- end }}{{- end }}
{{ include "uswarm.hsts.env" .root }}
{{- range $name, $limit := dict "IP" .values.rateLimits.address "USER" .values.rateLimits.user "SENDS" .values.rateLimits.sends "SEARCH" .values.rateLimits.search "TRIGGERS" .values.rateLimits.triggers }}
- name: RATE_{{ $name }}_PER_S
  value: {{ int $limit.perSecond | quote }}
- name: RATE_{{ $name }}_BURST
  value: {{ int $limit.burst | quote }}
{{- end }}
- name: MIGRATE
  value: 'false'
- name: DATABASE_MAX_CONNECTIONS
  value: {{ int .values.databaseMaxConnections | quote }}
{{- if .values.codeRunner.enabled }}
- name: CODE_RUNNER_ENABLED
  value: 'true'
- name: CODE_RUNNER_PROCESSES
  value: {{ int .values.codeRunner.processes | quote }}
{{- end }}
- name: SCHEDULES_ENABLED
  value: {{ .values.schedules.enabled | quote }}
- name: SCHEDULES_PER_USER
  value: {{ int .values.schedules.perUser | quote }}
- name: SCHEDULE_INTERVAL_S
  value: {{ mul (int .values.schedules.minimumMinutes) 60 | quote }}
- name: SCHEDULES_SPREAD_S
  value: {{ int .values.schedules.spreadSeconds | quote }}
- name: TRIGGERS_ENABLED
  value: {{ .values.triggers.enabled | quote }}
- name: TURN_WORKERS
  value: {{ int .values.turnWorkers | quote }}
- name: RUNTIME_WORKERS
  value: {{ int .values.runtimeWorkers | quote }}
- name: RUNTIME_DRIVER
  value: kubernetes
- name: RUNTIME_NAMESPACE
  value: {{ $values.runtime.namespace | quote }}
- name: CALL_STARTING_RUNTIMES
  value: {{ .values.callStartingRuntimes | quote }}
- name: RUNTIME_ENV_SECRET
  value: {{ empty (include "uswarm.gatewayProviders" .root) | ternary (include "uswarm.modelEnvSecret" .root) "" | quote }}
- name: RUNTIME_DEFAULT_PROVIDER
  value: {{ $values.runtime.defaultProvider | quote }}
- name: MODEL_PROVIDER
  value: {{ include "uswarm.modelProvider" .root | quote }}
- name: RUNTIME_DEFAULT_MODEL
  value: {{ $values.runtime.defaultModel | quote }}
{{- if $values.drain.enabled }}
- name: DRAIN_FLAG
  value: {{ printf "%s/%s" .root.Release.Namespace (include "uswarm.drainFlag" .root) | quote }}
{{- end }}
- name: IDLE_SUSPEND_AFTER_S
  value: {{ int $values.runtime.idleSuspendAfterSeconds | quote }}
{{ include "uswarm.orchestrator.files" .root }}
{{- if $values.secrets.integrations.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "integrations" "variable" "INTEGRATION_PROVIDERS" "field" "providers") }}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "integrations" "variable" "INTEGRATION_TOKEN_KEYS" "field" "tokenKeys") }}
{{- end }}
{{- with $values.secrets.push }}{{- if .existingSecret }}
{{- if .serviceAccount }}
{{ include "uswarm.secretEnv" (dict "root" $.root "name" "push" "variable" "PUSH_SERVICE_ACCOUNT" "field" "serviceAccount") }}
{{- end }}
{{- with $.values.push.apns }}{{- if $values.secrets.push.apnsKey }}
{{ include "uswarm.secretEnv" (dict "root" $.root "name" "push" "variable" "APNS_KEY" "field" "apnsKey") }}
- name: APNS_KEY_ID
  value: {{ required "orchestrator.push.apns.keyId is required with secrets.push.apnsKey: the id of Apple's key." .keyId | quote }}
- name: APNS_TEAM_ID
  value: {{ required "orchestrator.push.apns.teamId is required with secrets.push.apnsKey: the id of Apple's team." .teamId | quote }}
- name: APNS_TOPIC
  value: {{ required "orchestrator.push.apns.topic is required with secrets.push.apnsKey: the bundle id of the app." .topic | quote }}
- name: APNS_ENVIRONMENT
  value: {{ .environment | quote }}
{{- end }}{{- end }}
{{- with $.values.push.web }}{{- if $values.secrets.push.webPushKey }}
{{ include "uswarm.secretEnv" (dict "root" $.root "name" "push" "variable" "WEB_PUSH_PRIVATE_KEY" "field" "webPushKey") }}
- name: WEB_PUSH_CONTACT
  value: {{ required "orchestrator.push.web.contact is required with secrets.push.webPushKey: a mailto: or https: URL." .contact | quote }}
- name: WEB_PUSH_PRIVATE_HOSTS
  value: {{ join "," .privateHosts | quote }}
{{- end }}{{- end }}
- name: PUSH_PREVIEW
  value: {{ $.values.push.preview | quote }}
{{- end }}{{- end }}
{{- if .values.integrations.existingConfigMap }}
- name: INTEGRATION_CATALOG_FILE
  value: /etc/uswarm/integrations/integrations.json
{{- end }}
{{- if include "uswarm.transcribes" .root }}
- name: MODEL_GATEWAY_URL
  value: {{ include "uswarm.modelGatewayUrl" .root }}
{{- with $values.modelGateway.transcription }}
- name: TRANSCRIPTION_MODEL
  value: {{ .model | quote }}
- name: TRANSCRIPTION_MAX_MINUTES
  value: {{ .maxMinutes | quote }}
{{- range $name, $price := dict "PER_MINUTE" .prices.perMinute "INPUT" .prices.input "OUTPUT" .prices.output }}
{{- if $price }}
- name: TRANSCRIPTION_PRICE_{{ $name }}
  value: {{ int64 $price | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if .values.agents.existingConfigMap }}
- name: AGENTS_FILE
  value: /etc/uswarm/agents/agents.json
{{- end }}
{{- if .values.models.existingConfigMap }}
- name: MODELS_FILE
  value: /etc/uswarm/models/models.json
{{- end }}
{{- with $values.toolServers }}{{- if .servers }}
- name: TOOL_SERVERS_FILE
  value: /etc/uswarm/tool-servers/tool-servers.json
{{- if .existingSecret }}
- name: TOOL_SERVER_SECRETS
  value: /etc/uswarm/tool-server-secrets
{{- end }}
{{- end }}{{- end }}
{{- with $values.toolServers.userServers }}{{- if .enabled }}
- name: USER_TOOL_SERVERS
  value: 'true'
- name: USER_TOOL_SERVERS_PER_USER
  value: {{ int .maxPerUser | quote }}
- name: USER_TOOL_SERVERS_REDIRECT_URLS
  value: {{ join "," .redirectUrls | quote }}
- name: USER_TOOL_SERVERS_PRIVATE_HOSTS
  value: {{ join "," .privateHosts | quote }}
{{- end }}{{- end }}
{{- with $values.userWebhooks }}{{- if .enabled }}
- name: USER_WEBHOOKS
  value: 'true'
- name: USER_WEBHOOKS_PER_WORKSPACE
  value: {{ int .maxPerWorkspace | quote }}
- name: USER_WEBHOOK_WORKERS
  value: {{ int .workers | quote }}
- name: USER_WEBHOOKS_PRIVATE_HOSTS
  value: {{ join "," .privateHosts | quote }}
{{- end }}{{- end }}
{{- include "uswarm.tracing.env" .root }}
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

{{/* Uploads: public URL, object storage, limits. */}}
{{- define "uswarm.orchestrator.files" -}}
{{- $values := .Values }}
- name: PUBLIC_URL
  value: {{ include "uswarm.publicUrl" . | quote }}
- name: UPLOAD_BYTES
  value: {{ int64 $values.orchestrator.uploads.maxBytes | quote }}
- name: UPLOAD_BYTES_PER_USER
  value: {{ int64 $values.orchestrator.uploads.maxBytesPerUser | quote }}
- name: UPLOADS_AT_ONCE
  value: {{ int $values.orchestrator.uploads.atOnce | quote }}
- name: UPLOADS_AT_ONCE_PER_USER
  value: {{ int $values.orchestrator.uploads.atOncePerUser | quote }}
- name: UPLOADS_PER_USER
  value: {{ int $values.orchestrator.uploads.maxFilesPerUser | quote }}
{{- with $values.objectStorage }}
{{- if .bucket }}
- name: OBJECT_STORE
  value: s3
- name: S3_BUCKET
  value: {{ .bucket | quote }}
- name: S3_REGION
  value: {{ .region | quote }}
- name: S3_ENDPOINT
  value: {{ .endpoint | quote }}
- name: S3_PREFIX
  value: {{ .prefix | quote }}
- name: S3_PATH_STYLE
  value: {{ get (dict "auto" "" "always" "true" "never" "false") .pathStyle | quote }}
{{- if $values.secrets.objectStorage.existingSecret }}
{{ include "uswarm.secretEnv" (dict "root" $ "name" "objectStorage" "variable" "S3_ACCESS_KEY_ID" "field" "accessKeyId") }}
{{ include "uswarm.secretEnv" (dict "root" $ "name" "objectStorage" "variable" "S3_SECRET_ACCESS_KEY" "field" "secretAccessKey") }}
{{- end }}
{{- else }}
- name: OBJECT_STORE
  value: file
- name: OBJECT_DIRECTORY
  value: /var/lib/uswarm/objects
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.migrations.env" -}}
{{- include "uswarm.database.env" . }}
{{- with .root.Values.secrets.migrations }}
{{- if .existingSecret }}
{{- include "uswarm.secretEnv" (dict "root" $.root "name" "migrations" "variable" "MIGRATION_DATABASE_URL") }}
{{- end }}
{{- if .servingRole }}
- name: DATABASE_SERVING_ROLE
  value: {{ .servingRole | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "uswarm.database.env" -}}
{{ include "uswarm.secretEnv" (dict "root" .root "name" "database" "variable" "DATABASE_URL") }}
{{- include "uswarm.trustedCA.env" .root }}
{{- include "uswarm.proxy.env" .root }}
{{ include "uswarm.logLevel" . }}
{{- end }}

{{- define "uswarm.oidcIssuers" -}}
{{- $issuers := list }}
{{- range .Values.oidc.issuers }}
{{- $issuer := include "uswarm.issuer" . | fromJson }}
{{- with .id }}{{ $_ := set $issuer "id" . }}{{ end }}
{{- $issuers = append $issuers $issuer }}
{{- end }}
{{- toJson $issuers }}
{{- end }}

{{- define "uswarm.operatorIssuers" -}}
{{- $issuers := list }}
{{- range .Values.operators.issuers }}
{{- $issuers = append $issuers (set (include "uswarm.issuer" . | fromJson) "rules" .rules) }}
{{- end }}
{{- toJson $issuers }}
{{- end }}

{{- define "uswarm.issuer" -}}
{{- $issuer := dict "issuer" .issuer "audience" .audience }}
{{- with .authorizedParties }}{{ $_ := set $issuer "authorized_parties" . }}{{ end }}
{{- with .jwksUri }}{{ $_ := set $issuer "jwks_uri" . }}{{ end }}
{{- with .algorithms }}{{ $_ := set $issuer "algorithms" . }}{{ end }}
{{- toJson $issuer }}
{{- end }}
