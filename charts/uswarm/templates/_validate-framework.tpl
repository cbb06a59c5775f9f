{{/*
Each UserSwarm has a finalizer of the framework that looks after it, so a changed controller.framework would leave all of
them without one that removes it. The webhook of the installed release says which framework that is. Without a cluster
to ask, nothing is found.
*/}}
{{- define "uswarm.validateFramework" -}}
{{- if .Release.IsUpgrade }}
{{- $framework := .Values.controller.framework }}
{{- $webhook := include "uswarm.componentName" (dict "root" . "component" "webhook") }}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace $webhook }}
{{- $before := "" }}
{{- range dig "spec" "template" "spec" "containers" list $deployment }}
{{- range .env }}
{{- if eq .name "ROLLOUT_GATE" }}
{{- $before = eq (toString .value) "on" | ternary "builtin" "metacontroller" }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $before (ne $before $framework) (.Capabilities.APIVersions.Has "uswarm.dev/v1alpha1") }}
{{- $swarms := (lookup "uswarm.dev/v1alpha1" "UserSwarm" "" "").items }}
{{- if $swarms }}
{{- fail (printf "controller.framework is %s and was %s: %d UserSwarms would keep the finalizer of %s, which nothing removes then. Run helm uninstall, which deletes them properly, and install with the new value; workspaces in the database get their runtimes back." $framework $before (len $swarms) $before) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
