{{/* The template of all pods of chief, ps and worker, which differ little. */}}

{{/* The name of the Secret with a role's keys for the object store; empty if it has none. Arguments: root, role. */}}
{{- define "capstan.s3Secret" -}}
{{- $s3 := .root.Values.s3 -}}
{{- default $s3.existingSecret (get (dict "worker" $s3.workerSecret "serve" $s3.serveSecret) .role) -}}
{{- end -}}

{{/* The environment variables with the credentials and the address of the object store, as all S3 clients read them. Arguments: root, role. */}}
{{- define "capstan.s3Env" -}}
{{- with .root.Values.s3.endpoint }}
- {name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }}}
{{- end }}
{{- with .root.Values.s3.region }}
- {name: AWS_REGION, value: {{ . | quote }}}
{{- end }}
{{- if .root.Values.s3.allowHttp }}
- {name: CAPSTAN_S3_ALLOW_HTTP, value: "true"}
{{- end }}
{{- if include "capstan.s3Secret" . }}
- {name: CAPSTAN_S3_KEYS, value: /etc/capstan-s3}
{{- end }}
{{- end -}}

{{/* The port of the object store, from s3.endpoint. */}}
{{- define "capstan.s3Port" -}}
{{- $url := urlParse (default "https://aws" .Values.s3.endpoint) -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- default (ternary "80" "443" (eq $url.scheme "http")) $port -}}
{{- end -}}

{{/* The roles that use an object store, as a list: workers for the data, shards for checkpoints, the chief for both, and serving pods for
checkpoints and vocabularies. */}}
{{- define "capstan.remoteRoles" -}}
{{- $job := include "capstan.jobMap" . | fromYaml -}}
{{- $data := contains "s3://" (toJson $job.data) -}}
{{- $state := or (contains "s3://" (toJson $job.checkpoint)) (hasPrefix "s3://" .Values.chief.from) -}}
{{- $roles := ternary (list "chief") list (or $data $state) -}}
{{- if $state }}{{ $roles = append $roles "ps" }}{{ end -}}
{{- if or (contains "s3://" (toJson $job.checkpoint)) (contains "s3://" (toJson (default dict $job.data).features)) }}{{ $roles = append $roles "serve" }}{{ end -}}
{{- if $data }}{{ $roles = append $roles "worker" }}{{ end -}}
{{- toYaml $roles -}}
{{- end -}}

{{/* The keys as files. Processes read them again, so a Secret that is corrected, or created later, needs no restart. */}}
{{- define "capstan.s3Volume" -}}
{{- with include "capstan.s3Secret" . -}}
- name: s3-keys
  secret: {secretName: {{ . }}, optional: true, defaultMode: 0440}
{{- end -}}
{{- end -}}
{{- define "capstan.s3Mount" -}}
{{- if include "capstan.s3Secret" . -}}
- {name: s3-keys, mountPath: /etc/capstan-s3, readOnly: true}
{{- end -}}
{{- end -}}

{{/* The volume with the checkpoints, as a volume source of a pod; {} if the checkpoints are in an object store. */}}
{{- define "capstan.checkpointVolume" -}}
{{- if .Values.checkpoint.claim.enabled -}}
{{- dict "persistentVolumeClaim" (dict "claimName" (printf "%s-checkpoints" (include "capstan.fullname" .))) | toYaml -}}
{{- else -}}
{{- toYaml .Values.checkpoint.volume -}}
{{- end -}}
{{- end -}}

{{/* The volumes and mounts of a role, as {volumes: [...], mounts: [...]}. Arguments: root, role. */}}
{{- define "capstan.volumes" -}}
{{- $v := .root.Values -}}
{{- $own := get $v .role -}}
{{- $volumes := list -}}
{{- $mounts := list -}}
{{- if eq .role "chief" -}}
{{- $volumes = append $volumes (dict "name" "job" "configMap" (dict "name" (printf "%s-job" (include "capstan.fullname" .root)))) -}}
{{- $mounts = append $mounts (dict "name" "job" "mountPath" "/etc/capstan" "readOnly" true) -}}
{{- end -}}
{{- $checkpoint := include "capstan.checkpointVolume" .root | fromYaml -}}
{{- if and $checkpoint (ne .role "worker") -}}
{{- $volumes = append $volumes (merge (dict "name" "checkpoint") $checkpoint) -}}
{{- $mounts = append $mounts (merge (dict "name" "checkpoint" "mountPath" $v.checkpoint.mountPath) (ternary (dict "readOnly" true) dict (eq .role "serve"))) -}}
{{- end -}}
{{- /* Serving pods read vocabularies, which may be on the volume with the data. */ -}}
{{- $texts := and (eq .role "serve") (contains "\"vocabulary\"" (toJson (include "capstan.jobMap" .root | fromYaml).data)) -}}
{{- if and $v.data.volume (or $texts (has .role (list "chief" "worker"))) -}}
{{- $volumes = append $volumes (merge (dict "name" "data") $v.data.volume) -}}
{{- $mounts = append $mounts (dict "name" "data" "mountPath" $v.data.mountPath "readOnly" true) -}}
{{- end -}}
{{- with include "capstan.s3Volume" . }}{{ $volumes = concat $volumes (fromYamlArray .) }}{{ end -}}
{{- with include "capstan.s3Mount" . }}{{ $mounts = concat $mounts (fromYamlArray .) }}{{ end -}}
{{- if ne .role "serve" -}}
{{- with include "capstan.tlsVolume" . }}{{ $volumes = concat $volumes (fromYamlArray .) }}{{ end -}}
{{- with include "capstan.tlsMount" . }}{{ $mounts = concat $mounts (fromYamlArray .) }}{{ end -}}
{{- end -}}
{{- if eq (include "capstan.runsOwnProgram" .) "yes" -}}
{{- $program := include "capstan.programVolumes" . | fromYaml -}}
{{- $volumes = concat $volumes $program.volumes -}}
{{- $mounts = concat $mounts $program.mounts -}}
{{- end -}}
{{- dict "volumes" (concat $volumes $own.extraVolumes) "mounts" (concat $mounts $own.extraVolumeMounts) | toYaml -}}
{{- end -}}

