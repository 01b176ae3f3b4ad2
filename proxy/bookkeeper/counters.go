package bookkeeper

import (
	"sync/atomic"

	"fencepost/proxy/rules"
)

type counters struct {
	connections, requests, answers, bytes atomic.Int64
	raw, oversize, half, unparsed         atomic.Int64
	uncorrelated, ambiguous, untracked    atomic.Int64
	held, delayed, discarded, unforgeable atomic.Int64
}

// Counters are a link's counters, from its creation on.
type Counters struct {
	Connections     int64 `json:"connections"`
	OpenConnections int64 `json:"open_connections"`
	Requests        int64 `json:"requests"` // frames
	Answers         int64 `json:"answers"`
	Bytes           int64 `json:"bytes"` // received, both ways
	// RawStreams are streams that speak neither protocol; nothing of theirs is looked at or logged.
	RawStreams int64 `json:"raw_streams"`
	Oversize   int64 `json:"oversize"`    // frames above the limit, passed on and not logged
	HalfFrames int64 `json:"half_frames"` // unfinished when their stream ended, passed on and not logged
	Unparsed   int64 `json:"unparsed"`    // frames without a readable header
	// Uncorrelated are answers without a recorded request; Ambiguous are answers that fit more than one request.
	Uncorrelated int64 `json:"uncorrelated"`
	Ambiguous    int64 `json:"ambiguous"`
	// Untracked are requests beyond what a connection remembers at once.
	Untracked  int64 `json:"untracked"`
	HeldNow    int64 `json:"held_now"`
	DelayedNow int64 `json:"delayed_now"`
	// Discarded are frames that were held or delayed when their stream ended.
	Discarded int64 `json:"discarded"`
	// Unforgeable are frames that a rule would have forged or garbled and could not; they were passed on.
	Unforgeable int64        `json:"unforgeable"`
	Rules       []RuleCounts `json:"rules"`
}

// RuleCounts are one rule's counters.
type RuleCounts struct {
	ID     string `json:"id"`
	Number uint32 `json:"number"`
	rules.Counts
}

// Counters are the counters now.
func (l *Link) Counters() Counters {
	l.mutex.Lock()
	open := len(l.connections)
	l.mutex.Unlock()
	c := &l.counters
	found := Counters{
		Connections: c.connections.Load(), OpenConnections: int64(open),
		Requests: c.requests.Load(), Answers: c.answers.Load(), Bytes: c.bytes.Load(),
		RawStreams: c.raw.Load(), Oversize: c.oversize.Load(), HalfFrames: c.half.Load(),
		Unparsed: c.unparsed.Load(), Uncorrelated: c.uncorrelated.Load(), Ambiguous: c.ambiguous.Load(),
		Untracked: c.untracked.Load(), HeldNow: c.held.Load(), DelayedNow: c.delayed.Load(),
		Discarded: c.discarded.Load(), Unforgeable: c.unforgeable.Load(), Rules: []RuleCounts{},
	}
	for _, rule := range l.Rules() {
		found.Rules = append(found.Rules, RuleCounts{rule.Spec.ID, rule.Number, rule.Counts()})
	}
	return found
}
