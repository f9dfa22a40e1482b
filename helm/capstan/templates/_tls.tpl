{{/* Mutual TLS: where a role's certificate is. A role that is none of the job's (wait, test) is admin. */}}

{{/* The certificate's role of a pod's role. */}}
{{- define "capstan.tlsRole" -}}
{{- ternary . "admin" (has . (list "chief" "ps" "worker")) -}}
{{- end -}}

{{/* Arguments: root, role (of the certificate). */}}
{{- define "capstan.tlsSecret" -}}
{{- default (printf "%s-%s-tls" (include "capstan.fullname" .root) .role) (get .root.Values.tls.secrets .role) -}}
{{- end -}}

{{/* As volumes, mounts and environment of a pod. Arguments: root, role (of the pod). Empty without TLS. */}}
{{- define "capstan.tlsVolume" -}}
{{- if .root.Values.tls.enabled -}}
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
