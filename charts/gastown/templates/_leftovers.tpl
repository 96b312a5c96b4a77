{{/*
A hook that deletes an object of this name: Helm deletes what has the hook's name, makes the hook, which does nothing, and deletes it
again. (dict "on" EVENTS "apiVersion" … "kind" … "metadata" …, "image" … for a Job or Deployment)
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

{{/* What the chart makes of these values, as KIND/NAMESPACE/NAME of each object, by lines. */}}
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
The namespaces that may hold what no revision has any more, by lines: the release's own, and those of the agents and the CA that the
values leave out, as far as the cluster knows of them.
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
