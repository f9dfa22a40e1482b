{{/* A HorizontalPodAutoscaler. Arguments: root, and the role, name and kind of the workload; the values minReplicas, maxReplicas,
     behavior and metrics; `otherwise`: the metrics if the values have none. */}}
{{- define "capstan.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "capstan.metadata" (dict "root" .root "name" .name "role" .role) | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: {{ .kind }}, name: {{ .name }}}
  minReplicas: {{ .values.minReplicas }}
  maxReplicas: {{ .values.maxReplicas }}
  metrics:
    {{- toYaml (default .otherwise .values.metrics) | nindent 4 }}
  behavior:
    {{- toYaml .values.behavior | nindent 4 }}
{{- end }}

{{/* A metric of the autoscaler: a percentage of what the pods have requested. Arguments: resource, percent. */}}
{{- define "capstan.utilization" -}}
type: Resource
resource:
  name: {{ .resource }}
  target: {type: Utilization, averageUtilization: {{ .percent }}}
{{- end }}

{{/* How many shards the job begins with. */}}
{{- define "capstan.shards" -}}
{{- if (.Values.ps.autoscaling).enabled }}{{ .Values.ps.autoscaling.minReplicas }}{{ else }}{{ default 1 .Values.ps.replicas }}{{ end -}}
{{- end }}
