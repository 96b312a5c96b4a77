{{/*
A hook that deletes the object with this name: Helm deletes that object, creates the hook's own, which does nothing, and deletes the
hook's too. (dict "on" EVENTS "apiVersion" … "kind" … "metadata" …, "image" … for a Job or Deployment)
*/}}
{{- define "gastown.deletion" }}
---
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .metadata.name }}
  namespace: {{ .metadata.namespace }}
  labels:
    app.kubernetes.io/part-of: gastown
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- if eq .kind "RoleBinding" }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .metadata.name }}}
{{- else if eq .kind "Role" }}
rules: []
{{- else if eq .kind "NetworkPolicy" }}
spec: {podSelector: {matchLabels: {gastown.io/release: none}}, policyTypes: [Ingress]}
{{- else if eq .kind "PodDisruptionBudget" }}
spec: {maxUnavailable: 1, selector: {matchLabels: {gastown.io/release: none}}}
{{- else if eq .kind "Service" }}
spec: {clusterIP: None, selector: {gastown.io/release: none}}
{{- else if eq .kind "Deployment" }}
spec:
  replicas: 0
  selector: {matchLabels: {gastown.io/release: none}}
  template:
    metadata: {labels: {gastown.io/release: none}}
    spec:
      containers:
        - {name: none, image: {{ .image | quote }}}
{{- else if eq .kind "Job" }}
spec:
  completions: 0 # it is complete at once, without a pod
  parallelism: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: none, image: {{ .image | quote }}}
{{- end }}
{{- end }}

{{/* The objects that the chart renders from these values, as lines of KIND/NAMESPACE/NAME. */}}
{{- define "gastown.made" -}}
{{- range list "configmap" "deployment" "networkpolicies" "poddisruptionbudget" "rbac" "relay" "service" "serviceaccounts" "setup" "threads" }}
{{- $text := include (printf "%s/%s.yaml" $.Template.BasePath .) $ }}
{{- range regexSplit "(?m)^---[ \t]*$" $text -1 }}
{{- $object := fromYaml . }}
{{- if $object.kind }}
{{ printf "%s/%s/%s" $object.kind $object.metadata.namespace $object.metadata.name }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The namespaces that may hold objects of failed upgrades, as lines: the release's own, and those that the release has created and its
values no longer name.
*/}}
{{- define "gastown.places" -}}
{{- $ns := .Release.Namespace }}
{{ $ns }}
{{- $kept := dict .Values.ca.namespace true }}
{{- range .Values.namespaces }}{{ $_ := set $kept .name true }}{{ end }}
{{- range (lookup "v1" "Namespace" "" "").items }}
{{- $annotations := default dict .metadata.annotations }}
{{- $isOurs := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $ns) }}
{{- if and $isOurs (not (hasKey $kept .metadata.name)) (eq .status.phase "Active") }}
{{ .metadata.name }}
{{- end }}
{{- end }}
{{- end }}
