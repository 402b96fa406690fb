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

package qemu

import (
	"encoding/base64"
	"path"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// runningAgent returns a guest whose agent answers.
func runningAgent(c *engine.Call) (*state.Guest, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	return g, guest.AgentRuns(c.Op(), g)
}

// agentExec runs one of the few programs that simulated guests have.
func agentExec(c *engine.Call) (any, error) {
	g, err := runningAgent(c)
	if err != nil {
		return nil, err
	}
	command := c.Lists["command"]
	if len(command) == 0 {
		return nil, apierr.Errorf("Agent error: Invalid parameter type for 'path', expected: string")
	}
	p, ok := program(c, g, command[0], command[1:])
	if !ok {
		return nil, apierr.Errorf("Agent error: Guest agent command failed, error was 'Failed to execute child process “%s” (No such file or directory)'",
			command[0])
	}
	if g.Processes == nil {
		g.Processes = map[int]state.Process{}
	}
	c.State.Sequence++
	g.Processes[c.State.Sequence] = p
	return map[string]any{"pid": c.State.Sequence}, nil
}

// program returns the result of a program in the guest.
func program(c *engine.Call, g *state.Guest, name string, args []string) (state.Process, bool) {
	switch path.Base(name) {
	case "echo":
		return state.Process{Out: strings.Join(args, " ") + "\n"}, true
	case "date":
		return state.Process{Out: c.Now().UTC().Format("Mon Jan _2 15:04:05 UTC 2006") + "\n"}, true
	case "hostname":
		return state.Process{Out: g.Name() + "\n"}, true
	case "true":
		return state.Process{}, true
	case "false":
		return state.Process{Code: 1}, true
	case "cat":
		out := &strings.Builder{}
		for _, file := range args {
			out.WriteString(g.Files[file])
		}
		return state.Process{Out: out.String()}, true
	}
	return state.Process{}, false
}

// agentExecStatus returns the result of a program. The agent returns it only once.
func agentExecStatus(c *engine.Call) (any, error) {
	g, err := runningAgent(c)
	if err != nil {
		return nil, err
	}
	pid := c.Num("pid")
	p, ok := g.Processes[pid]
	if !ok {
		return nil, apierr.Errorf("Agent error: Invalid parameter 'pid'")
	}
	delete(g.Processes, pid)
	out := map[string]any{"exited": 1, "exitcode": p.Code}
	if p.Out != "" {
		out["out-data"], out["out-truncated"] = p.Out, 0
	}
	return out, nil
}

// agentLegacy runs the command that a call names.
func agentLegacy(c *engine.Call) (any, error) {
	g, err := runningAgent(c)
	if err != nil {
		return nil, err
	}
	answer, ok := agentAnswers()[c.Str("command")]
	if !ok {
		return agentShutdown(c)
	}
	return map[string]any{"result": answer(c, g)}, nil
}

// agentSetPassword accepts a password, which is not used.
func agentSetPassword(c *engine.Call) (any, error) {
	if _, err := runningAgent(c); err != nil {
		return nil, err
	}
	return map[string]any{"result": map[string]any{}}, nil
}

func agentFileWrite(c *engine.Call) (any, error) {
	g, err := runningAgent(c)
	if err != nil {
		return nil, err
	}
	content := c.Str("content")
	if c.Has("encode") && !c.Flag("encode") {
		raw, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			return nil, apierr.Errorf("Agent error: Guest agent command failed, error was 'Base64 data is invalid'")
		}
		content = string(raw)
	}
	if g.Files == nil {
		g.Files = map[string]string{}
	}
	g.Files[c.Str("file")] = content
	return nil, nil //nolint:nilnil // The answer is null.
}

func agentFileRead(c *engine.Call) (any, error) {
	g, err := runningAgent(c)
	if err != nil {
		return nil, err
	}
	content, ok := guest.File(c.Op(), g, c.Str("file"))
	if !ok {
		return nil, apierr.Errorf("Agent error: failed to open file '%s' (mode: 'r'): No such file or directory", c.Str("file"))
	}
	content = content[min(c.Num("offset"), len(content)):]
	out := map[string]any{}
	if count := c.Num("count"); count > 0 && count <= len(content) {
		content, out["truncated"] = content[:count], 1
	}
	out["content"], out["bytes-read"] = content, len(content)
	if c.Has("decode") && !c.Flag("decode") {
		out["content"] = base64.StdEncoding.EncodeToString([]byte(content))
	}
	return out, nil
}
