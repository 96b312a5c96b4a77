{{/* Fails for combinations of values that the controller would refuse when it starts, before anything is installed. */}}
{{- define "gastown.checks" -}}
{{- if eq .Values.ca.namespace .Release.Namespace }}{{ fail (printf "ca.namespace: %s is the release's namespace, and the CA's key needs its own" .Values.ca.namespace) }}{{ end }}
{{- $names := dict }}
{{- range .Values.namespaces }}
{{- if hasKey $names .name }}{{ fail (printf "namespaces: %s is listed twice, and one namespace belongs to one project" .name) }}{{ end }}
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
{{- if hasKey $issuers .issuer }}{{ fail (printf "auth.issuers: %s is listed twice, or is setup.client.name" .issuer) }}{{ end }}
{{- $_ := set $issuers .issuer true }}
{{- include "gastown.issuer" (dict "root" $ "issuer" .) }}
{{- end }}
{{- if .Values.setup.enabled }}
{{- include "gastown.knownProject" (list $ "setup.client.project" (include "gastown.firstProject" .)) }}
{{- end }}
{{- $ten := "87600h" }}
{{- include "gastown.duration" (list "auth.clockSkew" .Values.auth.clockSkew "0s" "60s") }}
{{- include "gastown.duration" (list "sessionTokens.ttl" .Values.sessionTokens.ttl "2s" "1h") }}
{{- include "gastown.duration" (list "ca.keepPrevious" .Values.ca.keepPrevious "0s" $ten) }}
{{- include "gastown.duration" (list "sessions.retention" .Values.sessions.retention "0s" $ten) }}
{{- include "gastown.duration" (list "sessions.startTimeout" .Values.sessions.startTimeout "0s" $ten) }}
{{- range $id, $agent := .Values.agents }}
{{- include "gastown.duration" (list (printf "agents.%s.grace" $id) (default "0s" $agent.grace) "0s" $ten) }}
{{- $resources := dict "requests" (dict "cpu" "100m" "memory" "256Mi" "ephemeral-storage" "256Mi") "limits" (dict "memory" "2Gi" "ephemeral-storage" "4Gi") }}
{{- include "gastown.requests" (list (printf "agents.%s.resources" $id) $agent.resources $resources) }}
{{- $sidecar := dict "requests" (dict "cpu" "50m" "memory" "128Mi" "ephemeral-storage" "64Mi") "limits" (dict "memory" "768Mi" "ephemeral-storage" "256Mi") }}
{{- include "gastown.requests" (list (printf "agents.%s.sidecarResources" $id) $agent.sidecarResources $sidecar) }}
{{- end }}
{{- include "gastown.requests" (list "resources" .Values.resources dict) }}
{{- range .Values.service.names }}{{ include "gastown.host" (list "service.names" (trimPrefix "*." .)) }}{{ end }}
{{- with .Values.tracing.otlpEndpoint }}
{{- $port := regexFind ":[0-9]+$" (regexFind "^https?://[^/]+" .) | trimPrefix ":" }}
{{- if gt (atoi $port) 65535 }}{{ fail (printf "tracing.otlpEndpoint: %s is not a port" $port) }}{{ end }}
{{- $host := regexReplaceAll "(^https?://([^/]*@)?)|((:[0-9]+)?(/.*)?$)" . "" }}
{{- include "gastown.host" (list "tracing.otlpEndpoint" (trimAll "[]" $host)) }}
{{- end }}
{{- end }}

