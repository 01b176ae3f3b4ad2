package bookkeeper

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// How a stream ends. Its sender's close is passed on at once, so what is held then is discarded. What is
// delayed is still delivered at its time and the close behind it, as on a slow network; unless the
// other stream has ended too, for then both peers are gone. What waits for a receiver that does not
// read has then lastPatience left: toxiproxy does not notify a toxic that its frames have no receiver any more.

// lastPatience bounds handing on what is left when both peers have closed.
const lastPatience = time.Second

// inputEnded is called once, when the sender has closed.
func (f *flow) inputEnded() {
	if len(f.splitter.Kept()) > 0 {
		f.connection.link.counters.half.Add(1)
		f.passRest()
	}
	f.stop()
}

// passRest passes on what is kept back of an unfinished frame.
func (f *flow) passRest() {
	if rest := f.splitter.Rest()[f.begun:]; len(rest) > 0 {
		f.out = append(f.out, parcel{data: rest})
	}
	f.begun = 0
}

// stop begins the end: nothing more is taken, nothing stays held.
func (f *flow) stop() {
	f.collect()
	f.ended = true
	f.mutex.Lock()
	for _, held := range f.held {
		f.countHeld(held.rule, -1)
		f.connection.link.counters.discarded.Add(1)
	}
	f.out = append(f.out, f.ready...) // released or forged since, and promised to be passed on
	f.held, f.ready, f.done = nil, nil, true
	f.mutex.Unlock()
	if f.closing {
		f.discardDelayed()
	}
	f.connection.end(f.way)
	f.connection.streams[1-f.way].rouse() // which may have waited for nothing else
}

// cut ends a stream whose sockets toxiproxy has closed: nothing of it can arrive any more.
func (f *flow) cut() {
	f.closing = true
	if !f.ended {
		f.stop()
	}
	f.discardDelayed()
	f.out = nil
}

func (f *flow) discardDelayed() {
	n := int64(len(f.delayed))
	f.connection.link.counters.delayed.Add(-n)
	f.connection.link.counters.discarded.Add(n)
	f.delayed = nil
}

// finish closes the stub when nothing is left to deliver, and reports whether the Pipe is over.
func (f *flow) finish(stub *toxics.ToxicStub) bool {
	if f.connection.over() {
		f.hurry()
	}
	if len(f.out) > 0 || len(f.delayed) > 0 {
		return false
	}
	f.timer.Stop()
	stub.Close()
	if f.closing {
		for range stub.Input { //nolint:revive // the sender must not wait for a reader that is gone
		}
	}
	return true
}

// hurry gives what is left to hand on its last time.
func (f *flow) hurry() {
	f.discardDelayed()
	switch {
	case len(f.out) == 0:
	case f.deadline.IsZero():
		f.deadline = time.Now().Add(lastPatience)
		f.timer.Reset(lastPatience)
	case !time.Now().Before(f.deadline):
		f.out = nil
	}
}

// abandon returns all bytes that are kept back, for the toxic is taken away; in the middle of a frame
// there is no place for them. The Pipe must not run.
func (f *flow) abandon() [][]byte {
	if f.begun > 0 {
		f.mutex.Lock()
		f.ready = nil
		f.mutex.Unlock()
		f.closing = true
		f.stop()
	}
	f.mutex.Lock()
	for _, held := range f.held {
		f.countHeld(held.rule, -1)
		f.ready = append(f.ready, f.letGo(held.parcel))
	}
	f.held, f.done = nil, true
	f.mutex.Unlock()
	f.collect()
	for _, late := range f.delayed {
		f.out = append(f.out, f.letGo(late.parcel))
	}
	f.connection.link.counters.delayed.Add(int64(-len(f.delayed)))
	f.delayed = nil
	f.passRest()
	var all [][]byte
	for len(f.out) > 0 {
		f.stamp(&f.out[0])
		all = append(all, f.out[0].front())
		f.sent()
	}
	f.connection.end(f.way)
	return all
}
