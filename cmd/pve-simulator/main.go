/*
Copyright 2026 The provider-proxmox Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Command pve-simulator serves a simulated Proxmox VE cluster over HTTPS, for trying out clients without a server.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

const description = `Serves the API of a Proxmox VE cluster that is only in memory, for trying and testing clients.

Without flags it is a cluster of three nodes on https://127.0.0.1:8006, whose root@pam has the password "root". ` +
	`A browser shows there what it holds and what clients do.`

func main() {
	cli := &options{}
	parser, err := newParser(cli)
	if err != nil {
		exit(err)
	}
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "See pve-simulator --help.")
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal ends the program at once.
	err = cli.run(ctx, os.Stderr)
	stop()
	if err != nil {
		exit(err)
	}
}

func exit(err error) {
	fmt.Fprintln(os.Stderr, "pve-simulator:", err)
	os.Exit(1)
}

func newParser(cli *options) (*kong.Kong, error) {
	return kong.New(cli, kong.Name("pve-simulator"), kong.Description(description), kong.Help(help), kong.ExplicitGroups([]kong.Group{
		{Key: "cluster", Title: "The cluster:"},
		{Key: "network", Title: "How it is reached:"},
		{Key: "access", Title: "Access:"},
		{Key: "output", Title: "Output:"},
	}))
}

// help adds the syntax of faults to the usual help.
func help(o kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	return faultHelp(ctx.Stdout)
}

func faultHelp(out io.Writer) error {
	b := &strings.Builder{}
	b.WriteString("\nA fault is a method and a path, both of which may be missing, and settings. Values with blanks stand in double quotes.\n\n")
	for _, setting := range simulator.FaultSettings() {
		fmt.Fprintf(b, "  %-9s %s\n", setting[0], setting[1])
	}
	b.WriteString(`
Examples:
  pve-simulator --speed 10 --tls-dir pve-tls --log-requests
  pve-simulator --state cluster.state --fault 'POST /nodes/*/qemu/*/clone cut=after count=1'
  pve-simulator --fault 'GET /cluster/resources delay=3s' --fault 'task=qmstart exit="no more memory" after=2'
`)
	_, err := io.WriteString(out, b.String())
	return err
}
