{{/* A HorizontalPodAutoscaler. Takes root, role, name and kind of the workload, and the values that say how: minReplicas,
     maxReplicas, behavior, metrics; where these are none, `otherwise`. */}}
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

{{/* A metric of it: that much of what pods have requested. Takes resource and percent. */}}
{{- define "capstan.utilization" -}}
type: Resource
resource:
  name: {{ .resource }}
  target: {type: Utilization, averageUtilization: {{ .percent }}}
{{- end }}

{{/* How many shards there are at first. */}}
{{- define "capstan.shards" -}}
{{- if (.Values.ps.autoscaling).enabled }}{{ .Values.ps.autoscaling.minReplicas }}{{ else }}{{ default 1 .Values.ps.replicas }}{{ end -}}
{{- end }}
