{{/* "yes" if the path is on a volume of the pods of a role, otherwise empty. Arguments: root, role, path. */}}
{{- define "capstan.hasPath" -}}
{{- $v := .root.Values -}}
{{- $path := .path -}}
{{- $mounted := list -}}
{{- if or $v.checkpoint.volume $v.checkpoint.claim.enabled }}{{ $mounted = append $mounted $v.checkpoint.mountPath }}{{ end -}}
{{- range (get $v .role).extraVolumeMounts }}{{ $mounted = append $mounted .mountPath }}{{ end -}}
{{- $found := "" -}}
{{- range $mounted }}{{ if or (eq $path .) (hasPrefix (printf "%s/" (trimSuffix "/" .)) $path) }}{{ $found = "yes" }}{{ end }}{{ end -}}
{{- $found -}}
{{- end -}}

{{/* Refuses values that cannot work, and says why. Otherwise a pod would never start, without a reason that users see. */}}
{{- define "capstan.checks" -}}
{{- $v := .Values -}}
{{- $name := include "capstan.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
  {{- fail (printf "%q cannot be a part of the names of Services: a release's name, or else fullnameOverride, begins with a letter and has lowercase letters, digits and hyphens alone" $name) -}}
{{- end -}}
{{- if and $v.demo $v.job }}{{ fail "demo and job exclude each other: the demo is a job of its own" }}{{ end -}}
{{- if not (or $v.demo $v.job) }}{{ fail "job: is not set; give it as a map or with --set-file job=job.yaml (docs/job-yaml.md), or say demo=true" }}{{ end -}}
{{- $job := include "capstan.jobMap" . | fromYaml -}}
{{- if not $job.job }}{{ fail "job.job: is missing; a job that is given as text has to say its name" }}{{ end -}}
{{- if not $job.data }}{{ fail "job: has no data section; see docs/job-yaml.md" }}{{ end -}}

{{- $checkpoint := default dict $job.checkpoint -}}
{{- $uri := default "" $checkpoint.uri -}}
{{- $path := trimPrefix "file://" $uri -}}
{{- if and $uri (not (hasPrefix "s3://" $uri)) (not (include "capstan.hasPath" (dict "root" . "role" "ps" "path" $path))) -}}
  {{- fail (printf "job.checkpoint.uri: %s is on no volume of the shards; set checkpoint.volume, or use s3://bucket/prefix" $uri) -}}
{{- end -}}

{{- if and $v.checkpoint.volume $v.checkpoint.claim.enabled -}}
  {{- fail "checkpoint.volume and checkpoint.claim exclude each other" -}}
{{- end -}}
{{- if hasKey $v.checkpoint.volume "emptyDir" -}}
  {{- fail "checkpoint.volume: an emptyDir is another one in every pod, and ends with it; use checkpoint.claim, a claim of yours, or s3://bucket/prefix" -}}
{{- end -}}

{{- range $part, $policy := default dict $job.update -}}
  {{- if and (eq (default "" $policy.policy) "sync") (not $policy.lanes) -}}
    {{- fail (printf "job.update.%s.lanes: say how many; the result depends on it, and not on the number of workers" $part) -}}
  {{- end -}}
{{- end -}}

{{- if and (hasPrefix "http://" (default "" $v.s3.endpoint)) (not $v.s3.allowHttp) -}}
  {{- fail (printf "s3.endpoint: %s is without TLS, which s3.allowHttp=true permits; expected https://..." $v.s3.endpoint) -}}
{{- end -}}

{{- $limit := dig "limits" "memory" "" $v.ps.resources -}}
{{- $budget := dig "table" "byte_budget" "" $job -}}
{{- if and $limit $budget -}}
  {{- $shards := include "capstan.shards" . | int64 -}}
  {{- $need := addf (mulf 1.25 (divf (include "capstan.bytes" $budget | float64) $shards)) 268435456 | int64 -}}
  {{- if gt $need (include "capstan.bytes" $limit | int64) -}}
    {{- fail (printf "ps.resources.limits.memory: %s is too little for job.table.byte_budget %s on %d shards; a shard needs %d MiB (a quarter more than its share, and 256 MiB)" (toString $limit) (toString $budget) $shards (div $need 1048576)) -}}
  {{- end -}}
{{- end -}}

{{- $drain := include "capstan.drainSeconds" . | int -}}
{{- if lt (int $v.worker.terminationGracePeriodSeconds) (add $drain 6 | int) -}}
  {{- fail (printf "worker.terminationGracePeriodSeconds: %d is less than worker.drainSeconds + 6" (int $v.worker.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- if lt (int $v.ps.terminationGracePeriodSeconds) (add (int $v.ps.finalCheckpointSeconds) 10 | int) -}}
  {{- fail (printf "ps.terminationGracePeriodSeconds: %d is less than ps.finalCheckpointSeconds + 10" (int $v.ps.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- if lt (int $v.chief.terminationGracePeriodSeconds) (add (int $v.ps.finalCheckpointSeconds) 10 | int) -}}
  {{- fail (printf "chief.terminationGracePeriodSeconds: %d is less than ps.finalCheckpointSeconds + 10: shards that stop need the chief" (int $v.chief.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- $start := mul (int $v.ps.startupProbe.periodSeconds) (int $v.ps.startupProbe.failureThreshold) -}}
{{- if lt $start (int64 $v.ps.restoreSeconds) -}}
  {{- fail (printf "ps.startupProbe: %d s (periodSeconds times failureThreshold) is less than ps.restoreSeconds" $start) -}}
{{- end -}}

{{- $scaling := default dict $v.ps.autoscaling -}}
{{- if and $scaling.enabled (not (or $scaling.targetCPUUtilizationPercentage $scaling.targetMemoryUtilizationPercentage $scaling.metrics)) -}}
  {{- fail "ps.autoscaling: needs a target of CPU or memory, or metrics" -}}
{{- end -}}
{{- range $role, $by := dict "ps" $scaling "worker" $v.worker.autoscaling -}}
  {{- if and $by.enabled (lt (int $by.maxReplicas) (int $by.minReplicas)) -}}
    {{- fail (printf "%s.autoscaling: maxReplicas %d is less than minReplicas %d" $role (int $by.maxReplicas) (int $by.minReplicas)) -}}
  {{- end -}}
{{- end -}}
{{- include "capstan.programChecks" . -}}
{{- include "capstan.monitoringChecks" . -}}
{{- if and $v.worker.autoscaling.enabled $v.worker.keda.enabled -}}
  {{- fail "worker.autoscaling and worker.keda exclude each other: two autoscalers would fight over the workers" -}}
{{- end -}}
{{- if and $v.worker.keda.enabled (not $v.worker.keda.triggers) -}}
  {{- fail "worker.keda.triggers: KEDA needs at least one" -}}
{{- end -}}
{{- if $v.wait.autoScaleToZero -}}
  {{- if not $v.wait.enabled -}}
    {{- fail "wait.autoScaleToZero: it is the Job of wait.enabled that scales the workers" -}}
  {{- end -}}
  {{- if or $v.worker.autoscaling.enabled $v.worker.keda.enabled -}}
    {{- fail "wait.autoScaleToZero and autoscalers exclude each other: they would start the workers again" -}}
  {{- end -}}
{{- end -}}
{{- if ($v.serve).enabled -}}
  {{- if lt (int $v.serve.terminationGracePeriodSeconds) (add (int $v.serve.lingerSeconds) 25 | int) -}}
    {{- fail (printf "serve.terminationGracePeriodSeconds: %d is less than serve.lingerSeconds + 25" (int $v.serve.terminationGracePeriodSeconds)) -}}
  {{- end -}}
  {{- if not $uri }}{{ fail "serve.enabled: needs job.checkpoint.uri, where the versions are that it serves" }}{{ end -}}
  {{- if and (include "capstan.ownProgram" .) (not (include "capstan.programLine" .)) -}}
    {{- fail "serve.enabled: how the program of worker.image is started is not known here; say it in worker.command (docs/serve.md)" -}}
  {{- end -}}
  {{- if not (or (hasPrefix "s3://" $uri) (include "capstan.hasPath" (dict "root" . "role" "serve" "path" $path))) -}}
    {{- fail (printf "serve.enabled: %s is on no volume of the pods that serve; set checkpoint.volume, or serve.extraVolumeMounts" $uri) -}}
  {{- end -}}
{{- end -}}
{{- include "capstan.tlsSwitchChecks" . -}}
{{- if $v.tls.enabled -}}
  {{- $own := 0 -}}
  {{- range $role, $secret := $v.tls.secrets }}{{ if $secret }}{{ $own = add $own 1 }}{{ end }}{{ end -}}
  {{- if and $v.tls.issuer.name $own -}}
    {{- fail "tls.issuer and tls.secrets exclude each other: cert-manager would fill the secrets" -}}
  {{- end -}}
  {{- if and $v.tls.csiDriver (not $v.tls.issuer.name) -}}
    {{- fail "tls.csiDriver: needs tls.issuer.name, whose certificates it asks for" -}}
  {{- end -}}
  {{- if and $v.tls.numberedShards (not $v.tls.csiDriver) -}}
    {{- fail "tls.numberedShards: needs tls.csiDriver, whose certificates carry the numbers; the shards share one without, and none of them would be believed" -}}
  {{- end -}}
  {{- range $role := list "client" "pusher" }}
  {{- if and (get $v.tls $role) (not $v.tls.issuer.name) -}}
    {{- fail (printf "tls.%s: needs tls.issuer.name, whose certificate it asks for; with tls.secrets, make a secret for such programs yourself (docs/tls.md)" $role) -}}
  {{- end -}}
  {{- end -}}
  {{- if and (not $v.tls.issuer.name) (ne (int $own) 4) -}}
    {{- fail "tls.enabled: needs tls.issuer.name, or tls.secrets for each of chief, ps, worker and admin" -}}
  {{- end -}}
{{- end -}}
{{- end -}}
