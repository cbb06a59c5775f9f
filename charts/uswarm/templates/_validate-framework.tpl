{{/*
Each UserSwarm has a finalizer of its framework. After a change of controller.framework, nothing would remove the old
finalizers. The webhook's Deployment tells which framework is installed. Without a cluster, lookup returns nothing.
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
{{- fail (printf "controller.framework must not change from %[2]s to %[1]s while UserSwarms exist: %[3]d of them would keep the finalizer of %[2]s. Run helm uninstall, which deletes them, and install with the new value. The runtimes of all workspaces are then created again." $framework $before (len $swarms)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
