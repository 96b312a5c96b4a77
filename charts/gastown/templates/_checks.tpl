{{/* What no single value shows and the controller would refuse when it starts: told here, before anything is installed. */}}
{{- define "gastown.checks" -}}
{{- if eq .Values.ca.namespace .Release.Namespace }}{{ fail (printf "ca.namespace: %s is the release's namespace, and the CA's key needs its own" .Values.ca.namespace) }}{{ end }}
{{- $names := dict }}
{{- range .Values.namespaces }}
{{- if hasKey $names .name }}{{ fail (printf "namespaces: %s is there twice, and one namespace belongs to one project" .name) }}{{ end }}
{{- if eq .name $.Values.ca.namespace }}{{ fail (printf "namespaces: %s is ca.namespace, and agents there could mount the CA's key" .name) }}{{ end }}
{{- if eq .name $.Release.Namespace }}{{ fail (printf "namespaces: %s is the release's namespace, and agents there could mount the first client's key" .name) }}{{ end }}
{{- $_ := set $names .name true }}
{{- range .providers }}
{{- if not (hasKey (default dict $.Values.agents) .) }}{{ fail (printf "namespaces: the provider %s is not one of agents" .) }}{{ end }}
{{- end }}
{{- end }}
{{- $issuers := dict }}
{{- if .Values.setup.enabled }}{{ $_ := set $issuers .Values.setup.client.name true }}{{ end }}
{{- range .Values.auth.issuers }}
{{- if hasKey $issuers .issuer }}{{ fail (printf "auth.issuers: %s is there twice, or is setup.client.name" .issuer) }}{{ end }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- $ten := "87600h" }}
{{- include "gastown.duration" (list "auth.clockSkew" .Values.auth.clockSkew "0s" "60s") }}
{{- include "gastown.duration" (list "sessionTokens.ttl" .Values.sessionTokens.ttl "2s" "1h") }}
{{- include "gastown.duration" (list "ca.keepPrevious" .Values.ca.keepPrevious "0s" $ten) }}
{{- include "gastown.duration" (list "sessions.retention" .Values.sessions.retention "0s" $ten) }}
{{- include "gastown.duration" (list "sessions.startTimeout" .Values.sessions.startTimeout "0s" $ten) }}
{{- range $id, $agent := .Values.agents }}
{{- include "gastown.duration" (list (printf "agents.%s.grace" $id) (default "0s" $agent.grace) "0s" $ten) }}
{{- end }}
{{- range .Values.service.names }}{{ include "gastown.host" (list "service.names" (trimPrefix "*." .)) }}{{ end }}
{{- with .Values.tracing.otlpEndpoint }}
{{- $port := regexFind ":[0-9]+$" (regexFind "^https?://[^/]+" .) | trimPrefix ":" }}
{{- if gt (atoi $port) 65535 }}{{ fail (printf "tracing.otlpEndpoint: %s is no port" $port) }}{{ end }}
{{- $host := regexReplaceAll "(^https?://([^/]*@)?)|((:[0-9]+)?(/.*)?$)" . "" }}
{{- include "gastown.host" (list "tracing.otlpEndpoint" (trimAll "[]" $host)) }}
{{- end }}
{{- end }}

{{/* Fails for a duration that is too short or too long: (list KEY DURATION LEAST MOST). */}}
{{- define "gastown.duration" -}}
{{- $given := include "gastown.milliseconds" (index . 1) | float64 }}
{{- $least := include "gastown.milliseconds" (index . 2) | float64 }}
{{- $most := include "gastown.milliseconds" (index . 3) | float64 }}
{{- if or (lt $given $least) (gt $given $most) }}
{{- fail (printf "%s: must be from %s to %s, not %s" (index . 0) (index . 2) (index . 3) (index . 1)) }}
{{- end }}
{{- end }}

{{- define "gastown.milliseconds" -}}
{{- $units := dict "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 }}
{{- $total := 0.0 }}
{{- range regexFindAll "[0-9.]+[a-z]+" . -1 }}
{{- $unit := regexFind "[a-z]+$" . }}
{{- $total = addf $total (mulf (trimSuffix $unit . | float64) (get $units $unit)) }}
{{- end }}
{{- printf "%.0f" $total }}
{{- end }}

{{/* Fails for what is neither a DNS name nor an address: (list KEY HOST). A name does not end in a number. */}}
{{- define "gastown.host" -}}
{{- $label := "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?" }}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])" }}
{{- $isName := regexMatch (printf "^%s(\\.%s)*$" $label $label) (index . 1) }}
{{- $endsInNumber := regexMatch "(^|\\.)(0[xX][0-9a-fA-F]*|[0-9]+)$" (index . 1) }}
{{- $isIpv4 := regexMatch (printf "^%s(\\.%s){3}$" $octet $octet) (index . 1) }}
{{- $isIpv6 := regexMatch "^([0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}$" (index . 1) }}
{{- $isCut := regexMatch "::.*::|:::|^:[^:]|[^:]:$" (index . 1) }}
{{- if not (or (and $isName (not $endsInNumber)) $isIpv4 (and $isIpv6 (not $isCut))) }}
{{- fail (printf "%s: %q is neither a DNS name nor an address" (index . 0) (index . 1)) }}
{{- end }}
{{- end }}
