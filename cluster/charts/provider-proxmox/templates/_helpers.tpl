{{- define "provider-proxmox.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "provider-proxmox.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "provider-proxmox.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "provider-proxmox.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "provider-proxmox.selector" -}}
app.kubernetes.io/name: {{ include "provider-proxmox.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "provider-proxmox.labels" -}}
{{ include "provider-proxmox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "provider-proxmox.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "provider-proxmox.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The arguments that both the Deployment and the DeploymentRuntimeConfig give the program: none by default, since one goes before its variable. */}}
{{- define "provider-proxmox.args" -}}
{{- with .Values.provider.logLevel }}
- --log-level={{ . }}
{{- end }}
{{- with .Values.provider.logFormat }}
- --log-format={{ . }}
{{- end }}
{{- with .Values.provider.reconcileInterval }}
- --reconcile-interval={{ . }}
{{- end }}
{{- with .Values.provider.maxConcurrentReconciles }}
- --max-concurrent-reconciles={{ . }}
{{- end }}
{{- if gt (int .Values.replicaCount) 1 }}
- --leader-election
{{- end }}
{{- if .Values.provider.changeLogs.enabled }}
- --enable-changelogs
{{- end }}
{{- if .Values.provider.tracing.enabled }}
- --enable-tracing
{{- end }}
{{- with .Values.provider.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "provider-proxmox.env" -}}
{{- if not .Values.crossplane.enabled }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- with .Values.provider.defaultCluster }}
- name: PROXMOX_DEFAULT_CLUSTER
  value: {{ . | quote }}
{{- end }}
{{- with .Values.provider.checksumHosts }}
- name: CHECKSUM_HOSTS
  value: {{ join "," . | quote }}
{{- end }}
{{- if .Values.provider.tracing.enabled }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .Values.provider.tracing.endpoint | quote }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .Values.provider.tracing.ratio | quote }}
{{- end }}
{{- with .Values.provider.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The socket over which the provider and the sidecar of change logs speak. */}}
{{- define "provider-proxmox.changeLogsMount" -}}
{{- if .Values.provider.changeLogs.enabled }}
volumeMounts:
  - name: changelogs
    mountPath: /var/run/changelogs
{{- end }}
{{- end }}

{{- define "provider-proxmox.changeLogsSidecar" -}}
{{- if .Values.provider.changeLogs.enabled }}
- name: changelogs-sidecar
  image: {{ required "provider.changeLogs.image is needed: that of Crossplane's changelogs-sidecar" .Values.provider.changeLogs.image | quote }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
  {{- include "provider-proxmox.changeLogsMount" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "provider-proxmox.changeLogsVolume" -}}
{{- if .Values.provider.changeLogs.enabled }}
volumes:
  - name: changelogs
    emptyDir: {}
{{- end }}
{{- end }}

{{/* What both the Deployment's pods and those that Crossplane makes have in common. */}}
{{- define "provider-proxmox.scheduling" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Ports and probes. Readiness does not depend on Proxmox VE being up. */}}
{{- define "provider-proxmox.ports" -}}
ports:
  - name: metrics
    containerPort: 8080
  - name: health
    containerPort: 8081
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  initialDelaySeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: health
{{- end }}

{{/* What selects the provider's pods: this chart's labels, or the one that Crossplane gives them. */}}
{{- define "provider-proxmox.podSelector" -}}
{{- if .Values.crossplane.enabled -}}
pkg.crossplane.io/provider: {{ include "provider-proxmox.fullname" . }}
{{- else -}}
{{ include "provider-proxmox.selector" . }}
{{- end }}
{{- end }}

{{/* apiVersion of the provider configuration: each scope has a group of its own. */}}
{{- define "provider-proxmox.connectionVersion" -}}
{{- if eq .Values.providerConfig.kind "ProviderConfig" -}}
proxmox.vitistack.io/v1alpha1
{{- else -}}
proxmox.m.vitistack.io/v1alpha1
{{- end }}
{{- end }}

{{/* Helm refuses a release with an object whose kind the cluster does not serve yet. */}}
{{- define "provider-proxmox.connects" -}}
{{- $kind := printf "%s/%s" (include "provider-proxmox.connectionVersion" .) .Values.providerConfig.kind -}}
{{- if and .Values.providerConfig.create (.Capabilities.APIVersions.Has $kind) -}}
true
{{- end }}
{{- end }}
