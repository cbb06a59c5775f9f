{{/*
A value as a CEL literal. Its parts are `dyn`, because a literal with values of several types is not a valid CEL list or
map otherwise. Null, empty strings and empty lists are left out of objects, as the API server does, but not of labels.
*/}}
{{- define "uswarm.cel" -}}
{{- if kindIs "map" . -}}
{{- $fields := list -}}
{{- range $key, $value := . -}}
{{- if has $key (list "nodeSelector" "matchLabels") -}}
{{- $fields = append $fields (printf "%s: dyn(%s)" (toJson $key) (toJson $value)) -}}
{{- else if not (or (kindIs "invalid" $value) (and (kindIs "string" $value) (eq $value "")) (and (kindIs "slice" $value) (empty $value))) -}}
{{- $fields = append $fields (printf "%s: dyn(%s)" (toJson $key) (include "uswarm.cel" $value)) -}}
{{- end -}}
{{- end -}}
{ {{- join ", " $fields -}} }
{{- else if kindIs "slice" . -}}
{{- $items := list -}}
{{- range . }}{{ $items = append $items (printf "dyn(%s)" (include "uswarm.cel" .)) }}{{ end -}}
[ {{- join ", " $items -}} ]
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end }}

{{/* The users that write the children of UserSwarms. */}}
{{- define "uswarm.admission.users" -}}
{{- $controller := printf "system:serviceaccount:%s:%s" .Release.Namespace (include "uswarm.componentName" (dict "root" . "component" "controller")) }}
{{- prepend .Values.admissionPolicy.controllerUsers (eq .Values.controller.framework "builtin" | ternary $controller "system:serviceaccount:metacontroller:metacontroller") | uniq | toJson }}
{{- end }}

{{/* The head of a policy for children that these users write. Cluster administrators control what others write. */}}
{{- define "uswarm.admission.childrenOf" -}}
matchConstraints:
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values: {{ prepend .root.Values.runtime.extraNamespaces .root.Values.runtime.namespace | uniq | toJson }}
  resourceRules:
    {{- range .resources }}
    - apiGroups: [{{ .group | quote }}]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: {{ .names | toJson }}
    {{- end }}
matchConditions:
  - name: written-by-the-controller
    expression: request.userInfo.username in {{ include "uswarm.admission.users" .root }}
{{- end }}

{{/*
Variables for the metadata of a child. Fields that the stored object has already are accepted: other clients set them,
and a request of the controller contains the whole object.
*/}}
{{- define "uswarm.admission.childVariables" -}}
- name: userSwarm
  expression: object.metadata.name.replace('agent-runtime-', '', 1)
- name: selector
  expression: "{'app.kubernetes.io/name': 'agent-runtime', 'app.kubernetes.io/instance': variables.userSwarm}"
- name: childLabels
  expression: >-
    {'app.kubernetes.io/name': 'agent-runtime', 'app.kubernetes.io/instance': variables.userSwarm,
    'app.kubernetes.io/component': 'agent-runtime', 'app.kubernetes.io/part-of': 'uswarm',
    'app.kubernetes.io/managed-by': 'uswarm-controller'}
- name: foreignMetadata
  expression: >-
    object.metadata.?labels.orValue({}).map(key, object.metadata.labels[key] == variables.childLabels[?key].orValue('')
      || key == 'controller-uid'
      || (oldObject != null && oldObject.metadata.?labels[?key].orValue('') == object.metadata.labels[key]) ? '' : key)
    .filter(key, key != '')
    + object.metadata.?annotations.orValue({}).map(key, key.startsWith('uswarm.dev/')
      || key == 'metacontroller.k8s.io/last-applied-configuration'
      || (oldObject != null && key in oldObject.metadata.?annotations.orValue({})
        && oldObject.metadata.annotations[key] == object.metadata.annotations[key]) ? '' : key)
    .filter(key, key != '')
    + object.metadata.?finalizers.orValue([])
      .filter(name, oldObject == null || !(name in oldObject.metadata.?finalizers.orValue([])))
{{- end }}

{{/* Validations for the metadata of a child. uswarm-runtime-owners validates the uid of a Deployment's owner. */}}
{{- define "uswarm.admission.childValidations" -}}
- expression: >-
    object.metadata.name.startsWith('agent-runtime-workspace-')
    && object.metadata.?ownerReferences.orValue([]).filter(owner, owner.?controller.orValue(false))
      .map(owner, owner.apiVersion == 'uswarm.dev/v1alpha1' && owner.kind == 'UserSwarm' && owner.name == variables.userSwarm)
      == [true]
  message: 'PolicyDenied: A child must have the name agent-runtime-<name> and be controlled by the UserSwarm <name>.'
  reason: Forbidden
# The garbage collector keeps an object if any owner exists, or if it does not know the kind of an owner.
- expression: >-
    object.metadata.?ownerReferences.orValue([]).all(owner, owner.?controller.orValue(false)
      || (oldObject != null && owner in oldObject.metadata.?ownerReferences.orValue([])))
  message: 'PolicyDenied: A child must have no other owner, which would keep it after the UserSwarm.'
  reason: Forbidden
- expression: variables.foreignMetadata == []
  messageExpression: "'PolicyDenied: uswarm does not set these labels, annotations and finalizers: ' + variables.foreignMetadata.join(', ')"
  reason: Forbidden
{{- end }}

