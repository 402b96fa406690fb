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

package simulator

import (
	"encoding/base64"
	"path"
	"strings"
)

// process is a program that has run inside a guest.
type process struct {
	out  string
	code int
}

// runningAgent finds a guest whose agent answers.
func (c *call) runningAgent() (*Guest, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	return g, c.op().agentRuns(g)
}

// agentExec runs one of the few programs that simulated guests have.
func (c *call) agentExec() (any, error) {
	g, err := c.runningAgent()
	if err != nil {
		return nil, err
	}
	command := c.Lists["command"]
	if len(command) == 0 {
		return nil, die("Agent error: Invalid parameter type for 'path', expected: string")
	}
	p, ok := c.program(g, command[0], command[1:])
	if !ok {
		return nil, die("Agent error: Guest agent command failed, error was 'Failed to execute child process “%s” (No such file or directory)'",
			command[0])
	}
	if g.processes == nil {
		g.processes = map[int]process{}
	}
	c.state.sequence++
	g.processes[c.state.sequence] = p
	return map[string]any{"pid": c.state.sequence}, nil
}

// program is what a program of the guest does.
func (c *call) program(g *Guest, name string, args []string) (process, bool) {
	switch path.Base(name) {
	case "echo":
		return process{out: strings.Join(args, " ") + "\n"}, true
	case "date":
		return process{out: c.now().UTC().Format("Mon Jan _2 15:04:05 UTC 2006") + "\n"}, true
	case "hostname":
		return process{out: g.name() + "\n"}, true
	case "true":
		return process{}, true
	case "false":
		return process{code: 1}, true
	case "cat":
		out := &strings.Builder{}
		for _, file := range args {
			out.WriteString(g.Files[file])
		}
		return process{out: out.String()}, true
	}
	return process{}, false
}

// agentExecStatus tells how a program ended; the agent tells it once.
func (c *call) agentExecStatus() (any, error) {
	g, err := c.runningAgent()
	if err != nil {
		return nil, err
	}
	pid := c.num("pid")
	p, ok := g.processes[pid]
	if !ok {
		return nil, die("Agent error: Invalid parameter 'pid'")
	}
	delete(g.processes, pid)
	out := map[string]any{"exited": 1, "exitcode": p.code}
	if p.out != "" {
		out["out-data"], out["out-truncated"] = p.out, 0
	}
	return out, nil
}

// agentLegacy runs the command that a call names.
func (c *call) agentLegacy() (any, error) {
	g, err := c.runningAgent()
	if err != nil {
		return nil, err
	}
	answer, ok := agentAnswers()[c.str("command")]
	if !ok {
		return c.agentShutdown()
	}
	return map[string]any{"result": answer(c, g)}, nil
}

// agentSetPassword takes a password, which nobody logs in with.
func (c *call) agentSetPassword() (any, error) {
	if _, err := c.runningAgent(); err != nil {
		return nil, err
	}
	return map[string]any{"result": map[string]any{}}, nil
}

func (c *call) agentFileWrite() (any, error) {
	g, err := c.runningAgent()
	if err != nil {
		return nil, err
	}
	content := c.str("content")
	if c.has("encode") && !c.flag("encode") {
		raw, err := base64.StdEncoding.DecodeString(content)
		if err != nil {
			return nil, die("Agent error: Guest agent command failed, error was 'Base64 data is invalid'")
		}
		content = string(raw)
	}
	if g.Files == nil {
		g.Files = map[string]string{}
	}
	g.Files[c.str("file")] = content
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) agentFileRead() (any, error) {
	g, err := c.runningAgent()
	if err != nil {
		return nil, err
	}
	content, ok := g.Files[c.str("file")]
	if !ok {
		return nil, die("Agent error: failed to open file '%s' (mode: 'r'): No such file or directory", c.str("file"))
	}
	content = content[min(c.num("offset"), len(content)):]
	out := map[string]any{}
	if count := c.num("count"); count > 0 && count <= len(content) {
		content, out["truncated"] = content[:count], 1
	}
	out["content"], out["bytes-read"] = content, len(content)
	if c.has("decode") && !c.flag("decode") {
		out["content"] = base64.StdEncoding.EncodeToString([]byte(content))
	}
	return out, nil
}
