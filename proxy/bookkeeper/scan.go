package bookkeeper

import (
	"time"

	"fencepost/proxy/frames"
	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// move is what is done with a stretch of a chunk: one frame that a rule acts on, or as many
// neighbours as pass. Its records follow those of the move before.
type move struct {
	data    []byte
	records int
	rule    *rules.Rule // nil: pass
	forged  []byte      // what stands for the frame; an answer to a request has one record more
	asks    *frames.Header
}

// scan is what one chunk becomes. Its slices are used again for the next chunk.
//
// Where there are no rules a chunk is passed on whole, as it came, with the beginning of a frame that
// ends in a later chunk: nothing is copied, and each chunk is one write. A rule that comes meanwhile
// lets such a frame pass, for it was on its way already. Its record is written before its last bytes
// are passed on, so a server never acts on a frame that the log has not.
type scan struct {
	whole   bool // no rules: the chunk passes as it came
	records []wirelog.Record
	moves   []move
	entries []frames.Entry
	counts  counts
}

// counts gathers a chunk's counts, to be added once.
type counts struct {
	frames, unparsed, uncorrelated, ambiguous, untracked, oversize, unforgeable int64
}

// take looks at what the sender sent, logs it, and then sends it on its way.
func (f *flow) take(data []byte) {
	c := f.connection
	wasRaw := f.splitter.Raw()
	s := &f.scan
	s.records, s.moves, s.counts = s.records[:0], s.moves[:0], counts{}
	now := wirelog.Now()
	list := c.link.Rules()
	if len(f.wake) > 0 {
		f.collect() // what was released goes before what passes now
	}
	s.whole = len(list) == 0 && !f.closing && !f.queued
	if kept := f.splitter.Kept(); s.whole && len(kept) > f.begun {
		f.out = append(f.out, parcel{data: kept[f.begun:]})
	}

	f.splitter.Feed(data)
	c.mutex.Lock()
	for piece, ok := f.splitter.Next(); ok; piece, ok = f.splitter.Next() {
		f.look(piece, list, now)
	}
	c.mutex.Unlock()

	f.count(len(data), !wasRaw && f.splitter.Raw())
	token := c.link.registry.Log.Append(s.records)
	if s.whole || f.begun > 0 {
		f.out = append(f.out, parcel{data: data})
		f.begun = len(f.splitter.Kept())
	}
	for i := range s.moves {
		f.act(&s.moves[i], token)
		if f.queued && f.begun == 0 {
			f.collect()
		}
		if token != 0 {
			token += wirelog.Token(s.moves[i].records)
		}
		s.moves[i] = move{}
	}
	if f.closing && !f.ended {
		f.stop()
	}
}

func (f *flow) count(bytes int, raw bool) {
	c, n := &f.connection.link.counters, &f.scan.counts
	c.bytes.Add(int64(bytes))
	if f.way == frames.Requests {
		c.requests.Add(n.frames)
	} else {
		c.answers.Add(n.frames)
	}
	if raw {
		c.raw.Add(1)
	}
	if *n != (counts{frames: n.frames}) {
		c.unparsed.Add(n.unparsed)
		c.uncorrelated.Add(n.uncorrelated)
		c.ambiguous.Add(n.ambiguous)
		c.untracked.Add(n.untracked)
		c.oversize.Add(n.oversize)
		c.unforgeable.Add(n.unforgeable)
	}
}

// look makes a piece's records and its move. It needs the connection's mutex.
func (f *flow) look(piece frames.Piece, list rules.List, now int64) {
	s := &f.scan
	begun := f.begun // the unfinished frame is the first piece
	f.begun = 0
	if !piece.Frame {
		if piece.Oversize {
			s.counts.oversize++
		}
		f.pass(piece, begun, 0)
		return
	}
	s.counts.frames++
	message := rules.Message{Way: f.way}
	parsed := message.Header.Parse(f.way, f.splitter.Protocol(), piece.Payload())
	flags, asked := f.correlate(&message, piece.Payload(), parsed)

	var rule *rules.Rule
	if len(list) > 0 && !f.closing && begun == 0 {
		rule = list.Decide(&message)
	}
	forged, made := f.standIn(&message, piece, rule)
	if !made {
		s.counts.unforgeable++
		rule = nil
	} else if rule != nil {
		rule.Acted()
	}
	asks := f.remember(&message, rule, now)
	before := len(s.records)
	f.record(&message, piece, rule, flags, asked, now)
	if rule != nil && rule.Spec.Action == rules.Forge && f.way == frames.Requests {
		f.recordForged(&message, forged, rule, now)
	}
	switch {
	case f.closing:
		s.moves = append(s.moves, move{records: len(s.records) - before})
	case rule == nil:
		f.pass(piece, begun, len(s.records)-before)
	default:
		s.moves = append(s.moves, move{piece.Bytes, len(s.records) - before, rule, forged, asks})
		f.closing = rule.Spec.Action == rules.Close
	}
}

// standIn makes what stands for the frame that a rule acts on, nil with most actions. False when it
// cannot be made.
func (f *flow) standIn(message *rules.Message, piece frames.Piece, rule *rules.Rule) ([]byte, bool) {
	if rule == nil {
		return nil, true
	}
	switch rule.Spec.Action {
	case rules.Forge:
		return frames.ErrorAnswer(message.Header, rule.Status())
	case rules.Garble:
		return frames.Garbled(message.Protocol, piece.Bytes)
	}
	return nil, true
}

// correlate completes an answer from its request and returns the record's flags up to now, and when the
// request was asked.
func (f *flow) correlate(message *rules.Message, payload []byte, parsed bool) (flags uint32, asked int64) {
	counts := &f.scan.counts
	if !parsed {
		counts.unparsed++
		return wirelog.Unparsed, 0
	}
	if message.Batch {
		flags |= wirelog.Batch
	}
	if f.way == frames.Answers {
		if message.Batch && message.Status == 0 {
			var whole bool
			if f.scan.entries, whole = frames.BatchEntries(payload, f.scan.entries[:0]); !whole {
				counts.unparsed++
				flags |= wirelog.Unparsed
			}
			message.Entries = f.scan.entries
		}
		var found, ambiguous bool
		switch asked, found, ambiguous = f.connection.answered(&message.Header); {
		case !found:
			counts.uncorrelated++
			flags |= wirelog.Uncorrelated
		case ambiguous:
			counts.ambiguous++
			flags |= wirelog.Ambiguous
		}
	}
	if message.Kind.Fencing() {
		flags |= wirelog.Fencing
	}
	if message.Kind.Recovery() {
		flags |= wirelog.Recovery
	}
	return flags, asked
}

// remember keeps a request that will be answered. A held request is returned instead, to be
// remembered when it is let go.
func (f *flow) remember(message *rules.Message, rule *rules.Rule, now int64) *frames.Header {
	if f.way != frames.Requests || f.closing || message.Op == 0 {
		return nil
	}
	answers := uint8(1)
	if rule != nil {
		switch rule.Spec.Action {
		case rules.Drop, rules.Forge, rules.Close:
			return nil
		case rules.Hold, rules.Delay:
			kept := message.Header
			return &kept
		case rules.Duplicate:
			answers = 2
		}
	}
	if !f.connection.asked(&message.Header, answers, now) {
		f.scan.counts.untracked++
	}
	return nil
}

// pass lengthens the last move where the piece lies directly behind it. The piece's first bytes that
// are begun are not passed on again.
func (f *flow) pass(piece frames.Piece, begun, records int) {
	s := &f.scan
	if f.closing || s.whole {
		return
	}
	if n := len(s.moves); n > 0 && piece.Follows && s.moves[n-1].rule == nil {
		last := &s.moves[n-1]
		last.data = last.data[:len(last.data)+len(piece.Bytes)]
		last.records += records
		return
	}
	s.moves = append(s.moves, move{data: piece.Bytes[begun:], records: records})
}

// act executes a move; token belongs to its first record. Held frames keep the token.
func (f *flow) act(m *move, token wirelog.Token) {
	kept := parcel{m.data, token, m.records, m.asks}
	action := rules.Action("")
	if m.rule != nil {
		action = m.rule.Spec.Action
	}
	switch action {
	case "":
		if len(m.data) > 0 {
			f.out = append(f.out, parcel{data: m.data})
		}
	case rules.Drop, rules.Close:
	case rules.Delay:
		f.delay(kept, time.Duration(m.rule.Spec.DelayMS)*time.Millisecond)
	case rules.Hold:
		f.hold(kept, m.rule)
	case rules.Duplicate:
		f.out = append(f.out, parcel{data: m.data}, parcel{data: m.data})
	case rules.Garble:
		f.out = append(f.out, parcel{data: m.forged})
	case rules.Forge:
		if f.way == frames.Answers {
			f.out = append(f.out, parcel{data: m.forged})
			return
		}
		kept.data, kept.records = m.forged, 1 // the answer's record stands behind the request's
		if token != 0 {
			kept.token = token + 1
		}
		f.connection.streams[frames.Answers].bring(kept)
	}
}
