// Other projects whose definitions the tests give to an API server. Nothing is built of them, so that none of what they require counts, and
// "go mod tidy" would take them away.
module github.com/vitistack/provider-proxmox/cluster/neighbours

go 1.26.1

require (
	github.com/external-secrets/external-secrets v1.3.2
	github.com/fluxcd/source-controller v1.9.0
)
