package main

import (
	"os"
	"strings"
	"syscall"
)

// Settings of the runtime at its start, unless the caller sets others.
//
// One thread at a time runs Go code: two took a fifth more processor time for the same frames, and one
// carries many times what a cluster on the same machine can send.
//
// An order for a scheduler trace, be it one line in three weeks, keeps the runtime's monitor thread from
// restarting with a wake-up every 20 µs whenever the process was idle, as a proxy is thousands of
// times a second; that took another sixth (Go 1.24 to 1.26, runtime.sysmon).
const (
	threads = "GOMAXPROCS=1"
	monitor = "GODEBUG=schedtrace=2000000000"
)

// calm starts the program again, in the same process, with these settings, for the runtime reads them
// only once. It returns when they are there, and when that fails: the program then only costs more.
func calm() {
	environment, more := os.Environ(), false
	for _, setting := range []string{threads, monitor} {
		name, _, _ := strings.Cut(setting, "=")
		if _, set := os.LookupEnv(name); !set {
			environment, more = append(environment, setting), true
		}
	}
	if path, err := os.Executable(); more && err == nil {
		_ = syscall.Exec(path, os.Args, environment)
	}
}
