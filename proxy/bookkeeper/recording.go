package bookkeeper

import (
	"fencepost/proxy/frames"
	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// record appends the records of one frame: one for each entry of a batch answer, else one. A frame
// that passes right away is forwarded from now on.
func (f *flow) record(
	message *rules.Message, piece frames.Piece, rule *rules.Rule, flags uint32, asked, now int64,
) {
	one := f.base(message, now)
	one.Size, one.Flags, one.Asked, one.Forwarded = uint32(len(piece.Bytes)), flags, asked, now
	if f.way == frames.Answers {
		one.StatusReceived, one.StatusDelivered = message.Status, message.Status
	}
	if f.closing {
		one.Flags |= wirelog.Dropped
		one.StatusDelivered, one.Forwarded = frames.NoStatus, 0
	}
	if rule != nil {
		f.mark(one, rule)
	}
	if len(message.Entries) > 0 {
		f.recordBatch(message.Entries)
	}
}

// recordBatch makes the last record, that of a batch answer, one record for each of its entries.
func (f *flow) recordBatch(entries []frames.Entry) {
	s := &f.scan
	last := len(s.records) - 1
	one := s.records[last]
	s.records = s.records[:last]
	one.BatchSize = uint16(len(entries))
	for i, entry := range entries {
		one.BatchPlace, one.Size = uint16(i), uint32(entry.SizeBytes)
		one.Ledger, one.Entry, one.LAC = entry.Ledger, entry.Entry, entry.LAC
		s.records = append(s.records, one)
	}
}

// recordForged appends the record of an answer that was made for a swallowed request.
func (f *flow) recordForged(message *rules.Message, forged []byte, rule *rules.Rule, now int64) {
	of := f.scan.records[len(f.scan.records)-1].Flags
	one := f.base(message, now)
	one.Way, one.LAC, one.Asked = uint8(frames.Answers), frames.None, now
	one.Size, one.Rule, one.StatusDelivered = uint32(len(forged)), rule.Number, rule.Status()
	one.Flags = wirelog.Forged | of&^wirelog.Dropped
}

// base appends a record with what the message says, in place, for there is one for each frame.
func (f *flow) base(message *rules.Message, now int64) *wirelog.Record {
	s := &f.scan
	if len(s.records) == cap(s.records) {
		s.records = append(s.records, wirelog.Record{})
	} else {
		s.records = s.records[:len(s.records)+1]
	}
	one := &s.records[len(s.records)-1]
	*one = wirelog.Record{
		Received: now, Link: f.connection.link.number, Connection: f.connection.number,
		Way: uint8(f.way), Protocol: uint8(message.Protocol), Kind: uint8(message.Kind), Op: message.Op,
		Ledger: message.Ledger, Entry: message.Entry, Txn: message.Txn, LAC: message.LAC,
		StatusReceived: frames.NoStatus, StatusDelivered: frames.NoStatus,
	}
	return one
}

// mark says in a record what a rule does to its frame.
func (f *flow) mark(one *wirelog.Record, rule *rules.Rule) {
	one.Rule = rule.Number
	switch rule.Spec.Action {
	case rules.Drop, rules.Close:
		one.Flags |= wirelog.Dropped
		one.StatusDelivered, one.Forwarded = frames.NoStatus, 0
	case rules.Delay:
		one.Flags |= wirelog.Delayed
		one.Forwarded = 0
	case rules.Hold:
		one.Flags |= wirelog.Held
		one.Forwarded = 0
	case rules.Duplicate:
		one.Flags |= wirelog.Duplicated
	case rules.Garble:
		one.Flags |= wirelog.Garbled
	case rules.Forge:
		one.Flags |= wirelog.Forged
		if f.way == frames.Answers {
			one.StatusDelivered = rule.Status()
		} else {
			one.Flags |= wirelog.Dropped
			one.Forwarded = 0
		}
	}
}
