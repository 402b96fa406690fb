# The commands of this repository. They need Go, git and make; `make help` lists them.
# What they build or download is in bin/ and .cache/, which git ignores.

GO ?= go

# The version that the programs report: a tag, or else the commit, and whether the tree has other changes.
VERSION ?= $(or $(shell git describe --tags --dirty --match 'v[0-9]*' 2>/dev/null),v0.0.0-dev$(addprefix +,$(shell git describe --always --exclude='*' --abbrev=12 --dirty=.dirty 2>/dev/null)))

# Programs are static and do not depend on the machine that builds them.
BUILD := CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath
LDFLAGS = -s -w -X github.com/vitistack/provider-proxmox/internal/version.version=$(VERSION)

# The race detector needs a C compiler. If there is none, Go reports CGO_ENABLED=0.
RACE ?= $(if $(filter 1,$(shell $(GO) env CGO_ENABLED 2>/dev/null)),-race)

# The folders of all Go modules of this repository.
MODULES := $(sort $(patsubst %/,%,$(dir $(wildcard go.mod */go.mod */*/go.mod */*/*/go.mod))))

# The launcher runs a Kubernetes control plane, a simulated Proxmox VE and the provider on this machine.
LAUNCHER := $(CURDIR)/.cache/bin/local

# The program that makes images and packages. The commit's time makes two builds of the same source equal.
PACK := $(CURDIR)/.cache/bin/xpkg
PACK_FLAGS = --version='$(VERSION)' --ldflags='$(LDFLAGS)' --epoch=$(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)

# Helm and the linter are rebuilt when their pinned versions or the version of Go change.
TOOLS_KEY = $(shell cat hack/tools/go.mod hack/tools/go.sum | cksum | cut -d' ' -f1)-$(shell $(GO) env GOVERSION)
HELM = $(CURDIR)/.cache/bin/helm-$(TOOLS_KEY)
LINTER = $(CURDIR)/.cache/bin/golangci-lint-$(TOOLS_KEY)

# The benchmark is a program of its own.
BENCH_PROGRAM := $(CURDIR)/.cache/bin/bench

# Tests that take minutes. make test-scale runs them.
SCALE = ^(TestBalancedPopulation|TestChaos|TestCompetingProviders|TestImportEstate|TestManyOfHA|TestPermitted|TestQuotasOfMany|TestRotated|TestSteadyCluster|TestVelero)$$

# Tests of many cases without concurrency, and of memory, in packages that have some. The race detector would find nothing, take eight times as
# long, and take memory itself.
TABLE_NAMES = TestCachedMemory|TestEveryOption|TestManyGuests|TestPlacedWithPendingChanges|TestRemovalReverted|TestSpecFuzz
TABLE = ^($(TABLE_NAMES))$$
TABLE_PACKAGES = ./internal/controller/machine ./internal/simulator ./internal/vmcache

# The packages whose tests run in both scopes and on both versions of Proxmox VE, beside internal/controller.
SCOPED_PACKAGES = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./internal/controller/... | awk '/configtest/ { print $$1 }')

# The packages that share state between goroutines are tested with the race detector, but for those that reconcile one object after the
# other and take ten times as long with it. Of the scenarios of internal/controller, which run in a manager, SCOPES=rest runs its half with it, and
# SCOPES=sample a third of that half without, and all attempts on tenants in the scope that make test leaves out.
# make test-faults runs internal/faults, and the tests in hack/ read the tree.
CONCURRENT = $$($(GO) list $$(grep -rlE '^\s+go (func|\w)|"sync(/atomic)?"|/sync/errgroup"' --include='*.go' ./cmd ./internal | xargs -n1 dirname | sort -u))
PACKAGES_WITH_RACE = $$(echo "$(CONCURRENT)" | grep -vxF "$(SCOPED_PACKAGES)" | grep -vE '/internal/(faults|controller)$$')
SERIAL_PACKAGES = $$($(GO) list ./... | grep -vxF "$(PACKAGES_WITH_RACE)" | grep -v -e '/internal/faults$$' -e '/hack/')

# The packages in cluster/ without those whose tests need Helm, Chromium, Crossplane or the provider's programs.
LOCAL_PACKAGES = $$($(GO) list ./... | grep -Ev '/cluster/(charts|e2e|ui|crossplane|crossplane/composition)$$')

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help fetch modules demo run up test test-all test-scopes test-ui test-scale test-integration test-peers test-faults test-fuzz bench e2e e2e-crossplane e2e-packages generate check-generate lint vulncheck build image xpkg configuration conditions function simulator-image publish xpkg-program chart test-chart launcher clean clean-all

help: ## List the targets.
	@echo 'usage: make <target> [VARIABLE=value]'
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

fetch: modules build launcher xpkg-program $(HELM) $(LINTER) ## Download all modules, and download or build what commands run. After this, only test-peers and vulncheck need the network.
	@cd cluster && $(LAUNCHER) assets --crossplane --neighbours >/dev/null
	@hack/chromium >/dev/null
	@hack/backstage/install >/dev/null

modules: ## Download the modules of each go.mod in the repository. With GOPROXY=off: check that they have been downloaded.
	@for module in $(MODULES); do (cd $$module && $(GO) mod download) || exit 1; done

demo: build launcher ## Run control plane, simulator and provider, and show Machines becoming VMs, until Ctrl-C. ONCE=1: check the result and end.
	@cd cluster && exec $(LAUNCHER) demo $(if $(ONCE),--once)

run: build launcher ## Run the provider for the Proxmox VE at PROXMOX_ENDPOINT. CURRENT=1: with the current cluster of kubectl.
	@cd cluster && exec $(LAUNCHER) run $(if $(CURRENT),--current)

up: launcher ## Run a Kubernetes control plane that serves the kinds, until Ctrl-C.
	@cd cluster && exec $(LAUNCHER) up

# Compilers, linters and tests collect garbage less often: a third less processor time, for more memory.
test test-scopes test-scale test-faults test-fuzz lint: export GOGC ?= 400

# On a busy machine a control plane starts, and stops, later than within the 20 s that envtest gives it.
test test-scopes test-scale e2e e2e-crossplane: export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT ?= 2m
test test-scopes test-scale e2e e2e-crossplane: export KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT ?= 2m

# The programs that tests in hack/ and cluster/ start read files that Go does not know of, so no earlier result of those counts (-count=1).
# Where make test has vetted a package, or make lint does, -vet=off leaves out that a second build of it is vetted again.
test: launcher ## Run the unit and lifecycle tests. PACKAGES=./internal/... and ARGS='-run X -v' choose some.
	@$(if $(RACE),,echo 'note: there is no C compiler, so the tests run without the race detector' >&2)
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets)" && BACKSTAGE="$$(hack/backstage/install)" && export KUBEBUILDER_ASSETS BACKSTAGE && \
	$(if $(PACKAGES),set -x && $(GO) test -trimpath -timeout=20m $(RACE) -skip '$(SCALE)|$(TABLE)' $(ARGS) $(PACKAGES),\
	status=0 && log=$$(mktemp) && trap 'rm -f "$$log"' EXIT && set -x && \
	{ SCOPES=first CGO_ENABLED=0 $(GO) test -trimpath -timeout=20m -skip '$(SCALE)' $(ARGS) $(SERIAL_PACKAGES) >"$$log" 2>&1 & } && \
	{ $(GO) test -trimpath -timeout=20m $(RACE) -skip '$(SCALE)|$(TABLE)' $(ARGS) $(PACKAGES_WITH_RACE) || status=1; } && \
	{ CGO_ENABLED=0 $(GO) test -trimpath -vet=off -run '$(TABLE)' $(ARGS) $(TABLE_PACKAGES) || status=1; } && \
	{ CGO_ENABLED=0 $(GO) test -trimpath -count=1 $(ARGS) ./hack/... || status=1; } && \
	{ (cd cluster && CGO_ENABLED=0 $(GO) test -trimpath -count=1 $(ARGS) $(LOCAL_PACKAGES)) || status=1; } && \
	{ wait $$! || status=1; } && cat "$$log" && exit $$status)

test-all: ## Run everything that a change must pass, as .ci/run does.
	@.ci/run

test-scopes: launcher ## Run each life of a resource in both scopes and on both versions of Proxmox VE. SCOPES=rest: those that make test does not run, with the race detector; SCOPES=sample: some of those, without it.
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets)" && export KUBEBUILDER_ASSETS && \
	set -x && export SCOPES=$(SCOPES) && \
	$(if $(filter rest,$(SCOPES)),,CGO_ENABLED=0) $(GO) test -trimpath -vet=off -timeout=30m $(if $(filter rest,$(SCOPES)),$(RACE)) \
		-skip '$(SCALE)' $(ARGS) ./internal/controller && \
	CGO_ENABLED=0 $(GO) test -trimpath -vet=off -timeout=20m $(ARGS) $(SCOPED_PACKAGES)

test-scale: launcher ## Run the tests with hundreds of Machines, several providers, and connections that change meanwhile, and count what an unchanged VM costs. SCOPES=all: quotas of many teams in both scopes.
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets)" && export KUBEBUILDER_ASSETS && \
	set -x && CGO_ENABLED=0 $(GO) test -trimpath -vet=off -timeout=20m -run '$(SCALE)' $(ARGS) ./internal/controller/
	@$(if $(ARGS),,hack/noop-cost)

# The sample of the faults of Volumes is a part of make test.
test-faults: ## Crash the provider at each step, and fail each call and task of Proxmox VE. FAULTS=many: a sample. RANDOM_RUNS=n: n random runs; RANDOM_RUN='…': repeat one.
	@set -x && $(if $(RANDOM_RUNS),RANDOM_RUNS='$(RANDOM_RUNS)') $(if $(RANDOM_RUN),RANDOM_RUN='$(RANDOM_RUN)' SHORTEN='$(SHORTEN)') FAULTS=$(or $(FAULTS),all) \
	CGO_ENABLED=0 $(GO) test -trimpath -vet=off -timeout=90m -parallel=4 $(if $(RANDOM_RUNS)$(RANDOM_RUN),-count=1 -run=TestRandomRuns -v) $(ARGS) ./internal/faults/ \
	$(if $(filter many,$(FAULTS)),,./internal/controller/volume/)

test-peers: ## Run the acceptance tests of bpg's Terraform provider with the simulator. ARGS='-groups nodes,access -versions 9.2' choose. Where there is no Terraform, it says SKIP.
	@CGO_ENABLED=0 $(GO) run -trimpath ./hack/peers $(ARGS)

# The control plane and the simulator collect garbage less often, the provider as by default.
bench: build ## Measure cost and speed and write docs/performance.md, half an hour. BENCH=steady,create N=100,1000 choose.
	@cd cluster && $(BUILD) -o $(BENCH_PROGRAM) ./bench && \
	$(if $(BENCH),BENCH='$(BENCH)') $(if $(N),BENCH_MACHINES='$(N)') GOGC=400 exec $(BENCH_PROGRAM)

# The tests wait more than they compute, so more of them run at once than there are processors.
e2e: build launcher $(HELM) ## Run the quick start and the end-to-end tests: the real programs with the RBAC of the chart.
	@cd cluster && exec $(LAUNCHER) demo --once
ifneq ($(wildcard cluster/e2e),)
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets --neighbours)" && export KUBEBUILDER_ASSETS && \
	set -x && cd cluster && HELM=$(HELM) CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count=1 -timeout=20m -parallel=6 $(ARGS) ./e2e/...
endif

# The tests run in network namespaces that reach no module proxy, so the launcher builds all of Crossplane before them.
# Those of Crossplane 1 and 2 run at the same time, because they wait more than they compute. Beside all else that a change must pass they need
# a quarter of an hour, or more on a slow machine.
e2e-crossplane: build launcher e2e-packages $(HELM) ## Install, use, upgrade and uninstall the package with the real Crossplane 1 and 2. Needs Linux and root.
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets --crossplane)" && export KUBEBUILDER_ASSETS && \
	export HELM=$(HELM) CGO_ENABLED=0 && cd cluster/crossplane && status=0 && set -x && \
	{ $(GO) test -trimpath -vet=off -count=1 -timeout=30m -v -skip '^TestCrossplane$$' $(ARGS) . >$(CURDIR)/_output/e2e/crossplane1.log 2>&1 & } && \
	{ $(GO) test -trimpath -vet=off -count=1 -timeout=30m -p=1 -v -skip '^TestCrossplane1$$' $(ARGS) . ./composition || status=1; } && \
	{ wait $$! || status=1; } && cat $(CURDIR)/_output/e2e/crossplane1.log && exit $$status

# Two versions of the packages, the function of Operations and the simulator's image, for this machine alone.
e2e-packages: xpkg-program
	@$(MAKE) --no-print-directory function simulator-image PACK_ARGS="--arch=$$($(GO) env GOARCH) --output=$(CURDIR)/_output/e2e" >/dev/null
	@for version in v0.0.1 v0.0.2; do \
		$(MAKE) --no-print-directory xpkg VERSION=$$version \
			PACK_ARGS="--arch=$$($(GO) env GOARCH) --output=$(CURDIR)/_output/e2e/$$version" >/dev/null || exit 1; \
	done

test-integration: build launcher ## Test the built provider with the Proxmox VE at PROXMOX_ENDPOINT, in a range of VMIDs and a pool that docs/TESTING.md asks for.
	@KUBEBUILDER_ASSETS="$$(cd cluster && $(LAUNCHER) assets)" && export KUBEBUILDER_ASSETS && \
	cd cluster && CGO_ENABLED=0 $(GO) test -trimpath -tags=integration -count=1 -timeout=2h -v -run=TestServer $(ARGS) ./integration

test-ui: build ## Test the simulator's page in a Chromium. If there is none, that of Debian is downloaded into .cache/.
	@CHROMIUM="$$(hack/chromium)" && export CHROMIUM && \
	set -x && cd cluster && CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count=1 $(ARGS) ./ui/...

generate: ## Generate deep copies, CRDs, method sets and the reference from the types in apis/, and the namespaced examples.
	$(GO) generate ./apis

# It generates in a copy, so that the times of the files stay, by which go test knows results that it has in its cache.
check-generate: ## Generate in a copy of the tree and fail if that differs from it.
	@status= copy=$(CURDIR)/.cache/generate && rm -rf "$$copy" && mkdir -p "$$copy" && \
	git ls-files -z -co --exclude-standard | tar -c --null -T - --ignore-failed-read | tar -x -C "$$copy" && \
	(cd "$$copy" && $(GO) generate ./apis) && \
	for each in apis package/crds docs/reference examples/namespaced; do diff -r $$each "$$copy/$$each" >&2 || status=1; done && \
	if [ "$$status" ]; then echo 'generated files are not up to date: commit what "make generate" makes of them' >&2; exit 1; fi && rm -rf "$$copy"

# Each entry is a fuzz test, its number of inputs, and its package. With a time instead of a number, Go before 1.27 may report the end as a failure.
# The tests of a package are built once for all of them; what they found interesting stays where `go test -fuzz` keeps it.
FUZZ = FuzzAnswer:5000x:proxmox FuzzProperties:5000x:proxmox FuzzNIC:5000x:proxmox FuzzDisk:5000x:proxmox FuzzSize:5000x:proxmox \
	FuzzDifference:1000x:qemu FuzzDevices:1000x:qemu FuzzDescribe:1000x:qemu FuzzUnmark:5000x:qemu FuzzFind:5000x:checksum
FUZZ_PACKAGES = $(sort $(foreach each,$(FUZZ),$(lastword $(subst :, ,$(each)))))

test-fuzz: ## Fuzz the decoders of Proxmox VE's answers, property strings and lists of checksums, and the difference, with thousands of inputs each, or FUZZTIME=10m.
	@status=0; tests=$$(mktemp -d); trap 'rm -rf "$$tests"' EXIT; cache=$$($(GO) env GOCACHE)/fuzz/$$($(GO) list -m)/internal; \
	for package in $(FUZZ_PACKAGES); do \
		CGO_ENABLED=0 $(GO) test -trimpath -vet=off -c -fuzz=Fuzz -o "$$tests/$$package" "./internal/$$package" || exit 1; \
	done; \
	for each in $(FUZZ); do set -- $$(echo "$$each" | tr : ' '); \
		(cd "internal/$$3" && "$$tests/$$3" -test.run '^$$' -test.fuzz "^$$1\$$" -test.fuzztime $(or $(FUZZTIME),"$$2") -test.fuzzminimizetime 100x \
			-test.parallel 1 -test.fuzzcachedir "$$cache/$$3") || status=1; \
	done; exit $$status

# What it has found out about a package names the folder of the clone, which its exclusions go by: no other clone may have it.
lint: $(LINTER) ## Lint all modules with code; the rules are in .golangci.yml.
	@status=0; for module in . cluster cluster/neighbours/externaldns cluster/neighbours/velero; do \
		echo "linting the module in $$module" >&2; \
		(cd $$module && GOFLAGS="$$GOFLAGS -trimpath" CGO_ENABLED=0 GOLANGCI_LINT_CACHE=$(CURDIR)/.cache/golangci-lint \
			$(LINTER) run --config $(CURDIR)/.golangci.yml --allow-serial-runners $(ARGS) ./...) || status=1; \
	done; exit $$status

# The programs are those that images and packages have. They keep their symbols for it, which tell which functions of a module they have.
vulncheck: ## Look for known vulnerabilities in what the programs are built of. Where neither vuln.go.dev nor a module proxy can be reached, it says SKIP.
	@GOVULNDB=$$(hack/vulncheck/database) || exit 0; export GOVULNDB; programs=$$(mktemp -d) && trap 'rm -rf "$$programs"' EXIT && $(BUILD) -o "$$programs/" ./cmd/provider ./cmd/pve-simulator && \
	cd cluster && $(BUILD) -o "$$programs/function-proxmox-operations" ./operations && $(BUILD) -o "$$programs/function-proxmox-conditions" ./conditions/program && \
	$(BUILD) -o "$$programs/load-test" ./loadtest && ../hack/vulncheck/run "$$programs"/*

test-chart: $(HELM) ## Test the Helm chart: lint it and compare what it renders.
	cd cluster && HELM=$(HELM) CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count=1 $(ARGS) ./charts/...

chart: $(HELM) ## Package the Helm chart in _output/.
	@mkdir -p _output && $(HELM) package cluster/charts/provider-proxmox --destination _output \
		--version $(patsubst v%,%,$(VERSION)) --app-version $(subst +,-,$(VERSION)) 2>/dev/null

$(HELM):
	@echo 'building Helm, once: about two minutes on two cores' >&2
	@rm -f $(CURDIR)/.cache/bin/helm-*
	@cd hack/tools && $(BUILD) -ldflags='-s -w' -o $@ helm.sh/helm/v4/cmd/helm

$(LINTER):
	@echo 'building golangci-lint, once: about two minutes on two cores' >&2
	@rm -f $(CURDIR)/.cache/bin/golangci-lint-*
	@cd hack/tools && $(BUILD) -ldflags='-s -w' -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

build: ## Build bin/provider and bin/pve-simulator. VERSION=v1.2.3 sets the version that they report.
	@$(if $(wildcard bin/provider),,echo 'building bin/provider and bin/pve-simulator: about two minutes the first time' >&2)
	@$(BUILD) -ldflags='$(LDFLAGS)' -o bin/ ./cmd/provider ./cmd/pve-simulator

image: xpkg-program ## Build the provider's container image for amd64 and arm64 in _output/image. Needs no Docker.
	@$(PACK) image $(PACK_FLAGS)

xpkg: xpkg-program configuration conditions ## Build the image and the Crossplane packages in _output/: OCI layouts and .xpkg files.
	@$(PACK) package $(PACK_FLAGS) $(PACK_ARGS)

configuration: xpkg-program ## Build the Crossplane package of examples/composition in _output/, which takes a second.
	@$(PACK) configuration $(PACK_FLAGS) $(PACK_ARGS)

conditions: xpkg-program ## Build the Crossplane package of the function that gives composite resources conditions in _output/.
	@$(PACK) conditions $(PACK_FLAGS) $(PACK_ARGS)

function: xpkg-program ## Build the Crossplane package of the function of Operations in _output/.
	@$(PACK) function $(PACK_FLAGS) $(PACK_ARGS)

simulator-image: xpkg-program ## Build the simulator's image for amd64 and arm64 in _output/pve-simulator, with the program of examples/load-test.
	@$(PACK) simulator $(PACK_FLAGS) $(PACK_ARGS)

publish: xpkg-program ## Push what make xpkg built, to REGISTRY=host/org with TAG=v1.2.3. COSIGN_KEY=file signs it, with the password in COSIGN_PASSWORD.
	@$(if $(REGISTRY),,echo 'REGISTRY=host/org is missing' >&2; exit 1;) $(if $(TAG),,echo 'TAG=v1.2.3 is missing' >&2; exit 1;) \
	$(PACK) publish --registry=$(REGISTRY) --tag=$(TAG) $(if $(COSIGN_KEY),--key=$(COSIGN_KEY))

xpkg-program:
	@cd cluster && $(BUILD) -o $(PACK) ./xpkg

launcher:
	@$(if $(wildcard $(LAUNCHER)),,echo 'building the launcher of the control plane: about a minute the first time' >&2)
	@cd cluster && $(BUILD) -o $(LAUNCHER) ./local

clean: ## Remove the built programs and the files of runs.
	rm -rf bin _output .cache/run

clean-all: clean ## Remove everything that was built or cached here, the control plane too.
	rm -rf .cache
