-- The health of all kinds of provider-proxmox for Argo CD: what the last reconcile said (Synced), whether the resource works (Ready),
-- and whether it is what its spec declares (UpToDate).

-- Reasons of Ready for which nothing is under way that would end them.
local faults = {
  BootDiskMissing = true, BridgeMissing = true, ChecksumMismatch = true, DeviceMissing = true, Gone = true, GuestHalted = true,
  NodeOffline = true, OwnershipConflict = true, StartBlocked = true, StorageFull = true, TemplateFailed = true,
}

-- Reasons of UpToDate that wait for a maintenance window, for somebody who restarts the guest, or for management policies that allow it.
local waits = { OutsideMaintenanceWindow = true, PendingChanges = true, UpdateRestricted = true }

-- Reasons of UpToDate after which a restart has to be looked at.
local restarts = { RestartFailed = true, RestartIneffective = true }

local function health(status, message)
  return { status = status, message = message }
end

if obj.kind == "ProviderConfigUsage" then
  return health("Healthy", "")
end

local status = obj.status or {}
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The provider has not reconciled the spec yet")
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function said(condition)
  return condition.message or condition.reason or ""
end

local synced, ready, current = conditions.Synced, conditions.Ready, conditions.UpToDate
if synced ~= nil and synced.status == "False" then
  if synced.reason == "ReconcilePaused" then
    return health("Suspended", "Reconciliation is paused")
  end
  return health("Degraded", said(synced))
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
  if restarts[current.reason] then
    return health("Degraded", said(current))
  end
  return health("Progressing", said(current))
end
return health("Healthy", ready.message or "")
