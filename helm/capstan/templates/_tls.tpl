{{/* Mutual TLS: where the certificate of a role is. Pods that are no processes of the job (wait, test) have the role admin. */}}

{{/* The role in the certificate of pods of a role. Argument: the role. */}}
{{- define "capstan.tlsRole" -}}
{{- ternary . "admin" (has . (list "chief" "ps" "worker")) -}}
{{- end -}}

{{/* The name of the Secret with the certificate of a role. Arguments: root, role (of the certificate). */}}
{{- define "capstan.tlsSecret" -}}
{{- default (printf "%s-%s-tls" (include "capstan.fullname" .root) .role) (get .root.Values.tls.secrets .role) -}}
{{- end -}}

{{/* The certificate as volumes, mounts and environment of a pod; empty without TLS. Arguments: root, role (of the pod). */}}
{{- define "capstan.tlsVolume" -}}
{{- $tls := .root.Values.tls -}}
{{- if and $tls.enabled $tls.csiDriver (eq .role "ps") -}}
{{- $name := printf "ps.%s.capstan" (include "capstan.jobMap" .root | fromYaml).job -}}
- name: tls
  csi:
    driver: csi.cert-manager.io
    readOnly: true
    volumeAttributes:
      csi.cert-manager.io/issuer-name: {{ $tls.issuer.name }}
      csi.cert-manager.io/issuer-kind: {{ $tls.issuer.kind }}
      csi.cert-manager.io/issuer-group: {{ $tls.issuer.group }}
      # The role in the job, and which shard; the driver fills in the pod's name.
      csi.cert-manager.io/dns-names: {{ printf "%s,${POD_NAME}.%s" $name $name | quote }}
      csi.cert-manager.io/key-usages: server auth,client auth
      csi.cert-manager.io/duration: {{ $tls.duration }}
      csi.cert-manager.io/renew-before: {{ $tls.renewBefore }}
      csi.cert-manager.io/fs-group: {{ include "capstan.text" .root.Values.podSecurityContext.fsGroup | quote }}
{{- else if $tls.enabled -}}
- name: tls
  secret:
    secretName: {{ include "capstan.tlsSecret" (dict "root" .root "role" (include "capstan.tlsRole" .role)) }}
    defaultMode: 0440
{{- end -}}
{{- end -}}
{{- define "capstan.tlsMount" -}}
{{- if .root.Values.tls.enabled -}}
- {name: tls, mountPath: /etc/capstan-tls, readOnly: true}
{{- end -}}
{{- end -}}
{{- define "capstan.tlsEnv" -}}
{{- if .root.Values.tls.enabled -}}
- {name: CAPSTAN_TLS, value: /etc/capstan-tls}
{{- end -}}
{{- end -}}

{{/* How many seconds before its expiry a certificate that was not renewed raises an alert: a week, or half of tls.renewBefore if that is
less. */}}
{{- define "capstan.tlsEndingSeconds" -}}
{{- $text := .Values.tls.renewBefore -}}
{{- if not (regexMatch "^([0-9]+(h|m|s))+$" $text) -}}
{{- fail (printf "tls.renewBefore: %q is not a duration; expected one such as 720h or 1h30m" $text) -}}
{{- end -}}
{{- $seconds := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" $text -1 -}}
{{- $seconds = add $seconds (mul (regexFind "[0-9]+" . | atoi) (get (dict "h" 3600 "m" 60 "s" 1) (regexFind "[hms]" .))) -}}
{{- end -}}
{{- min 604800 (div $seconds 2) -}}
{{- end -}}

{{/* Refuses an upgrade that turns TLS on or off while shards exist. A shard with TLS cannot talk to one without it. A rolling update
replaces a shard only when the one before is ready, but for that the shard needs all others, so the update would never end. Without a
cluster to ask (`helm template`), and at a rollback, nothing is refused. */}}
{{- define "capstan.tlsSwitchChecks" -}}
{{- $wanted := .Values.tls.enabled -}}
{{- $name := printf "%s-ps" (include "capstan.fullname" .) -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
  {{- $shards := max (int .spec.replicas) (int (default dict .status).replicas) -}}
  {{- $has := false -}}
  {{- range (index .spec.template.spec.containers 0).env }}{{ if eq .name "CAPSTAN_TLS" }}{{ $has = true }}{{ end }}{{ end -}}
  {{- if and $shards (ne $has $wanted) (not $.Values.tls.switchWithShards) -}}
    {{- fail (printf "tls.enabled: it is %t, and %d pods of the StatefulSet %s are there for which it is %t: they and their successors would wait for each other for ever. Take them away first (kubectl --namespace %s scale statefulset/%s --replicas=0), which saves what they hold, and upgrade when their pods are gone; docs/tls.md. tls.switchWithShards=true upgrades all the same" $wanted $shards $name $has $.Release.Namespace $name) -}}
  {{- end -}}
{{- end -}}
{{- end -}}
