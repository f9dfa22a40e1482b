{{/* The job file, and what of it concerns the cluster. */}}

{{/* Takes out of a map, at every depth, what is null; gives nothing. */}}
{{- define "capstan.dropNulls" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
{{- if kindIs "invalid" $value }}{{ $_ := unset $map $key }}{{ end -}}
{{- if kindIs "map" $value }}{{ include "capstan.dropNulls" $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* job.yaml as the chief reads it: text stays as it is; a map without a name gets the release's. */}}
{{- define "capstan.job" -}}
{{- if kindIs "string" .Values.job -}}
{{ .Values.job }}
{{- else -}}
{{- $job := ternary (.Files.Get "files/demo.yaml" | fromYaml) (default dict .Values.job | deepCopy) .Values.demo -}}
{{- include "capstan.dropNulls" $job -}}
{{ toYaml (merge (dict) $job (dict "job" (include "capstan.fullname" .))) }}
{{- end -}}
{{- end -}}

{{/* A size as Kubernetes or job.yaml writes it (2Gi, 64MiB, 1G, 500MB, 1e9), in bytes. */}}
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
