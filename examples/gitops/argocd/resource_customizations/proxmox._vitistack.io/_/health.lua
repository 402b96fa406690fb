-- The health of all kinds of provider-proxmox for Argo CD: what the last reconcile said (Synced), whether the resource works (Ready),
-- whether it is what its spec declares (UpToDate), and whether a VM that runs has something to boot from (Bootable).

-- Reasons of Ready and UpToDate for which nothing is under way that would end them, or only another attempt at what has failed.
local faults = {
  AlreadyExists = true, BackupFailed = true, BootDiskMissing = true, BridgeMissing = true, CertificateNotTrusted = true, ChecksumMismatch = true,
  ClusterMismatch = true, Conflict = true, DeviceMissing = true, DownloadFailed = true, Failed = true, Gone = true, GuestHalted = true,
  Immutable = true, Inactive = true, Invalid = true, InvalidName = true, InvalidSchedule = true, LimitReached = true, Lost = true,
  ManagedByMachine = true, NoQuorum = true, NoSize = true, NoStorage = true, NodeOffline = true, NotAdoptable = true, NotSupported = true,
  Offline = true, OwnershipConflict = true, PruningUndeclared = true, RecreationFailed = true, RecreationRefused = true, Refused = true,
  ReloadFailed = true, RestartFailed = true, RestartIneffective = true, RestoreFailed = true, RestoreRefused = true, RollbackFailed = true,
  RollbackRefused = true, RunMissed = true, ServerError = true, ServerUnreachable = true, SnapshotFailed = true, SnapshotsMissing = true,
  StartBlocked = true, Stopped = true, StorageFull = true, StorageUnavailable = true, TemplateFailed = true, TenantRefused = true, Unproven = true,
  UpdateFailed = true, VMMismatch = true, VMNotFound = true, WrongFormat = true, WrongNode = true,
}

-- Reasons of UpToDate that wait for a maintenance window, for somebody who restarts the guest, or for management policies that allow it.
local waits = { OutsideMaintenanceWindow = true, PendingChanges = true, UpdateRestricted = true }

local function health(status, message)
  return { status = status, message = message }
end

if obj.kind == "ProviderConfigUsage" then
  return health("Healthy", "")
end

-- Whether a status or a condition is about an earlier spec. Those of resources that Crossplane alone has written have no generation.
local function outdated(about)
  return about ~= nil and about.observedGeneration ~= nil and about.observedGeneration ~= obj.metadata.generation
end

local status = obj.status or {}

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function said(condition)
  return condition.message or condition.reason or ""
end

local synced, ready, current = conditions.Synced, conditions.Ready, conditions.UpToDate
if outdated(status) or outdated(synced) then
  return health("Progressing", "The provider has not reconciled the spec yet")
end
if synced ~= nil and synced.status == "False" then
  if synced.reason == "ReconcilePaused" then
    return health("Suspended", "Reconciliation is paused")
  end
  return health("Degraded", said(synced))
end
if outdated(ready) or outdated(current) then
  return health("Progressing", "The provider has not compared this with the spec yet")
end
if ready == nil then
  return health("Progressing", "The provider has not reported whether this is ready")
end
if ready.status ~= "True" then
  if ready.status == "False" and (faults[ready.reason] or synced == nil) then
    return health("Degraded", said(ready))
  end
  return health("Progressing", said(ready))
end
if current ~= nil and current.status ~= "True" then
  if waits[current.reason] then
    return health("Suspended", said(current))
  end
  if faults[current.reason] then
    return health("Degraded", said(current))
  end
  return health("Progressing", said(current))
end
-- The VM is as declared and runs, and only another spec or somebody who installs a system makes it of use.
local bootable = conditions.Bootable
if bootable ~= nil and bootable.status == "False" then
  return health("Degraded", said(bootable))
end
return health("Healthy", ready.message or "")
