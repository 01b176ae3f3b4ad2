package bookkeeper

import (
	"sync"
	"sync/atomic"

	"fencepost/proxy/frames"
)

// mostInFlight bounds the requests that a connection remembers; BookKeeper's clients have thousands.
const mostInFlight = 1 << 17

// connection is one connection through a link: two streams, and the requests that wait for answers.
type connection struct {
	link    *Link
	number  uint32
	streams [2]*flow
	begun   [2]bool // guarded by the link's mutex

	ended [2]atomic.Bool

	mutex    sync.Mutex
	inFlight table
	more     map[key][]request // beside the first, where a V2 key is in flight more than once
}

// key is what makes an answer a request's answer: V3's txnId and operation; V2's operation, ledger,
// entry and, in a batch, request id.
type key struct {
	ledger, entry, txn int64
	op                 uint8
}

// request is what a connection remembers of one. With its key it fills one line of the cache.
type request struct {
	ledger, entry int64
	asked         int64 // it was not passed on before
	kind          frames.Kind
	answers       uint8 // still expected; 2 for a duplicated request
	ambiguous     bool  // another one with its key was in flight at the same time
}

type waiting struct {
	key
	request
}

func newConnection(link *Link, number uint32) *connection {
	c := &connection{link: link, number: number}
	for way := range c.streams {
		c.streams[way] = newFlow(c, frames.Way(way))
	}
	return c
}

func keyOf(header *frames.Header) key {
	if header.Protocol == frames.V3 {
		return key{txn: header.Txn, op: header.Op}
	}
	return key{header.Ledger, header.Entry, header.Txn, header.Op}
}

// asked remembers a request that goes out, answers times, from now on. False when there are too many.
// It needs the mutex, and that the request is passed on only after it.
func (c *connection) asked(header *frames.Header, answers uint8, at int64) bool {
	k := keyOf(header)
	now := request{ledger: header.Ledger, entry: header.Entry, asked: at, kind: header.Kind, answers: answers}
	if first := c.inFlight.find(&k); first != nil {
		first.ambiguous = true
		if c.more == nil {
			c.more = map[key][]request{}
		}
		if len(c.more[k]) >= mostInFlight {
			return false
		}
		c.more[k] = append(c.more[k], now)
		return true
	}
	if c.inFlight.len() >= mostInFlight {
		return false
	}
	c.inFlight.put(waiting{key: k, request: now})
	return true
}

// answered finds an answer's request, completes the answer's header from it and tells when it was
// asked. Of several that fit, the oldest is taken, and ambiguous is true; it stays so until none of
// them is left. It needs the mutex.
func (c *connection) answered(header *frames.Header) (asked int64, found, ambiguous bool) {
	k := keyOf(header)
	first := c.inFlight.find(&k)
	if first == nil {
		return 0, false, false
	}
	header.Kind, header.Ledger, header.Entry = first.kind, first.request.ledger, first.request.entry
	asked, ambiguous = first.asked, first.ambiguous
	if first.answers > 1 {
		first.answers--
	} else if rest := c.more[k]; len(rest) > 0 {
		first.request = rest[0]
		first.ambiguous = true
		if c.more[k] = rest[1:]; len(rest) == 1 {
			delete(c.more, k)
		}
	} else {
		c.inFlight.remove(first)
	}
	return asked, true, ambiguous
}

// end marks a stream as ended.
func (c *connection) end(way frames.Way) {
	c.ended[way].Store(true)
	if c.over() {
		c.link.forget(c)
	}
}

// over is true when both streams have ended.
func (c *connection) over() bool {
	return c.ended[frames.Requests].Load() && c.ended[frames.Answers].Load()
}