{{/*
What an upgrade would destroy or leave without a controller, by what the cluster has now: the configuration in use, and the pods
of sessions. Where the chart is only rendered nothing is looked up, and nothing is refused.
*/}}
{{- define "gastown.upgradeChecks" -}}
{{- $ns := .Release.Namespace }}
{{- range (lookup "v1" "ConfigMap" $ns "").items }}
{{- $release := dig "annotations" "meta.helm.sh/release-name" "" .metadata }}
{{- if and (eq $release $.Release.Name) (hasKey (default dict .data) "controller.yaml") }}
{{- $now := get .data "controller.yaml" | fromYaml }}
{{- include "gastown.keptTrust" (dict "root" $ "now" $now) }}
{{- range $now.namespaces }}
{{- include "gastown.keptNamespace" (dict "root" $ "now" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Fails if every certificate, of callers and of running sessions, would become invalid: (dict "root" $ "now" CONFIG). */}}
{{- define "gastown.keptTrust" -}}
{{- $values := .root.Values }}
{{- $was := .now.trust_domain }}
{{- $ca := .now.ca }}
{{- if ne $was $values.trustDomain }}
{{- fail (printf "trustDomain: this release has %s, and with %s no running session and no caller would be trusted. Keep it; or start over: helm uninstall %s -n %s && kubectl -n %s delete secret %s, then helm install" $was $values.trustDomain .root.Release.Name .root.Release.Namespace $ca.namespace $ca.secret) }}
{{- end }}
{{- if or (ne $ca.namespace $values.ca.namespace) (ne $ca.secret $values.ca.secretName) }}
{{- if not (lookup "v1" "Secret" $values.ca.namespace $values.ca.secretName) }}
{{- fail (printf "ca: this release's CA is the Secret %s/%s, and a new one in %s/%s would trust no caller. Copy that Secret there first; to replace the CA: gt-controller rotate-ca" $ca.namespace $ca.secret $values.ca.namespace $values.ca.secretName) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Fails if the values would orphan running sessions, or give them to another project: (dict "root" $ "now" NAMESPACE). */}}
{{- define "gastown.keptNamespace" -}}
{{- $next := dict }}
{{- range .root.Values.namespaces }}{{ $_ := set $next .name . }}{{ end }}
{{- $name := .now.name }}
{{- $change := "" }}
{{- if not (hasKey $next $name) }}
{{- $change = "is left out" }}
{{- else if ne .now.project (get $next $name).project }}
{{- $change = printf "would belong to project %s instead of %s" (get $next $name).project .now.project }}
{{- else if ne (default false .now.plaintext) (default false (get $next $name).plaintext) }}
{{- $change = printf "would change plaintext to %v" (default false (get $next $name).plaintext) }}
{{- end }}
{{- if $change }}
{{- $found := list }}
{{- range (lookup "v1" "Pod" $name "").items }}
{{- $labels := default dict .metadata.labels }}
{{- if hasKey $labels "gastown.io/agent" }}{{ $found = append $found (get $labels "gastown.io/session" | default .metadata.name) }}{{ end }}
{{- end }}
{{- if $found }}
{{- fail (printf "namespaces: %s %s, and %d session(s) there would lose their controller: %s. End them first: kubectl -n %s delete pods -l gastown.io/agent" $name $change (len $found) ($found | sortAlpha | join ", " | trunc 200) $name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Fails for keys that are not Ed25519, and for projects without a namespace: (dict "root" $ "issuer" ISSUER). */}}
{{- define "gastown.issuer" -}}
{{- $blocks := regexFindAll "-----BEGIN [^-]+-----[^-]*-----END [^-]+-----" .issuer.publicKey -1 }}
{{- $rest := regexReplaceAll "-----BEGIN [^-]+-----[^-]*-----END [^-]+-----" .issuer.publicKey "" }}
{{- if or (not $blocks) (contains "-----" $rest) }}
{{- fail (printf "auth.issuers: publicKey of %s is cut off: give whole PEM blocks, from BEGIN PUBLIC KEY to END PUBLIC KEY" .issuer.issuer) }}
{{- end }}
{{- range $blocks }}
{{- $bare := regexReplaceAll "\\s" . "" }}
{{- if not (regexMatch "^-----BEGINPUBLICKEY-----MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=-----ENDPUBLICKEY-----$" $bare) }}
{{- fail (printf "auth.issuers: publicKey of %s is not an Ed25519 public key. To make one: bridge-ca jwt-keygen" $.issuer.issuer) }}
{{- end }}
{{- end }}
{{- $root := .root }}
{{- $key := printf "auth.issuers: projects of %s" .issuer.issuer }}
{{- range .issuer.projects }}{{ include "gastown.knownProject" (list $root $key .) }}{{ end }}
{{- end }}

{{/* Fails for a project without a namespace: (list $ KEY PROJECT). */}}
{{- define "gastown.knownProject" -}}
{{- $known := list }}
{{- range (index . 0).Values.namespaces }}{{ $known = append $known .project }}{{ end }}
{{- if not (has (index . 2) $known) }}
{{- fail (printf "%s: %s is not the project of any of namespaces, which have %s" (index . 1) (index . 2) ($known | uniq | join ", ")) }}
{{- end }}
{{- end }}

{{/* Fails for a request above its limit, which every API server refuses: (list KEY RESOURCES DEFAULTS). */}}
{{- define "gastown.requests" -}}
{{- $key := index . 0 }}
{{- $given := default dict (index . 1) }}
{{- $defaults := index . 2 }}
{{- $requests := default dict (get (ternary $given $defaults (hasKey $given "requests")) "requests") }}
{{- $limits := default dict (get (ternary $given $defaults (hasKey $given "limits")) "limits") }}
{{- range $name, $request := $requests }}
{{- if hasKey $limits $name }}
{{- $limit := get $limits $name }}
{{- $most := mulf (include "gastown.quantity" $limit | float64) 1.000000001 }}
{{- if gt (include "gastown.quantity" $request | float64) $most }}
{{- fail (printf "%s: requests.%s %v is above limits.%s %v" $key $name $request $name $limit) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A quantity such as 500m or 2Gi as a number. */}}
{{- define "gastown.quantity" -}}
{{- $binary := dict "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 }}
{{- $decimal := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "" 1.0 }}
{{- $text := toString . }}
{{- $unit := regexFind "(m|k|[KMGTPE]i?)$" $text }}
{{- $factor := get (merge $binary $decimal) $unit }}
{{- mulf (trimSuffix $unit $text | float64) $factor }}
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

{{/* Fails for a text that is neither a DNS name nor an address: (list KEY HOST). A name does not end in a number. */}}
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
