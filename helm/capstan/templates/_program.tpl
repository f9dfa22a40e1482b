{{/* The user's own program, which runs as the workers and serves the trained model: its image, its code and its command. */}}

{{/* The folder in which worker.code is mounted and the program starts. */}}
{{- define "capstan.codePath" -}}/app{{- end -}}

{{/* "yes" if the workers run a program of the user's; empty if they run Capstan's worker. Argument: root. */}}
{{- define "capstan.ownProgram" -}}
{{- $worker := .Values.worker -}}
{{- if or $worker.code $worker.command $worker.image.repository }}yes{{ end -}}
{{- end -}}

{{/* The value of job.model.user; empty if the model is not one of the user's own. Argument: root. */}}
{{- define "capstan.userModel" -}}
{{- $model := (include "capstan.jobMap" . | fromYaml).model -}}
{{- with $model }}{{ default "" .user }}{{ end -}}
{{- end -}}

{{/* "yes" if the pods of the role run a program of the user's; otherwise empty. Arguments: root, role. */}}
{{- define "capstan.runsOwnProgram" -}}
{{- if has .role (list "worker" "serve") }}{{ include "capstan.ownProgram" .root }}{{ end -}}
{{- end -}}

{{/* The image of the program: the user's, or Capstan's with PyTorch. Argument: root. */}}
{{- define "capstan.programImage" -}}
{{- $image := .Values.worker.image -}}
{{- if $image.repository -}}
{{- include "capstan.imageAt" (dict "root" . "registry" (default .Values.image.registry $image.registry) "name" $image.repository "tag" $image.tag "digest" $image.digest) -}}
{{- else -}}
{{- include "capstan.image" (dict "root" . "role" "torch") -}}
{{- end -}}
{{- end -}}

{{/* The files of worker.code, as a map; {} if worker.code names a ConfigMap. Argument: root. */}}
{{- define "capstan.codeFiles" -}}
{{- $files := dict -}}
{{- if kindIs "map" .Values.worker.code -}}
{{- $files = deepCopy .Values.worker.code -}}
{{- include "capstan.dropNulls" $files -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/* The name of the ConfigMap with the code; empty if there is none. Argument: root. */}}
{{- define "capstan.codeConfigMap" -}}
{{- $code := .Values.worker.code -}}
{{- if kindIs "string" $code }}{{ $code }}{{ else if $code }}{{ printf "%s-code" (include "capstan.fullname" .) }}{{ end -}}
{{- end -}}

{{/* The name of the program among the files of worker.code: the only file, or the one that job.model.user names; empty if unknown.
Argument: root. */}}
{{- define "capstan.mainFile" -}}
{{- $files := include "capstan.codeFiles" . | fromYaml -}}
{{- $named := include "capstan.userModel" . -}}
{{- if eq (len $files) 1 -}}
{{ keys $files | first }}
{{- else if or (hasKey $files $named) (kindIs "string" .Values.worker.code) -}}
{{ $named }}
{{- end -}}
{{- end -}}

{{/* The words of the command line that starts the program, as a list; [] if the image's own command starts it. Argument: root. */}}
{{- define "capstan.programWords" -}}
{{- $worker := .Values.worker -}}
{{- $words := list -}}
{{- if $worker.command -}}
{{- $words = concat $worker.command $worker.extraArgs -}}
{{- else if $worker.code -}}
{{- $words = concat (list "python3" (printf "%s/%s" (include "capstan.codePath" .) (include "capstan.mainFile" .))) $worker.extraArgs -}}
{{- end -}}
{{- toYaml $words -}}
{{- end -}}

{{/* The same command line, quoted for a shell. Argument: root. */}}
{{- define "capstan.programLine" -}}
{{- $quoted := list -}}
{{- range include "capstan.programWords" . | fromYamlArray -}}
{{- $quoted = append $quoted (ternary . (printf "'%s'" (replace "'" "'\\''" .)) (regexMatch "^[-_./=:,@%+a-zA-Z0-9]+$" .)) -}}
{{- end -}}
{{- join " " $quoted -}}
{{- end -}}

{{/* The command of a worker's container, and its arguments. Argument: root. */}}
{{- define "capstan.programCommand" -}}
{{- $worker := .Values.worker -}}
{{- if $worker.command }}
command:
  {{- toYaml $worker.command | nindent 2 }}
{{- else if $worker.code }}
command: [python3, {{ printf "%s/%s" (include "capstan.codePath" .) (include "capstan.mainFile" .) | quote }}]
{{- end }}
{{- with $worker.extraArgs }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $worker.code }}
workingDir: {{ include "capstan.codePath" . }}
{{- end }}
{{- end -}}

