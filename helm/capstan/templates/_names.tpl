{{/* Names, labels and images. */}}

{{/* A name of at most 40 characters. So every name that is made of it has less than 63, also with a hash at the end. */}}
{{- define "capstan.fullname" -}}
{{- $name := default .Release.Name .Values.fullnameOverride -}}
{{- if gt (len $name) 40 -}}
{{- printf "%s-%s" (trunc 31 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{- define "capstan.serviceAccountName" -}}
{{- default (ternary (include "capstan.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* The service account of a role: that of the workers or of the serving pods if they have one of their own, otherwise that of the release.
Arguments: root, role. */}}
{{- define "capstan.roleServiceAccountName" -}}
{{- $own := default dict (get (pick .root.Values.serviceAccount "worker" "serve") .role) -}}
{{- $made := ternary (printf "%s-%s" (include "capstan.fullname" .root) .role) "" (default false $own.create) -}}
{{- default (include "capstan.serviceAccountName" .root) (default $made $own.name) -}}
{{- end -}}

{{/* The labels that select pods. They never change. Arguments: root, role. */}}
{{- define "capstan.selector" -}}
app.kubernetes.io/name: capstan
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
{{- if .role }}
app.kubernetes.io/component: {{ .role }}
{{- end }}
{{- end -}}

{{/* The labels of an object or pod, as one map. If several maps have a key, the labels that select pods take precedence, and then the first
map. Arguments: root, role (may be empty), labels (a list of maps). */}}
{{- define "capstan.labels" -}}
{{- $labels := include "capstan.selector" . | fromYaml -}}
{{- range .labels }}{{ $labels = merge $labels (default dict .) }}{{ end -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* The labels that the chart gives to each of its objects. Argument: root. */}}
{{- define "capstan.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: capstan
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The name, namespace, labels and annotations of an object. Arguments: root, name, role; labels, annotations. */}}
{{- define "capstan.metadata" -}}
name: {{ .name | toYaml }}
namespace: {{ .root.Release.Namespace | toYaml }}
labels:
  {{- $labels := list .labels .root.Values.commonLabels (include "capstan.chartLabels" .root | fromYaml) }}
  {{- include "capstan.labels" (dict "root" .root "role" .role "labels" $labels) | nindent 2 }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The image of a role. Arguments: root, role (chief, ps, worker, cli, torch). */}}
{{- define "capstan.image" -}}
{{- $image := .root.Values.image -}}
{{- $name := printf "%s/%s" $image.repository .role -}}
{{- $tag := default .root.Chart.AppVersion $image.tag -}}
{{- include "capstan.imageAt" (dict "root" .root "registry" $image.registry "name" $name "tag" $tag "digest" (get $image.digests .role)) -}}
{{- end -}}

{{/* An image by its digest or, without one, by its tag. Arguments: root, registry, name, tag, digest. */}}
{{- define "capstan.imageAt" -}}
{{- $registry := default .registry .root.Values.global.imageRegistry -}}
{{- if $registry }}{{ trimSuffix "/" $registry }}/{{ end }}{{ .name }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end -}}
{{- end -}}

{{- define "capstan.domain" -}}
{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- define "capstan.chiefAddress" -}}
{{ include "capstan.fullname" . }}-chief.{{ include "capstan.domain" . }}:7000
{{- end -}}