{{- define "capstan.probes" -}}
startupProbe:
  grpc: {port: 7001, service: startup}
  {{- toYaml .startupProbe | nindent 2 }}
livenessProbe:
  grpc: {port: 7001, service: liveness}
  {{- toYaml .livenessProbe | nindent 2 }}
readinessProbe:
  grpc: {port: 7001, service: readiness}
  {{- toYaml .readinessProbe | nindent 2 }}
{{- end -}}

{{/* The topology spread constraints. They count the pods of their own role unless they have a selector. Arguments: root, role. */}}
{{- define "capstan.spread" -}}
{{- range (get .root.Values .role).topologySpreadConstraints }}
- {{- if not .labelSelector }}
  labelSelector:
    matchLabels:
      {{- include "capstan.selector" $ | nindent 6 }}
  {{- end }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The settings that all pods of the chart have in common. Arguments: root, role. */}}
{{- define "capstan.podBasics" -}}
{{- $asks := and (eq .role "wait") .root.Values.wait.autoScaleToZero -}}
serviceAccountName: {{ ternary (printf "%s-wait" (include "capstan.fullname" .root)) (include "capstan.roleServiceAccountName" .) $asks | toYaml }}
automountServiceAccountToken: {{ $asks }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- end -}}

{{/* The scheduling of pods: where they may run, and with which priority. Argument: the values of the role. */}}
{{- define "capstan.placement" -}}
{{- range $key := list "priorityClassName" "nodeSelector" "tolerations" "affinity" -}}
{{- with get $ $key }}
{{ $key }}: {{- if kindIs "string" . }} {{ . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* How many seconds an ending worker has to finish its steps. It is 4 if the values of an earlier release do not have this setting. */}}
{{- define "capstan.drainSeconds" -}}
{{- int (default 4 .Values.worker.drainSeconds) -}}
{{- end -}}

{{/* A complete pod template. Arguments: root, role, args (a list). */}}
{{- define "capstan.pod" -}}
{{- $v := .root.Values -}}
{{- $own := get $v .role -}}
{{- $volumes := include "capstan.volumes" . | fromYaml -}}
{{- $program := include "capstan.runsOwnProgram" . -}}
metadata:
  # Without the chart's version: a new chart that means the same pods leaves them alone.
  labels:
    {{- include "capstan.labels" (dict "root" .root "role" .role "labels" (list $own.podLabels $v.commonLabels)) | nindent 4 }}
  {{- $scrape := ternary (dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090") dict $v.monitoring.annotations }}
  {{- $code := ternary (dict "checksum/code" (include "capstan.codeFiles" .root | sha256sum)) dict (and (ne $program "") (kindIs "map" $v.worker.code)) }}
  {{- with merge (dict) $own.podAnnotations $v.commonAnnotations $scrape $code (dict "kubectl.kubernetes.io/default-container" .role) }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "capstan.podBasics" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ int $own.terminationGracePeriodSeconds }}
  {{- with include "capstan.placement" $own }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $own.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "capstan.spread" . }}
  topologySpreadConstraints:
    {{- . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ if $program }}{{ include "capstan.programImage" .root }}{{ else }}{{ include "capstan.image" . }}{{ end }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      # Why a process has ended is what its log ends with.
      terminationMessagePolicy: FallbackToLogsOnError
      {{- if $program }}
      {{- with include "capstan.programCommand" .root | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- else }}
      args:
        {{- toYaml (concat .args (list (printf "--log-format=%s" $v.logFormat)) $own.extraArgs) | nindent 8 }}
      {{- end }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        {{- if and (eq .role "ps") $own.zoneLabel }}
        - name: CAPSTAN_ZONE
          valueFrom: {fieldRef: {fieldPath: "metadata.labels['{{ $own.zoneLabel }}']"}}
        {{- end }}
        {{- if eq .role "chief" }}
        # For `kubectl exec`: capstan status.
        - {name: CAPSTAN_CHIEF, value: "localhost:7000"}
        {{- end }}
        {{- if $program }}
        {{- include "capstan.programEnv" .root | nindent 8 }}
        {{- end }}
        {{- with include "capstan.tlsEnv" . }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with include "capstan.s3Env" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $own.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $own.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- if ne .role "worker" }}
        - {name: grpc, containerPort: 7000}
        {{- end }}
        - {name: health, containerPort: 7001}
        - {name: metrics, containerPort: 9090}
      {{- include "capstan.probes" $own | nindent 6 }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      {{- if $own.resizeInPlace }}
      resizePolicy:
        - {resourceName: memory, restartPolicy: NotRequired}
      {{- end }}
      securityContext:
        {{- toYaml $v.securityContext | nindent 8 }}
      {{- with $volumes.mounts }}
      volumeMounts:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with $own.sidecars }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $volumes.volumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
