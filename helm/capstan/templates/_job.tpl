{{/* The job file, and those of its settings that concern the cluster. */}}

{{/* Removes null values from a map, at every depth, in place. Its result is empty. */}}
{{- define "capstan.dropNulls" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
{{- if kindIs "invalid" $value }}{{ $_ := unset $map $key }}{{ end -}}
{{- if kindIs "map" $value }}{{ include "capstan.dropNulls" $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* A text, or a number as text. --set gives whole numbers, but files and the values of an earlier release give floats, which Go would
write as 2.0261129e+07. Here all of them give the same text. */}}
{{- define "capstan.text" -}}
{{- if and (or (kindIs "float64" .) (kindIs "int64" .)) (eq (floor .) (float64 .)) }}{{ printf "%.0f" (float64 .) }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* job.yaml as the chief reads it. Text stays as it is. A map without a name gets the name of the release. */}}
{{- define "capstan.job" -}}
{{- if kindIs "string" .Values.job -}}
{{ .Values.job }}
{{- else -}}
{{- $job := ternary (.Files.Get "files/demo.yaml" | fromYaml) (default dict .Values.job | deepCopy) .Values.demo -}}
{{- include "capstan.dropNulls" $job -}}
{{ toYaml (merge (dict "job" (include "capstan.text" (default (include "capstan.fullname" .) $job.job))) $job) }}
{{- end -}}
{{- end -}}

{{/* The sections of the job that the chart reads, each with an example of the map that it has to be. */}}
{{- define "capstan.jobSections" -}}
data: "{format: csv, train: s3://bucket/train/*.csv}"
model: "{preset: deepfm}"
update: "{sparse: {policy: async}, dense: {policy: sync, lanes: 4}}"
table: "{byte_budget: 4GiB}"
checkpoint: "{uri: s3://bucket/prefix}"
{{- end -}}

{{/* The job as a map, for templates that read it. Null values are left out, as the chief does. Any template may be the first to read the
job, so this refuses sections that are no maps. */}}
{{- define "capstan.jobMap" -}}
{{- $job := include "capstan.job" . | fromYaml -}}
{{- if hasKey $job "Error" }}{{ fail (printf "job: is not YAML: %s" $job.Error) }}{{ end -}}
{{- include "capstan.dropNulls" $job -}}
{{- range $section, $example := include "capstan.jobSections" . | fromYaml -}}
  {{- if and (hasKey $job $section) (not (kindIs "map" (get $job $section))) -}}
    {{- fail (printf "job.%s: is %s, and not a map of its keys, such as %s (docs/job-yaml.md)" $section (get $job $section | toJson) $example) -}}
  {{- end -}}
{{- end -}}
{{- range $part, $policy := default dict $job.update -}}
  {{- if not (kindIs "map" $policy) -}}
    {{- fail (printf "job.update.%s: is %s, and not a map of its keys, such as {policy: sync, lanes: 4} (docs/job-yaml.md)" $part (toJson $policy)) -}}
  {{- end -}}
{{- end -}}
{{- $uri := dig "checkpoint" "uri" "" $job -}}
{{- if not (kindIs "string" $uri) }}{{ fail (printf "job.checkpoint.uri: is %s, and not a text such as s3://bucket/prefix" (toJson $uri)) }}{{ end -}}
{{- with $job.job }}{{ $_ := set $job "job" (include "capstan.text" .) }}{{ end -}}
{{- toYaml $job -}}
{{- end -}}

{{/* Converts a size as Kubernetes or job.yaml writes it (2Gi, 64MiB, 1G, 500MB, 1e9) to bytes. */}}
{{- define "capstan.bytes" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9.]+(e[+]?[0-9]+)?" $text -}}
{{- $unit := trimPrefix $number $text | trimSuffix "B" -}}
{{- $factors := dict "" 1 "k" 1000 "K" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if or (not $number) (not (hasKey $factors $unit)) -}}
{{- fail (printf "%q is not a size; expected one such as 2Gi" $text) -}}
{{- end -}}
{{- mulf (float64 $number) (get $factors $unit | float64) | int64 -}}
{{- end -}}
