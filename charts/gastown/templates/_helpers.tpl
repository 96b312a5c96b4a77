{{- define "gastown.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* At most 40 characters: the names of Secrets and Jobs add to it. */}}
{{- define "gastown.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "gastown.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "gastown.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "gastown.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gastown.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gastown.controllerLabels" -}}
{{ include "gastown.selectorLabels" . }}
app.kubernetes.io/component: controller
gastown.io/release: {{ include "gastown.fullname" . }}
{{- end }}

{{- define "gastown.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "gastown.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: gastown
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gastown.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "gastown.firstProject" -}}
{{- default (index .Values.namespaces 0).project .Values.setup.client.project }}
{{- end }}

{{- define "gastown.podSecurityContext" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "gastown.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The ServiceAccount's token for the API server, as the kubelet would mount it by default, stated explicitly. */}}
{{- define "gastown.tokenVolume" -}}
- name: api-token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{/* A pod of the controller's image that runs one of its commands to the end: (dict "root" $ "account" … "args" (list …)). */}}
{{- define "gastown.commandPod" -}}
{{- $ := .root -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: {{ .restart | default "OnFailure" }}
{{- with $.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "gastown.podSecurityContext" $ | nindent 2 }}
containers:
  - name: command
    image: {{ include "gastown.image" $ | quote }}
    imagePullPolicy: {{ $.Values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      - name: GT_NAMESPACE
        valueFrom:
          fieldRef:
            fieldPath: metadata.namespace
    resources:
      {{- toYaml $.Values.resources | nindent 6 }}
    securityContext:
      {{- include "gastown.containerSecurityContext" $ | nindent 6 }}
    volumeMounts:
      - {name: config, mountPath: /etc/gastown, readOnly: true}
      - {name: api-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
      - {name: tmp, mountPath: /tmp}
volumes:
  - name: config
    configMap:
      name: {{ include "gastown.fullname" $ }}
  {{- include "gastown.tokenVolume" $ | nindent 2 }}
  - name: tmp
    emptyDir:
      sizeLimit: 64Mi
{{- with $.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "gastown.setupPod" -}}
{{- $name := include "gastown.fullname" . -}}
metadata:
  labels:
    {{- include "gastown.labels" . | nindent 4 }}
    app.kubernetes.io/component: setup
spec:
  {{- $args := list "init-ca" "--config" "/etc/gastown/controller.yaml" "--client" .Values.setup.client.name "--project" (include "gastown.firstProject" .) "--release" $name }}
  {{- include "gastown.commandPod" (dict "root" . "account" (printf "%s-setup" $name) "args" $args) | nindent 2 }}
{{- end }}

{{/* The Secrets of the setup Job, as a list of the controller's configuration: the leading replica renews their certificates. */}}
{{- define "gastown.secrets" -}}
{{- if .Values.setup.enabled }}
{{- $client := printf "%s-client-%s" (include "gastown.fullname" .) .Values.setup.client.name }}
- {name: {{ $client | quote }}, owner: {{ $client | quote }}, client: {{ .Values.setup.client.name | quote }}}
{{- end }}
{{- if include "gastown.relayHasOwnTls" . }}
{{- $hosts := include "gastown.relayHosts" . | splitList "\n" | compact }}
- {name: {{ include "gastown.relayTlsSecret" . | quote }}, owner: {{ include "gastown.relayName" . | quote }}, server: {{ toJson $hosts }}}
{{- end }}
{{- $threads := include "gastown.threadsName" . | quote }}
{{- if include "gastown.threadsHasOwnTls" . }}
{{- $hosts := include "gastown.threadsHosts" . | splitList "\n" | compact }}
- {name: {{ include "gastown.threadsTlsSecret" . | quote }}, owner: {{ $threads }}, server: {{ toJson $hosts }}}
{{- end }}
{{- if include "gastown.threadsHasOwnClient" . }}
- {name: {{ include "gastown.threadsClientSecret" . | quote }}, owner: {{ $threads }}, client: {{ .Values.threads.client.issuer | quote }}}
{{- end }}
{{- if include "gastown.hasOwnTokenKey" . }}
- {name: {{ include "gastown.tokenKeySecret" . | quote }}, owner: {{ $threads }}, token_key: true}
{{- end }}
{{- end }}

{{- define "gastown.setupJob" -}}
{{- $content := print (include "gastown.setupPod" .) (include "gastown.config" .) -}}
{{ include "gastown.fullname" . }}-setup-{{ .Release.Revision }}-{{ sha256sum $content | trunc 8 }}
{{- end }}

{{/* One provider of the controller's configuration: (dict "agent" … "account" …). */}}
{{- define "gastown.provider" -}}
image: {{ .agent.image | quote }}
{{- with .agent.imagePullPolicy }}
image_pull_policy: {{ . }}
{{- end }}
{{- with .agent.imagePullSecrets }}
image_pull_secrets:
  {{- range . }}
  - {{ .name | quote }}
  {{- end }}
{{- end }}
{{- with .agent.profile }}
agent: {{ . }}
{{- end }}
{{- with .agent.command }}
command: {{ toJson . }}
{{- end }}
{{- with .agent.env }}
env: {{ toJson . }}
{{- end }}
{{- with .agent.envFrom }}
env_from:
  {{- range . }}
  {{- if .secretRef }}
  - {secret: {{ .secretRef.name | quote }}, optional: {{ .secretRef.optional | default false }}}
  {{- else }}
  - {config_map: {{ .configMapRef.name | quote }}, optional: {{ .configMapRef.optional | default false }}}
  {{- end }}
  {{- end }}
{{- end }}
{{- with .agent.options }}
options: {{ toJson . }}
{{- end }}
{{- with .agent.isolation }}
isolation: {{ . }}
{{- end }}
{{- with .agent.resources }}
resources: {{ toJson . }}
{{- end }}
{{- with .agent.sidecarResources }}
sidecar_resources: {{ toJson . }}
{{- end }}
{{- with .agent.workspace }}
workspace:
  {{- with .size }}
  size: {{ toJson . }}
  {{- end }}
  {{- with .claim }}
  claim: {{ . | quote }}
  {{- end }}
  {{- with .git }}
  git:
    url: {{ .url | quote }}
    {{- with .ref }}
    ref: {{ . | quote }}
    {{- end }}
    {{- if hasKey . "depth" }}
    depth: {{ int .depth }}
    {{- end }}
    {{- with .path }}
    path: {{ . | quote }}
    {{- end }}
    {{- with .credentialsSecret }}
    credentials_secret: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- with .agent.grace }}
grace: {{ . | quote }}
{{- end }}
{{- if hasKey .agent "user" }}
user: {{ if kindIs "invalid" .agent.user }}null{{ else }}{{ int64 .agent.user }}{{ end }}
{{- end }}
service_account: {{ .agent.serviceAccountName | default .account | quote }}
{{- with .agent.nodeSelector }}
node_selector: {{ toJson . }}
{{- end }}
{{- with .agent.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .agent.runtimeClassName }}
runtime_class: {{ . | quote }}
{{- end }}
{{- with .agent.priorityClassName }}
priority_class: {{ . | quote }}
{{- end }}
{{- end }}

{{/* controller.yaml. A first client's public key comes from the Secret that the setup Job makes. */}}
{{- define "gastown.config" -}}
{{- $name := include "gastown.fullname" . -}}
trust_domain: {{ .Values.trustDomain | quote }}
server:
  listen: "0.0.0.0:9445"
  health_listen: "0.0.0.0:9091"
  names:
    - {{ printf "%s.%s.svc" $name .Release.Namespace | quote }}
    - {{ printf "%s.%s.svc.cluster.local" $name .Release.Namespace | quote }}
    - {{ printf "%s.%s" $name .Release.Namespace | quote }}
    - {{ $name | quote }}
    - localhost
    - 127.0.0.1
    {{- range .Values.service.names }}
    - {{ . | quote }}
    {{- end }}
ca:
  namespace: {{ .Values.ca.namespace | quote }}
  secret: {{ .Values.ca.secretName | quote }}
  keep_previous: {{ .Values.ca.keepPrevious | quote }}
{{- if or .Values.setup.enabled .Values.auth.issuers }}
auth:
  jwt_audience: {{ .Values.auth.audience | quote }}
  clock_skew: {{ .Values.auth.clockSkew | quote }}
  jwt_public_keys:
    {{- if .Values.setup.enabled }}
    - issuer: {{ .Values.setup.client.name | quote }}
      key_path: /etc/gastown/issuers/{{ .Values.setup.client.name }}.pub
      projects: [{{ include "gastown.firstProject" . | quote }}]
    {{- end }}
    {{- if include "gastown.threadsHasOwnClient" . }}
    - issuer: {{ .Values.threads.client.issuer | quote }}
      key_path: /etc/gastown/issuers/{{ .Values.threads.client.issuer }}.pub
      projects: {{ include "gastown.projects" . }}
    {{- end }}
    {{- range .Values.auth.issuers }}
    - issuer: {{ .issuer | quote }}
      key_path: /etc/gastown/issuers/{{ .issuer }}.pub
      projects: {{ toJson .projects }}
    {{- end }}
{{- end }}
namespaces:
  {{- range .Values.namespaces }}
  - name: {{ .name | quote }}
    project: {{ .project | quote }}
    {{- with .providers }}
    providers: {{ toJson . }}
    {{- end }}
    plaintext: {{ .plaintext | default false }}
    {{- with .adoptAccounts }}
    adopt:
      accounts: {{ toJson . }}
    {{- end }}
  {{- end }}
{{- if .Values.agents }}
providers:
  {{- range $id, $agent := .Values.agents }}
  {{ $id | quote }}:
    {{- include "gastown.provider" (dict "agent" $agent "account" $.Values.agentServiceAccount) | nindent 4 }}
  {{- end }}
{{- end }}
sessions:
  max_per_project: {{ int .Values.sessions.maxPerProject }}
  max_global: {{ int .Values.sessions.maxGlobal }}
  retention: {{ .Values.sessions.retention | quote }}
  start_timeout: {{ .Values.sessions.startTimeout | quote }}
limits:
  starts_per_minute: {{ int .Values.limits.startsPerMinute }}
  inputs_per_minute: {{ int .Values.limits.inputsPerMinute }}
input:
  max_size_bytes: {{ int .Values.limits.maxInputBytes }}
{{- if include "gastown.tokenKeySecret" . }}
session_tokens:
  key_path: /etc/gastown/session-tokens/signing.key
  issuer: {{ .Values.sessionTokens.issuer | quote }}
  audience: {{ .Values.sessionTokens.audience | quote }}
  role: {{ .Values.sessionTokens.role | quote }}
  {{- with .Values.sessionTokens.roles }}
  roles: {{ toJson . }}
  {{- end }}
  ttl: {{ .Values.sessionTokens.ttl | quote }}
  {{- if .Values.threads.enabled }}
  url: {{ include "gastown.threadsUrl" . | quote }}
  {{- if .Values.threads.tls.secretName }}
  ca_path: /etc/gastown/threads/ca.crt
  {{- end }}
  {{- end }}
{{- end }}
{{- with include "gastown.secrets" . | trim }}
secrets:
  {{- . | nindent 2 }}
{{- end }}
{{- if .Values.bd.command }}
bd:
  command: {{ toJson .Values.bd.command }}
  {{- with .Values.bd.workdir }}
  workdir: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .Values.tracing.otlpEndpoint }}
tracing:
  otlp_endpoint: {{ . | quote }}
{{- end }}
clients:
  direct_read: {{ .Values.clients.directRead }}
logging:
  level: {{ .Values.logLevel }}
{{- end }}
