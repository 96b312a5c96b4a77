{{- define "gastown.threadsName" -}}
{{ include "gastown.fullname" . }}-threads
{{- end }}

{{/* Another name than the controller's, so that no policy of the controllers applies. The component tells servers from migrations. */}}
{{- define "gastown.threadsLabels" -}}
app.kubernetes.io/name: {{ include "gastown.name" . }}-threads
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gastown.threadsServerLabels" -}}
{{ include "gastown.threadsLabels" . }}
app.kubernetes.io/component: threads
{{- end }}

{{- define "gastown.threadsCommonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "gastown.threadsLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: gastown
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gastown.threadsMetadata" -}}
name: {{ include "gastown.threadsName" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "gastown.threadsCommonLabels" . | nindent 2 }}
  app.kubernetes.io/component: threads
{{- end }}

{{/* Not empty if the setup Job makes the port's certificate, signed by the controllers' CA. */}}
{{- define "gastown.threadsHasOwnTls" -}}
{{- if and .Values.threads.enabled .Values.setup.enabled (not .Values.threads.tls.secretName) }}true{{ end }}
{{- end }}

{{- define "gastown.threadsTlsSecret" -}}
{{ .Values.threads.tls.secretName | default (printf "%s-tls" (include "gastown.threadsName" .)) }}
{{- end }}

{{/* Not empty if the setup Job makes the servers' identity as a caller of the controllers. */}}
{{- define "gastown.threadsHasOwnClient" -}}
{{- if and .Values.threads.enabled .Values.setup.enabled (not .Values.threads.client.secretName) }}true{{ end }}
{{- end }}

{{- define "gastown.threadsClientSecret" -}}
{{ .Values.threads.client.secretName | default (printf "%s-client-%s" (include "gastown.fullname" .) .Values.threads.client.issuer) }}
{{- end }}

{{/* Not empty if the setup Job makes the key that signs agents' tokens. */}}
{{- define "gastown.hasOwnTokenKey" -}}
{{- if and .Values.threads.enabled .Values.setup.enabled (not .Values.sessionTokens.secretName) }}true{{ end }}
{{- end }}

{{/* The Secret with the key that signs agents' tokens; empty: agents get no tokens. */}}
{{- define "gastown.tokenKeySecret" -}}
{{- if include "gastown.hasOwnTokenKey" . -}}
{{ include "gastown.fullname" . }}-session-tokens
{{- else -}}
{{ .Values.sessionTokens.secretName }}
{{- end -}}
{{- end }}

{{/* The names in the certificate, one per line. */}}
{{- define "gastown.threadsHosts" -}}
{{- $name := include "gastown.threadsName" . -}}
{{ $name }}
{{ $name }}.{{ .Release.Namespace }}
{{ $name }}.{{ .Release.Namespace }}.svc
{{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
localhost
127.0.0.1
{{- range .Values.threads.service.names }}
{{ . }}
{{- end }}
{{- end }}

{{/* The server as agents' pods reach it. */}}
{{- define "gastown.threadsUrl" -}}
https://{{ include "gastown.threadsName" . }}.{{ .Release.Namespace }}.svc:{{ .Values.threads.service.port }}
{{- end }}

{{/* The projects of the release, as a JSON list. */}}
{{- define "gastown.projects" -}}
{{- $projects := list }}
{{- range .Values.namespaces }}{{ $projects = append $projects .project }}{{ end }}
{{- $projects | uniq | toJson }}
{{- end }}

{{/* threads.yaml. JSON is YAML, and keeps large numbers as they are. */}}
{{- define "gastown.threadsConfig" -}}
{{- $threads := .Values.threads -}}
server:
  listen: "0.0.0.0:9448"
  health_listen: "0.0.0.0:9449"
tls:
  dir: /etc/threads/tls
  crl_policy: {{ $threads.tls.crlPolicy }}
database:
  url_file: /etc/threads/database/url
  pool_max: {{ int $threads.database.poolMax }}
auth:
  jwt_audience: {{ .Values.sessionTokens.audience | quote }}
  jwt_public_keys:
    - issuer: {{ .Values.sessionTokens.issuer | quote }}
      key_path: /etc/threads/agents/signing.pub
      workspaces: {{ include "gastown.projects" . }}
      roles: {{ concat (list .Values.sessionTokens.role) (default list .Values.sessionTokens.roles) | uniq | toJson }}
    {{- if .Values.setup.enabled }}
    - issuer: {{ .Values.setup.client.name | quote }}
      key_path: /etc/threads/issuers/{{ .Values.setup.client.name }}.pub
      kind: person
      workspaces: [{{ include "gastown.firstProject" . | quote }}]
    {{- end }}
    {{- range $threads.auth.issuers }}
    - issuer: {{ .issuer | quote }}
      key_path: /etc/threads/issuers/{{ .issuer }}.pub
      kind: {{ .kind | default "agent" }}
      workspaces: {{ toJson .workspaces }}
      {{- with .roles }}
      roles: {{ toJson . }}
      {{- end }}
    {{- end }}
runtime:
  kind: bridge
  bridge_url: {{ printf "%s.%s.svc:%d" (include "gastown.fullname" .) .Release.Namespace (int .Values.service.port) | quote }}
  tls_dir: /etc/threads/client
  jwt_key: /etc/threads/client/jwt.key
  jwt_issuer: {{ $threads.client.issuer | quote }}
  jwt_audience: {{ .Values.auth.audience | quote }}
{{- with .Values.tracing.otlpEndpoint }}
tracing:
  otlp_endpoint: {{ . | quote }}
{{- end }}
logging:
  level: {{ $threads.logLevel }}
{{- with $threads.policy }}
policy: {{ toJson . }}
{{- end }}
{{- end }}

{{/* Fails for values that the server would refuse when it starts, or that leave it without its files. */}}
{{- define "gastown.threadsChecks" -}}
{{- $threads := .Values.threads -}}
{{- if not $threads.database.secretName }}{{ fail "threads.database.secretName: is missing. Name a Secret of the release's namespace with the URL of a PostgreSQL, 15 or newer" }}{{ end }}
{{- if not .Values.setup.enabled }}
{{- if not $threads.tls.secretName }}{{ fail "threads.tls.secretName: is missing. Name a Secret with tls.crt, tls.key and ca.crt (bridge-ca), or set setup.enabled" }}{{ end }}
{{- if not $threads.client.secretName }}{{ fail "threads.client.secretName: is missing. Name a Secret with tls.crt, tls.key, ca.crt and jwt.key of a caller of the controllers, or set setup.enabled" }}{{ end }}
{{- if not .Values.sessionTokens.secretName }}{{ fail "sessionTokens.secretName: is missing. Name a Secret with signing.key and signing.pub (bridge-ca jwt-keygen), or set setup.enabled" }}{{ end }}
{{- end }}
{{- range $threads.service.names }}{{ include "gastown.host" (list "threads.service.names" (trimPrefix "*." .)) }}{{ end }}
{{- $callers := dict }}
{{- if .Values.setup.enabled }}{{ $_ := set $callers .Values.setup.client.name true }}{{ end }}
{{- range .Values.auth.issuers }}{{ $_ := set $callers .issuer true }}{{ end }}
{{- if and (include "gastown.threadsHasOwnClient" .) (hasKey $callers $threads.client.issuer) }}
{{- fail (printf "threads.client.issuer: %s is another caller's name: setup.client.name, or one of auth.issuers" $threads.client.issuer) }}
{{- end }}
{{- $issuers := dict .Values.sessionTokens.issuer true }}
{{- if .Values.setup.enabled }}
{{- if hasKey $issuers .Values.setup.client.name }}{{ fail (printf "sessionTokens.issuer: %s is also setup.client.name: agents and people need separate issuers" .Values.sessionTokens.issuer) }}{{ end }}
{{- $_ := set $issuers .Values.setup.client.name true }}
{{- end }}
{{- range $threads.auth.issuers }}
{{- if hasKey $issuers .issuer }}{{ fail (printf "threads.auth.issuers: %s is listed twice, or is setup.client.name or sessionTokens.issuer" .issuer) }}{{ end }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- include "gastown.requests" (list "threads.resources" $threads.resources dict) }}
{{- end }}
