{{- define "gastown.relayName" -}}
{{ include "gastown.fullname" . }}-relay
{{- end }}

{{/* Another name than the controller's, so that no policy of the controllers applies to relays. */}}
{{- define "gastown.relayLabels" -}}
app.kubernetes.io/name: {{ include "gastown.name" . }}-relay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gastown.relayMetadata" -}}
name: {{ include "gastown.relayName" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "gastown.relayAllLabels" . | nindent 2 }}
{{- end }}

{{- define "gastown.relayAllLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "gastown.relayLabels" . }}
app.kubernetes.io/component: relay
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: gastown
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Not empty if the setup Job makes the certificate of the relays' port, signed by the controllers' CA. */}}
{{- define "gastown.relayHasOwnTls" -}}
{{- if and .Values.relay.enabled .Values.setup.enabled (not .Values.relay.tls.secretName) }}true{{ end }}
{{- end }}

{{- define "gastown.relayTlsSecret" -}}
{{ .Values.relay.tls.secretName | default (printf "%s-tls" (include "gastown.relayName" .)) }}
{{- end }}

{{/* The names in that certificate, one per line. */}}
{{- define "gastown.relayHosts" -}}
{{- $name := include "gastown.relayName" . -}}
{{ $name }}
{{ $name }}.{{ .Release.Namespace }}
{{ $name }}.{{ .Release.Namespace }}.svc
{{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
localhost
127.0.0.1
{{- range .Values.relay.service.names }}
{{ . }}
{{- end }}
{{- end }}

{{/* The accepted issuers of tokens: with a certificate of the setup Job, the first client too. */}}
{{- define "gastown.relayIssuers" -}}
{{- if include "gastown.relayHasOwnTls" . }}
- issuer: {{ .Values.setup.client.name | quote }}
  key_path: /etc/relay/issuers/{{ .Values.setup.client.name }}.pub
  projects: [{{ include "gastown.firstProject" . | quote }}]
{{- end }}
{{- range .Values.relay.auth.issuers }}
- issuer: {{ .issuer | quote }}
  key_path: /etc/relay/issuers/{{ .issuer }}.pub
  projects: {{ toJson .projects }}
  {{- with .sessions }}
  sessions: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "gastown.relayImage" -}}
{{- $image := .Values.relay.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end }}
{{- end }}

{{/* Seconds to drain the turns, and 20 more to publish what is left and to close the connections. */}}
{{- define "gastown.relayGrace" -}}
{{- $drain := include "gastown.milliseconds" (dig "drain_timeout" "25s" (default dict .Values.relay.turns)) | float64 -}}
{{ add (ceil (divf $drain 1000.0)) 20 }}
{{- end }}

{{/* A server's port, by its URL: (list URL DEFAULT). */}}
{{- define "gastown.portOf" -}}
{{ regexFind ":[0-9]+$" (index . 0) | trimPrefix ":" | default (index . 1) }}
{{- end }}

{{/* relay.yaml. JSON is YAML, and keeps large numbers as they are. */}}
{{- define "gastown.relayConfig" -}}
{{- $relay := .Values.relay -}}
listen: "0.0.0.0:8080"
health_listen: "0.0.0.0:8081"
relay_id: {{ include "gastown.relayName" . | quote }}
nats:
  url: {{ $relay.nats.url | quote }}
  replicas: {{ int $relay.nats.replicas }}
  stream_prefix: {{ $relay.nats.streamPrefix | quote }}
  {{- with $relay.nats.inboxPrefix }}
  inbox_prefix: {{ . | quote }}
  {{- end }}
  {{- if $relay.nats.credentials.secretName }}
  {{ $relay.nats.credentials.key }}: /etc/relay/nats/{{ $relay.nats.credentials.key }}
  {{- end }}
  {{- if $relay.nats.tls.secretName }}
  tls_dir: /etc/relay/nats-tls
  {{- end }}
tls:
  dir: /etc/relay/tls
  crl_policy: {{ $relay.tls.crlPolicy }}
{{- with include "gastown.relayIssuers" . | trim }}
auth:
  jwt_audience: {{ $relay.auth.audience | quote }}
  jwt_public_keys:
    {{- . | nindent 4 }}
{{- end }}
{{- if or $relay.signing.secretName $relay.signing.signers }}
signing:
  {{- if $relay.signing.secretName }}
  name: {{ $relay.signing.name | quote }}
  seed_file: /etc/relay/signing/seed
  {{- end }}
  {{- with $relay.signing.signers }}
  signers: {{ toJson . }}
  {{- end }}
{{- end }}
{{- with $relay.connections }}
connections: {{ toJson . }}
{{- end }}
{{- with $relay.turns }}
turns: {{ toJson . }}
{{- end }}
{{- with $relay.dialects }}
dialects: {{ toJson . }}
{{- end }}
{{- if $relay.agentsProtocol }}
agents_protocol: true
{{- end }}
{{- with $relay.roles }}
roles: {{ toJson . }}
{{- end }}
{{- with $relay.bridges }}
bridges:
  {{- range $name, $bridge := . }}
  {{ $name | quote }}:
    target: {{ $bridge.target | quote }}
    tls_dir: /etc/relay/bridges/{{ $name }}
    jwt_key: /etc/relay/bridges/{{ $name }}/jwt.key
    jwt_issuer: {{ $bridge.issuer | quote }}
    jwt_audience: {{ $bridge.audience | default "bridge" | quote }}
    project: {{ $bridge.project | quote }}
  {{- end }}
{{- end }}
{{- with .Values.tracing.otlpEndpoint }}
tracing:
  otlp_endpoint: {{ . | quote }}
{{- end }}
logging:
  level: {{ $relay.logLevel }}
{{- end }}

{{/* Fails for values that the relay would refuse when it starts, or that leave it without its files. */}}
{{- define "gastown.relayChecks" -}}
{{- $relay := .Values.relay -}}
{{- if not $relay.nats.url }}{{ fail "relay.nats.url: is missing, e.g. nats://nats.nats:4222" }}{{ end }}
{{- if not (or $relay.tls.secretName .Values.setup.enabled) }}{{ fail "relay.tls.secretName: is missing. Agents and editors connect by mutual TLS: name a Secret with tls.crt, tls.key and ca.crt (bridge-ca), or set setup.enabled" }}{{ end }}
{{- range $relay.service.names }}{{ include "gastown.host" (list "relay.service.names" (trimPrefix "*." .)) }}{{ end }}
{{- $issuers := dict }}
{{- if include "gastown.relayHasOwnTls" . }}{{ $_ := set $issuers .Values.setup.client.name true }}{{ end }}
{{- range $relay.auth.issuers }}
{{- if hasKey $issuers .issuer }}{{ fail (printf "relay.auth.issuers: %s is listed twice, or is setup.client.name" .issuer) }}{{ end }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- range $role, $one := $relay.roles }}
{{- $bridge := dig "bridge" "" $one }}
{{- if and (eq (dig "link" "accept" $one) "bridge") (not (hasKey (default dict $relay.bridges) $bridge)) }}
{{- fail (printf "relay.roles: %s needs the bridge %q, which is not in relay.bridges" $role $bridge) }}
{{- end }}
{{- end }}
{{- include "gastown.requests" (list "relay.resources" $relay.resources dict) }}
{{- end }}
