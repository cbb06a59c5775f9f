{{/* Model providers: through the model gateway, or, without one, called by runtimes with the keys in runtime.modelEnv. */}}

{{/* The model providers that the gateway can call, as a YAML list. The first enabled one is the default. */}}
{{- define "uswarm.modelProviders" -}}
{{- .Files.Get "files/model-providers.yaml" }}
{{- end }}

{{/* The model gateway's enabled provider names, separated by spaces. Empty: the gateway is not deployed. */}}
{{- define "uswarm.gatewayProviders" -}}
{{- $names := list }}
{{- range $name := include "uswarm.modelProviders" . | fromYamlArray }}
{{- if (get $.Values.modelGateway $name).enabled }}{{ $names = append $names $name }}{{ end }}
{{- end }}
{{- join " " $names }}
{{- end }}

{{- define "uswarm.hasProviderKey" -}}
{{- with .root.Values.secrets.modelProviders }}{{ if and .existingSecret (get . $.name) }}true{{ end }}{{ end }}
{{- end }}

{{/* Not empty if recordings are transcribed. */}}
{{- define "uswarm.transcribes" -}}
{{- and (include "uswarm.gatewayProviders" .) .Values.modelGateway.transcription.model }}
{{- end }}

{{- define "uswarm.modelGatewayUrl" -}}
http://{{ include "uswarm.host" (dict "root" . "component" "model-gateway") }}:8080
{{- end }}

{{/*
The provider that GET /v1/models returns: the configured one, else the first of the gateway, else the default of runtimes.
They use openai if their Secret has OPENAI_API_KEY or OPENAI_BASE_URL. The Secret that an evaluation creates is initially
empty.
*/}}
{{- define "uswarm.modelProvider" -}}
{{- $modelEnv := .Values.runtime.modelEnv }}
{{- $own := ternary "openai" "demo" (and $modelEnv.enabled (not (empty $modelEnv.existingSecret))) }}
{{- coalesce .Values.runtime.defaultProvider (include "uswarm.gatewayProviders" . | splitList " " | first) $own }}
{{- end }}

{{/* The Secret with model API keys in the runtime namespace; empty if there is none. */}}
{{- define "uswarm.modelEnvSecret" -}}
{{- with .Values.runtime.modelEnv }}
{{- if .enabled }}{{ default (ternary "uswarm-model-env" "" $.Values.evaluation.enabled) .existingSecret }}{{ end }}
{{- end }}
{{- end }}

{{- define "uswarm.validateModels" -}}
{{- $known := include "uswarm.modelProviders" . | fromYamlArray }}
{{- $providers := include "uswarm.gatewayProviders" . | splitList " " | compact }}
{{- if and (not $providers) .Values.runtime.modelEnv.enabled (not (include "uswarm.modelEnvSecret" .)) }}
{{- $switches := list }}
{{- range $known }}{{ $switches = append $switches (printf "modelGateway.%s.enabled" .) }}{{ end }}
{{- fail (printf "A model provider is required: set %s, or set runtime.modelEnv.enabled=false to use the built-in demo model." (join " or " $switches)) }}
{{- end }}
{{- $default := .Values.runtime.defaultProvider }}
{{- if and $providers (has $default $known) (not (has $default $providers)) }}
{{- fail (printf "runtime.defaultProvider must not be %s: modelGateway enables only %s." $default (join ", " $providers)) }}
{{- end }}
{{- with .Values.modelGateway.transcription }}
{{- if and .model (not $providers) }}
{{- fail "modelGateway.transcription.model requires an enabled provider of modelGateway." }}
{{- end }}
{{- if and .model (not .baseUrl) (not (has "openai" $providers)) }}
{{- fail "modelGateway.transcription.baseUrl is required without modelGateway.openai." }}
{{- end }}
{{- end }}
{{- range $name := $providers }}
{{- $provider := get $.Values.modelGateway $name }}
{{- if not (or $provider.baseUrl (include "uswarm.hasProviderKey" (dict "root" $ "name" $name))) }}
{{- fail (printf "secrets.modelProviders.existingSecret and its key %s are required: name the Secret with the API key of modelGateway.%s in namespace %s." $name $name $.Release.Namespace) }}
{{- end }}
{{- $complete := and $provider.models.flash $provider.models.sonnet $provider.models.opus }}
{{- $named := and $.Values.runtime.defaultModel (not (has $.Values.runtime.defaultModel (list "flash" "sonnet" "opus"))) }}
{{- if not (or $provider.model $complete $named) }}
{{- fail (printf "modelGateway.%s.model is required, or all of modelGateway.%s.models: the names of the models at the provider." $name $name) }}
{{- end }}
{{- end }}
{{- end }}
