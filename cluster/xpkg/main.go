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

// Command xpkg builds the provider's container image and its Crossplane package, and publishes them. It only needs Go. The same source always results
// in the same digests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Image         imageCommand         `cmd:"" help:"Build the provider's image for all architectures."`
	Package       packageCommand       `cmd:"" help:"Build the provider's package, which embeds the image."`
	Configuration configurationCommand `cmd:"" help:"Build the package of definitions and Compositions."`
	Function      functionCommand      `cmd:"" help:"Build the package of the function of Operations."`
	Conditions    conditionsCommand    `cmd:"" help:"Build the package of the function of conditions, which the Compositions need."`
	Simulator     simulatorCommand     `cmd:"" help:"Build the simulator's image, with the program of the load test."`
	Publish       publishCommand       `cmd:"" help:"Push the image and the packages that were built to a registry."`
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	command := kong.Parse(&cli{}, kong.Name("xpkg"), kong.Description("The provider's image and package."))
	command.BindTo(ctx, (*context.Context)(nil))
	command.BindTo(os.Stdout, (*output)(nil))
	command.FatalIfErrorf(command.Run())
}
