package bookkeeper

import (
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"fencepost/proxy/frames"
	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// parcel is bytes on their way out: whole frames with their records in the log, or raw bytes.
type parcel struct {
	data    []byte
	token   wirelog.Token // 0 when there is nothing to stamp
	records int
	asks    *frames.Header // a request that is kept back, and can be answered only once it is let go
}

type late struct {
	parcel
	due time.Time
}

type heldParcel struct {
	parcel
	rule *rules.Rule
}

// flow is one stream of a connection. Its Pipe runs in one goroutine at a time; what other
// goroutines touch (held, ready) has the mutex, and wake notifies the Pipe of it.
type flow struct {
	connection *connection
	way        frames.Way
	splitter   frames.Splitter
	scan       scan
	begun      int  // bytes of the unfinished frame that are passed on already
	queued     bool // something waits for the end of that frame

	out     []parcel
	delayed []late // by due time
	timer   *time.Timer
	ended   bool // the input ended, or a rule closed the connection
	closing bool // by a rule or by a cut: the input is to be swallowed

	deadline time.Time // of handing on what is left when both streams have ended

	wake  chan struct{}
	mutex sync.Mutex
	held  []heldParcel
	ready []parcel // released, or forged for this stream
	done  bool     // nothing is taken any more
	gone  bool     // toxiproxy closed the sockets
}

func newFlow(c *connection, way frames.Way) *flow {
	f := &flow{connection: c, way: way, wake: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	f.timer.Stop()
	return f
}

// pipe is the loop of a stream. While something waits to go out nothing is read, so that a slow
// receiver slows its sender; an interrupt and a release are obeyed all the same. When the other stream
// has ended, toxiproxy closes this one's sender, and that end must be read.
func (f *flow) pipe(stub *toxics.ToxicStub) {
	f.collect()
	for {
		if f.ended && f.finish(stub) {
			return
		}
		input, output := stub.Input, stub.Output
		var chunk *stream.StreamChunk
		switch {
		case len(f.out) > 0:
			f.stamp(&f.out[0])
			if !f.connection.ended[1-f.way].Load() {
				input = nil
			}
			chunk = &stream.StreamChunk{Data: f.out[0].front(), Timestamp: time.Now()}
		default:
			output = nil
		}
		if f.ended {
			input = nil
		}
		select {
		case <-stub.Interrupt:
			return
		case output <- chunk:
			f.sent()
		case received := <-input:
			if received == nil {
				f.inputEnded()
			} else {
				f.take(received.Data)
			}
		case <-f.wake:
			f.collect()
		case <-f.timer.C:
			f.collect()
		}
	}
}

// chunkBytes is the most that is handed on at once. It is the size of the buffer with which toxiproxy
// takes the bytes, whose reader (2.12, stream.ChanReader) loses the end of a chunk that is longer when
// another one waits behind it.
const chunkBytes = 32 << 10

// front is what is handed on next of a parcel.
func (p *parcel) front() []byte {
	return p.data[:min(len(p.data), chunkBytes)]
}

// sent takes the front of the first parcel off.
func (f *flow) sent() {
	first := &f.out[0]
	if first.data = first.data[len(first.front()):]; len(first.data) > 0 {
		return
	}
	f.out[0] = parcel{}
	if f.out = f.out[1:]; len(f.out) == 0 {
		f.out = nil
	}
}

// stamp says in the log, once, that a parcel begins to be handed on. It comes before, so that no frame
// arrives that the log calls never forwarded.
func (f *flow) stamp(p *parcel) {
	if p.token != 0 {
		f.connection.link.registry.Log.Stamp(p.token, p.records, wirelog.Now())
		p.token = 0
	}
}

// letGo remembers a request that was kept back: it may be answered from now on.
func (f *flow) letGo(p parcel) parcel {
	if p.asks == nil {
		return p
	}
	c := f.connection
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.asked(p.asks, 1, wirelog.Now()) {
		c.link.counters.untracked.Add(1)
	}
	p.asks = nil
	return p
}

// collect moves what was released, forged or has become due to the way out; behind the end of a frame
// that is passed on in part.
func (f *flow) collect() {
	f.mutex.Lock()
	gone := f.gone
	if f.queued = f.begun > 0 && !f.ended; !f.queued {
		f.out = append(f.out, f.ready...)
		f.ready = nil
	}
	f.mutex.Unlock()
	if gone && !f.closing {
		f.cut()
	}
	if f.queued {
		return
	}
	now := time.Now()
	n := 0
	for n < len(f.delayed) && !f.delayed[n].due.After(now) {
		f.out = append(f.out, f.letGo(f.delayed[n].parcel))
		n++
	}
	f.connection.link.counters.delayed.Add(int64(-n))
	f.delayed = f.delayed[n:]
	if len(f.delayed) > 0 {
		f.timer.Reset(time.Until(f.delayed[0].due))
	}
}

func (f *flow) delay(p parcel, by time.Duration) {
	due := time.Now().Add(by)
	at := len(f.delayed)
	for at > 0 && f.delayed[at-1].due.After(due) {
		at--
	}
	f.delayed = append(f.delayed, late{})
	copy(f.delayed[at+1:], f.delayed[at:])
	f.delayed[at] = late{p, due}
	f.connection.link.counters.delayed.Add(1)
	f.timer.Reset(time.Until(f.delayed[0].due))
}

// hold keeps a parcel for its rule. One whose rule was taken away meanwhile goes behind what that rule
// held: released with it, or right away when that has happened.
func (f *flow) hold(p parcel, rule *rules.Rule) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if rule.Removed() && !slices.ContainsFunc(f.held, heldBy(rule)) {
		f.ready = append(f.ready, f.letGo(p))
		f.rouse()
		return
	}
	f.held = append(f.held, heldParcel{p, rule})
	f.countHeld(rule, 1)
}

func heldBy(one *rules.Rule) func(heldParcel) bool {
	return func(p heldParcel) bool { return p.rule == one }
}

func (f *flow) countHeld(rule *rules.Rule, n int64) {
	rule.Held(n)
	f.connection.link.counters.held.Add(n)
}

// release lets go what some rules hold, in the order in which it came; any goroutine may call it.
func (f *flow) release(some map[*rules.Rule]bool) int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	kept := f.held[:0]
	released := 0
	for _, held := range f.held {
		if !some[held.rule] {
			kept = append(kept, held)
			continue
		}
		f.ready = append(f.ready, f.letGo(held.parcel))
		f.countHeld(held.rule, -1)
		released++
	}
	clear(f.held[len(kept):])
	f.held = kept
	if released > 0 {
		f.rouse()
	}
	return released
}

// bring adds a parcel from the connection's other stream; lost when this one has ended.
func (f *flow) bring(p parcel) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.done {
		f.ready = append(f.ready, p)
		f.rouse()
	}
}

// cutOff notifies the Pipe that toxiproxy has closed both sockets, which it cannot see itself while a
// receiver does not read.
func (f *flow) cutOff() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.gone = true
	f.rouse()
}

func (f *flow) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
