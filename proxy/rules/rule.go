// Package rules says which frames of a link are acted on, and how: an ordered list of rules for each
// link, with counters that prove what took effect.
//
// A rule is data (JSON) and a few counters. This package is independent of sockets and of how an
// action is executed.
package rules

import (
	"sync/atomic"

	"fencepost/proxy/frames"
)

// Action is what happens to a frame that a rule acts on.
type Action string

// The actions.
const (
	// Drop swallows the frame.
	Drop Action = "drop"
	// Delay passes the frame on DelayMS later; frames behind it overtake it.
	Delay Action = "delay"
	// Hold keeps the frame until it is released; frames behind it overtake it.
	Hold Action = "hold"
	// Duplicate passes the frame on twice.
	Duplicate Action = "duplicate"
	// Forge swallows a request and answers it with Status; or replaces an answer with one of Status.
	Forge Action = "forge"
	// Close swallows the frame and closes its connection.
	Close Action = "close"
	// Garble passes an add on with one bit of its entry turned over.
	Garble Action = "garble"
)

// Actions are the names of all actions.
var Actions = []string{"drop", "delay", "hold", "duplicate", "forge", "close", "garble"}

// Spec is a rule as the REST API takes and returns it. A criterion that is absent matches all.
type Spec struct {
	// ID is the caller's name of the rule, once in a list. A rule that is put again with the same
	// ID and the same content keeps its counters and what it holds.
	ID  string `json:"id"`
	Way string `json:"way"` // requests or answers
	// Kinds are names of frames.Kinds; an answer has the kind of its request.
	Kinds  []string `json:"kinds,omitempty"`
	Ledger *int64   `json:"ledger,omitempty"`
	// Entries are the first and the last entry id; a batch matches when one of its entries does.
	Entries *[2]int64 `json:"entries,omitempty"`
	// Statuses are names of frames.Statuses, for answers only.
	Statuses []string `json:"statuses,omitempty"`
	// From and To are the first and the last match, counted from 1, that is acted on; To 0: no end.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Probability, of the matches between From and To; which of them is decided by Seed and the
	// number of the match alone.
	Probability *float64 `json:"probability,omitempty"`
	Seed        uint64   `json:"seed,omitempty"`
	Action      Action   `json:"action"`
	DelayMS     int64    `json:"delay_ms,omitempty"`
	Status      string   `json:"status,omitempty"` // of a forged answer
}

// Counts are a rule's counters.
type Counts struct {
	Matched int64 `json:"matched"`
	Acted   int64 `json:"acted"`
	HeldNow int64 `json:"held_now"`
}

// Rule is a rule in force. Its methods may be called from any goroutine.
type Rule struct {
	Spec Spec
	// Number identifies a rule in its process, over all links; from 1.
	Number uint32

	way      frames.Way
	kinds    uint32 // one bit for each kind; 0: all
	statuses map[int32]bool
	status   int32

	matched, acted, held atomic.Int64
	removed              atomic.Bool
}

// Counts are the counters now.
func (r *Rule) Counts() Counts {
	return Counts{Matched: r.matched.Load(), Acted: r.acted.Load(), HeldNow: r.held.Load()}
}

// Status is the status of the answers that the rule forges.
func (r *Rule) Status() int32 { return r.status }

// Acted counts a frame on which the rule acts.
func (r *Rule) Acted() { r.acted.Add(1) }

// Held counts frames that the rule holds from now on (n above 0) or no longer.
func (r *Rule) Held(n int64) { r.held.Add(n) }

// Remove marks the rule as no longer in force; Removed tells.
func (r *Rule) Remove() { r.removed.Store(true) }

// Removed is true when the rule is in force no longer; it must then hold no frame.
func (r *Rule) Removed() bool { return r.removed.Load() }