{{/* The environment variables by which capstan_ps gets what Capstan's worker gets by flags. Argument: root. */}}
{{- define "capstan.programEnv" -}}
- {name: CAPSTAN_CHIEF, value: {{ include "capstan.chiefAddress" . | quote }}}
- {name: CAPSTAN_CHIEF_DEADLINE, value: {{ int .Values.chief.deadlineSeconds | quote }}}
- {name: CAPSTAN_DRAIN, value: {{ include "capstan.drainSeconds" . | quote }}}
- {name: CAPSTAN_NAME, value: $(POD_NAME)}
- {name: CAPSTAN_LOG_FORMAT, value: {{ .Values.logFormat }}}
{{ include "capstan.pythonEnv" . }}
{{- end -}}

{{/* The environment variables with which Python runs in a container with a read-only root file system. */}}
{{- define "capstan.pythonEnv" -}}
# The one folder that can be written, beside the user's own volumes.
- {name: HOME, value: /tmp}
- {name: PYTHONUNBUFFERED, value: "1"}
- {name: PYTHONDONTWRITEBYTECODE, value: "1"}
# A set of names has the same order in each worker, and where scores are computed.
- {name: PYTHONHASHSEED, value: "0"}
# Threads of a step sleep while they have nothing to do, so that their processors are the worker's own threads'.
- {name: OMP_WAIT_POLICY, value: passive}
{{- end -}}

{{/* The volumes and mounts of a program, as {volumes: [...], mounts: [...]}. Arguments: root, role. */}}
{{- define "capstan.programVolumes" -}}
{{- $volumes := list -}}
{{- $mounts := list -}}
{{- with include "capstan.codeConfigMap" .root -}}
{{- $volumes = append $volumes (dict "name" "code" "configMap" (dict "name" . "defaultMode" 0444)) -}}
{{- $mounts = append $mounts (dict "name" "code" "mountPath" (include "capstan.codePath" $) "readOnly" true) -}}
{{- end -}}
{{- $taken := false -}}
{{- range (get .root.Values .role).extraVolumeMounts }}{{ if eq (trimSuffix "/" .mountPath) "/tmp" }}{{ $taken = true }}{{ end }}{{ end -}}
{{- if not $taken -}}
{{- $volumes = append $volumes (dict "name" "tmp" "emptyDir" dict) -}}
{{- $mounts = append $mounts (dict "name" "tmp" "mountPath" "/tmp") -}}
{{- end -}}
{{- dict "volumes" $volumes "mounts" $mounts | toYaml -}}
{{- end -}}

{{/* Refuses programs that cannot start, and says why. Argument: root. */}}
{{- define "capstan.programChecks" -}}
{{- $worker := .Values.worker -}}
{{- $own := include "capstan.ownProgram" . -}}
{{- $user := include "capstan.userModel" . -}}
{{- if and $user (not $own) -}}
  {{- fail (printf "job.model.user: %s: workers do not have it; give it to them with --set-file worker.code.model\\.py=model.py, or in an image (worker.image), as docs/python.md says" $user) -}}
{{- end -}}
{{- if and $own (not $user) -}}
  {{- fail "worker.code, worker.command, worker.image: are for a model of your own; say so in the job (model: {user: model.py}), as docs/python.md does" -}}
{{- end -}}
{{- if and $worker.image.repository (not (or $worker.image.tag $worker.image.digest)) -}}
  {{- fail "worker.image.tag: is not set; name the image's tag, or its digest" -}}
{{- end -}}
{{- if and (or $worker.image.registry $worker.image.tag $worker.image.digest) (not $worker.image.repository) -}}
  {{- fail "worker.image.repository: is not set; image.tag and image.digests are those of Capstan's own images" -}}
{{- end -}}
{{- if kindIs "string" $worker.code -}}
  {{- if and $worker.code (not (regexMatch "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$" $worker.code)) -}}
    {{- fail "worker.code: is neither a map of files nor the name of a ConfigMap; a file is given with --set-file worker.code.model\\.py=model.py" -}}
  {{- end -}}
{{- end -}}
{{- $bytes := 0 -}}
{{- range $name, $text := include "capstan.codeFiles" . | fromYaml -}}
  {{- if not (regexMatch "^[-._a-zA-Z0-9]+$" $name) -}}
    {{- fail (printf "worker.code: %q is no name of a file in a ConfigMap, which has letters, digits, '-', '_' and '.', and no folders; put code with folders into an image (worker.image)" $name) -}}
  {{- end -}}
  {{- $bytes = add $bytes (len $text) -}}
{{- end -}}
{{- if gt $bytes 1048576 -}}
  {{- fail (printf "worker.code: its files have %d bytes, and a ConfigMap holds 1048576; put the code into an image (worker.image), as docs/python.md says" $bytes) -}}
{{- end -}}
{{- if and $worker.code (not $worker.command) (not (include "capstan.mainFile" .)) -}}
  {{- fail (printf "worker.command: which file of worker.code is the program? job.model.user is %s, which is none of them" $user) -}}
{{- end -}}
{{- end -}}
