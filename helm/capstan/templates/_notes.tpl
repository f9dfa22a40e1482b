{{/* The notes that helm prints after an installation. */}}
{{- define "capstan.notes" -}}
{{- $name := include "capstan.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $job := include "capstan.jobMap" . | fromYaml -}}
{{- $uri := dig "checkpoint" "uri" "" $job -}}
{{ $job.job }} starts by itself: a chief, {{ default "some" .Values.ps.replicas }} PS shards, and workers.

What it is doing, and who is slow:
  kubectl --namespace {{ $namespace }} exec {{ $name }}-chief-0 -- capstan status
  kubectl --namespace {{ $namespace }} exec -it {{ $name }}-chief-0 -- capstan top

{{ if or .Values.worker.autoscaling.enabled .Values.worker.keda.enabled -}}
The workers are scaled by load:
  kubectl --namespace {{ $namespace }} get hpa --watch
{{- else -}}
More workers, or fewer, or none for a while; at any time:
  kubectl --namespace {{ $namespace }} scale deployment/{{ $name }}-worker --replicas=6
{{- end }}
{{- if .Values.wait.enabled }}
{{- if .Values.wait.autoScaleToZero }}

When training has ended, the workers are scaled to 0; scale them up to train again.
{{- end }}

Wait for the end, and see how it has ended:
  kubectl --namespace {{ $namespace }} wait --for=jsonpath='{.status.conditions[0].status}'=True job --selector=capstan/wait={{ .Release.Name }} --timeout=6h
  kubectl --namespace {{ $namespace }} get job --selector=capstan/wait={{ .Release.Name }}
{{- end }}

Who does what:
  kubectl --namespace {{ $namespace }} get pods --selector=app.kubernetes.io/instance={{ .Release.Name }}
  kubectl --namespace {{ $namespace }} logs statefulset/{{ $name }}-chief --follow
{{ if $uri }}
The model will be in {{ trimSuffix "/" $uri }}/{{ $job.job }}.
{{- if (.Values.serve).enabled }}
Its newest version answers requests, from the first checkpoint on (before that its pods are not ready):
  kubectl --namespace {{ $namespace }} port-forward service/{{ $name }}-serve 8080:{{ .Values.serve.service.port }}
{{- end }}
{{- else }}
WARNING: job.checkpoint.uri is not set: the model is not written anywhere, and a lost shard sends the job back to its beginning.
{{- end }}
{{- $identity := or .Values.serviceAccount.worker.create .Values.serviceAccount.worker.name }}
{{- if and (hasPrefix "s3://" (default "" $uri)) (ternary (not .Values.s3.workerSecret) (not $identity) (ne .Values.s3.existingSecret "")) }}
Note: the workers may write the bucket, with the keys or the identity of the shards; give them their own (s3.workerSecret or serviceAccount.worker), as docs/s3.md says.
{{- end }}
{{- if (.Values.serve).enabled }}
{{- $identity := or ((.Values.serviceAccount).serve).create ((.Values.serviceAccount).serve).name }}
{{- if and (hasPrefix "s3://" (default "" $uri)) (ternary (not .Values.s3.serveSecret) (not $identity) (ne .Values.s3.existingSecret "")) }}
Note: the pods that serve may write the bucket, with the keys or the identity of the shards; give them their own (s3.serveSecret or serviceAccount.serve), as docs/s3.md says.
{{- end }}
{{- end }}
{{- if and $uri (regexMatch "^0(ms|s|m|h|d)?$" (dig "checkpoint" "every" "" $job | toString)) }}
Note: job.checkpoint.every is 0: only the finished model is saved, and a lost shard sends the job back to its beginning.
{{- end }}
{{- if and (eq (toString $job.replicas) "1") (eq (toString .Values.ps.replicas) "1") (not (.Values.ps.autoscaling).enabled) }}
Note: job.replicas is 1 and so is ps.replicas: there is no second shard to hold a backup; if the one is lost, the job returns to its last checkpoint.
{{- end }}
{{- if not (or .Values.networkPolicy.enabled .Values.tls.enabled) }}
WARNING: connections are neither encrypted nor restricted; tls.enabled does both, networkPolicy.enabled restricts them.
{{- end }}
{{- if not (kindIs "invalid" .Values.worker.replicas) }}
Note: worker.replicas is {{ .Values.worker.replicas }}: `helm upgrade` goes back to it. With null the count of `kubectl scale` stays.
{{- end }}
{{- if include "capstan.ownProgram" . }}
Workers run {{ default "the program" (include "capstan.mainFile" .) }} in {{ include "capstan.programImage" . }}; what they print, and why they ended:
  kubectl --namespace {{ $namespace }} logs --selector=app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/component=worker --prefix --follow
  kubectl --namespace {{ $namespace }} get pods --selector=app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/component=worker --output=jsonpath='{range .items[*]}{.metadata.name}: {.status.containerStatuses[0].lastState.terminated.message}{"\n"}{end}'
{{- end }}
{{- if .Values.monitoring.dashboards.enabled }}
Dashboards: Capstan / Training, Staleness, Shards and Durability in Grafana, once its sidecar has seen them.
{{- end }}
{{- end -}}