{{/*
What the webhook renders for every runtime, from its own settings:
  pods      RUNTIME_PODS
  values    environment variables with a known value
  free      environment variables with any value
  secrets   environment variables from the Secret of the stores
*/}}
{{- define "uswarm.admission.runtime" -}}
{{- $webhook := .Values.webhook }}
{{- $component := dict "root" . "component" "webhook" "values" $webhook }}
{{- $own := include "uswarm.webhook.env" $component }}
{{- $variables := fromYamlArray (include "uswarm.env" (dict "own" $own "more" (concat .Values.defaults.extraEnv (default list $webhook.extraEnv)))) }}
{{- $pods := dict }}
{{- $values := dict }}
{{- $free := list "USWARM_USER_ID" "USWARM_RUNTIME_PORT" "USWARM_CALL_PUBLIC_KEY" "USWARM_DEFAULT_PROVIDER" "USWARM_DEFAULT_MODEL" }}
{{- $secrets := list }}
{{- range $variables }}
{{- if eq .name "RUNTIME_PODS" }}
{{- $pods = fromJson .value }}
{{- else if regexMatch "^(SVC_(ORCHESTRATOR_ENDPOINT|MCP_ENDPOINT|DATABASE_.*|REDIS_ADDR|SPACES_.*)|MODEL_GATEWAY_URL)$" .name }}
{{- if .valueFrom }}
{{- if regexMatch "^(SVC_DATABASE_PASSWORD|SVC_REDIS_ADDR|SVC_SPACES_KEY|SVC_SPACES_SECRET)$" .name }}
{{- $secrets = append $secrets .name }}
{{- end }}
{{- if not (regexMatch "^(SVC_DATABASE_PASSWORD|SVC_SPACES_KEY|SVC_SPACES_SECRET)$" .name) }}
{{- $free = append $free .name }}
{{- end }}
{{- else if and (eq .name "SVC_REDIS_ADDR") (contains "@" .value) }}
{{- $secrets = append $secrets .name }}
{{- else }}
{{- $_ := set $values .name (.value | toString | replace "$" "$$") }}
{{- end }}
{{- end }}
{{- end }}
{{- $_ := set $values "USWARM_TERMINATION_GRACE_S" (int $pods.terminationGracePeriodSeconds | toString) }}
{{- if $pods.trustedCA }}{{ $_ := set $values "NODE_EXTRA_CA_CERTS" "/etc/uswarm/trusted-ca/ca.crt" }}{{ end }}
{{- with $pods.proxy }}
{{- with .https }}{{ $_ := set $values "HTTPS_PROXY" (. | replace "$" "$$") }}{{ end }}
{{- with .http }}{{ $_ := set $values "HTTP_PROXY" (. | replace "$" "$$") }}{{ end }}
{{- $_ := set $values "NO_PROXY" (.noProxy | replace "$" "$$") }}
{{- $_ := set $values "NODE_USE_ENV_PROXY" "1" }}
{{- end }}
{{- range $pods.extraEnv }}{{ $_ := set $values .name .value }}{{ end }}
{{- dict "pods" $pods "values" $values "free" $free "secrets" $secrets | toJson }}
{{- end }}

{{/* The fields of a runtime's pod that are equal for all runtimes. The API server adds dnsPolicy and schedulerName. */}}
{{- define "uswarm.admission.podFields" -}}
{{- $fields := dict
  "automountServiceAccountToken" false
  "enableServiceLinks" false
  "restartPolicy" "Always"
  "dnsPolicy" "ClusterFirst"
  "schedulerName" "default-scheduler"
  "terminationGracePeriodSeconds" (int .terminationGracePeriodSeconds)
  "securityContext" (dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault")) }}
{{- if .isClosed }}
{{- $_ := set $fields "dnsPolicy" "None" }}
{{- $_ := set $fields "dnsConfig" (dict "nameservers" (list "127.0.0.1")) }}
{{- $_ := set $fields "hostAliases" .hostAliases }}
{{- end }}
{{- $volumes := list
  (dict "name" "cache" "emptyDir" (dict "sizeLimit" "512Mi"))
  (dict "name" "tmp" "emptyDir" (dict "medium" "Memory" "sizeLimit" "128Mi")) }}
{{- with .trustedCA }}
{{- $volumes = append $volumes (dict "name" "trusted-ca" "configMap" (dict "name" .configMap "defaultMode" 420 "items" (list (dict "key" .key "path" "ca.crt")))) }}
{{- end }}
{{- $_ := set $fields "volumes" $volumes }}
{{- range $name := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "runtimeClassName" }}
{{- with get $ $name }}{{ $_ := set $fields $name . }}{{ end }}
{{- end }}
{{- if hasKey . "hostUsers" }}{{ $_ := set $fields "hostUsers" .hostUsers }}{{ end }}
{{- toJson $fields }}
{{- end }}

{{/* The fields of a runtime's container that are equal for all runtimes. */}}
{{- define "uswarm.admission.containerFields" -}}
{{- $mounts := list (dict "name" "cache" "mountPath" "/var/cache/uswarm") (dict "name" "tmp" "mountPath" "/tmp") }}
{{- if .trustedCA }}
{{- $mounts = append $mounts (dict "name" "trusted-ca" "mountPath" "/etc/uswarm/trusted-ca" "readOnly" true) }}
{{- end }}
{{- dict
  "name" "agent-runtime"
  "imagePullPolicy" .imagePullPolicy
  "terminationMessagePath" "/dev/termination-log"
  "terminationMessagePolicy" "FallbackToLogsOnError"
  "volumeMounts" $mounts
  "securityContext" (dict "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL")) "readOnlyRootFilesystem" true "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault")) | toJson }}
{{- end }}
