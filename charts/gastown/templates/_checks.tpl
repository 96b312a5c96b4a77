{{/* What no single value shows and the controller would refuse when it starts: told here, before anything is installed. */}}
{{- define "gastown.checks" -}}
{{- $names := dict }}
{{- range .Values.namespaces }}
{{- if hasKey $names .name }}{{ fail (printf "namespaces: %s is there twice, and one namespace belongs to one project" .name) }}{{ end }}
{{- if eq .name $.Values.ca.namespace }}{{ fail (printf "namespaces: %s is ca.namespace, and agents there could mount the CA's key" .name) }}{{ end }}
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
{{- end }}
