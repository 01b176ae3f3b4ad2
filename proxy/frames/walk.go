package frames

import "google.golang.org/protobuf/encoding/protowire"

// walked is what a walk over a V3 message found: the numbers of its packet header and of its body, by
// field. The message is read in one pass, and nested messages are walked where they lie, for this is
// where most of the time for a frame goes.
type walked struct {
	packet [fieldTxn + 1]int64
	hasTxn bool
	body   [fieldMaxLAC + 1]int64 // None where there is none
	status int64                  // the outer one of an answer
	flag   int64
	lac    int64            // in the entry that the body has
	at     protowire.Number // the body's own field, 0 without a body
	entry  [2]int           // where the entry that the body has begins and ends, alike when there is none
}

// level is the message that a walk is in.
type level uint8

const (
	top level = iota
	packet
	body
)

// walk reads a whole message. False when a length in it leads beyond an end, or a tag is none.
func (w *walked) walk(data []byte) bool {
	w.status = int64(NoStatus)
	w.begin(0)
	in, end := top, len(data)
	for i := 0; ; {
		if i == end {
			if in == top {
				return true
			}
			in, end = top, len(data)
			continue
		}
		var tag, value uint64
		if tag, i = number(data, i, end); i < 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
			return false
		}
		id, kind := protowire.Number(tag>>3), protowire.Type(tag&7)
		if kind != protowire.VarintType && kind != protowire.BytesType {
			n := protowire.ConsumeFieldValue(id, kind, data[i:end])
			if n < 0 {
				return false
			}
			i += n
			continue
		}
		if value, i = number(data, i, end); i < 0 {
			return false
		}
		if kind == protowire.VarintType {
			if in == top && id == fieldHeader {
				return false
			}
			w.take(in, id, int64(value))
			continue
		}
		if value > uint64(end-i) {
			return false
		}
		after := i + int(value)
		switch {
		case in == top && w.enters(id):
			in, end = packet, after
			if id != fieldHeader {
				in = body
			}
			continue
		case in == body && id == fieldBody:
			w.lac, w.entry = lacOf(data[i:after]), [2]int{i, after}
		}
		i = after
	}
}

// number reads a varint at i; -1 instead of the place behind it when it does not end before end.
func number(data []byte, i, end int) (uint64, int) {
	if i < end && data[i] < 0x80 {
		return uint64(data[i]), i + 1
	}
	value, n := protowire.ConsumeVarint(data[i:end])
	if n < 0 {
		return 0, -1
	}
	return value, i + n
}

// enters reports whether a nested message is walked, and prepares for it.
func (w *walked) enters(id protowire.Number) bool {
	switch id {
	case fieldHeader:
		return true
	case fieldRead, fieldAdd, fieldWriteLAC, fieldReadLAC, fieldForce:
		w.begin(id)
		return true
	}
	return false
}

// begin forgets what an earlier body held, for the last one counts.
func (w *walked) begin(id protowire.Number) {
	w.at, w.flag, w.lac, w.entry = id, 0, None, [2]int{}
	for i := range w.body {
		w.body[i] = None
	}
}

// take keeps the number of a field.
func (w *walked) take(in level, id protowire.Number, value int64) {
	switch {
	case in == body && int(id) < len(w.body):
		w.body[id] = value
	case in == packet && int(id) < len(w.packet):
		w.packet[id] = value
		w.hasTxn = w.hasTxn || id == fieldTxn
	case in == body && id == fieldFlag:
		w.flag = value
	case in == top && id == fieldStatus:
		w.status = value
	}
}
