{{/* Milliseconds between scrapes. */}}
{{- define "capstan.scrapeMilliseconds" -}}
{{- $text := .Values.monitoring.podMonitor.interval -}}
{{- mul (regexFind "^[0-9]+" $text | atoi) (get (dict "ms" 1 "s" 1000 "m" 60000) (regexFind "[a-z]+$" $text)) -}}
{{- end -}}

{{/* A text of Prometheus in which each rate is taken over at least four scrapes. With fewer there may be no value if one scrape is
     late or fails. Arguments: root, text. */}}
{{- define "capstan.rateWindows" -}}
{{- $least := mul 4 (include "capstan.scrapeMilliseconds" .root | atoi) -}}
{{- $text := .text -}}
{{- range $minutes := list 1 2 5 -}}
  {{- if gt $least (mul $minutes 60000) -}}
    {{- $window := printf "(?P<of>\\b(?:rate|increase|last_over_time)\\([^()\\[\\]]*)\\[%dm\\]" $minutes -}}
    {{- $text = regexReplaceAll $window $text (printf "${of}[%ds]" (div (add $least 999) 1000)) -}}
  {{- end -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* A dashboard whose queries contain the time between scrapes, if that is longer than Grafana assumes. Arguments: root, text. */}}
{{- define "capstan.dashboard" -}}
{{- $text := include "capstan.rateWindows" . -}}
{{- if gt (include "capstan.scrapeMilliseconds" .root | atoi) 15000 -}}
  {{- $text = replace `"expr":` (printf `"interval": %q, "expr":` .root.Values.monitoring.podMonitor.interval) $text -}}
{{- end -}}
{{- $text | replace "https://github.com/capstan/capstan/blob/main/docs/runbooks.md" .root.Values.monitoring.rules.runbookUrl -}}
{{- end -}}

{{- define "capstan.monitoringChecks" -}}
{{- $monitoring := .Values.monitoring -}}
{{- $read := or $monitoring.rules.enabled $monitoring.rules.configMap $monitoring.dashboards.enabled -}}
{{- if and $read (gt (include "capstan.scrapeMilliseconds" . | atoi) 120000) -}}
  {{- fail (printf "monitoring.podMonitor.interval: %s is too long for rules and dashboards; expected at most 2m, as Prometheus forgets a value after 5m, and a scrape may fail" $monitoring.podMonitor.interval) -}}
{{- end -}}
{{- end -}}
