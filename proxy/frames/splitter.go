package frames

import "encoding/binary"

// LengthBytes is the size of the big-endian length before each payload; it does not count itself.
const LengthBytes = 4

// LimitBytes is the largest payload that is treated as a frame: the servers' default limit
// (nettyMaxFrameSizeBytes, 5 MiB) and some slack.
const LimitBytes = 5<<20 + 64<<10

// growBytes bounds what is set aside for a frame before its bytes arrive.
const growBytes = 256 << 10

// Piece is what a Splitter passes on: one whole frame, or bytes that are no BookKeeper frame.
type Piece struct {
	// Bytes are the piece as it came. They must not be changed or appended to.
	Bytes []byte
	// Frame is true for a whole frame with its length.
	Frame bool
	// Oversize is true for the first bytes of a frame above the limit.
	Oversize bool
	// Follows is true when the bytes lie directly behind the previous piece in memory.
	Follows bool
}

// Payload is the frame without its length.
func (p Piece) Payload() []byte { return p.Bytes[LengthBytes:] }

// Splitter finds the frames of one stream, from its first byte. The pieces it returns, joined, are
// the bytes it was fed; only an unfinished frame is kept back, and Rest returns that.
//
// A stream whose first frame begins like neither protocol is passed on raw for ever, from the first
// byte that shows it. A later frame above the limit is passed on raw, and frames are found again
// behind it.
type Splitter struct {
	protocol Protocol
	raw      bool
	skip     int64  // bytes of an oversize frame still to pass on
	head     []byte // an unfinished frame
	data     []byte // what was fed and not yet returned
	fresh    bool   // nothing of data was returned yet
}

// Protocol is what the stream speaks, Unknown before its first frame and for a raw stream.
func (s *Splitter) Protocol() Protocol { return s.protocol }

// Raw is true when the stream was found to be no BookKeeper stream.
func (s *Splitter) Raw() bool { return s.raw }

// Feed gives the next bytes; the Splitter owns them. Next must have returned false before.
func (s *Splitter) Feed(data []byte) {
	s.data, s.fresh = data, true
}

// Kept are the bytes of a frame that is unfinished; the next piece begins with them.
func (s *Splitter) Kept() []byte { return s.head }

// Rest returns the unfinished frame and forgets it.
func (s *Splitter) Rest() []byte {
	rest := s.head
	s.head = nil
	return rest
}

// Next returns the next piece, false when more bytes are needed.
func (s *Splitter) Next() (Piece, bool) {
	switch {
	case len(s.head) > 0:
		return s.finish()
	case len(s.data) == 0:
		return Piece{}, false
	case s.raw:
		return s.cut(len(s.data), false), true
	case s.skip > 0:
		n := int(min(s.skip, int64(len(s.data))))
		s.skip -= int64(n)
		return s.cut(n, false), true
	}
	total, known := s.look(s.data)
	if s.raw {
		return s.cut(len(s.data), false), true
	}
	if known && total > LimitBytes+LengthBytes {
		return s.oversize(total), true
	}
	if known && len(s.data) >= int(total) {
		return s.cut(int(total), true), true
	}
	s.keep(total)
	return Piece{}, false
}

// cut takes n bytes off the front of data.
func (s *Splitter) cut(n int, frame bool) Piece {
	piece := Piece{Bytes: s.data[:n], Frame: frame, Follows: !s.fresh}
	s.data, s.fresh = s.data[n:], false
	return piece
}

func (s *Splitter) oversize(total int64) Piece {
	n := int(min(total, int64(len(s.data))))
	s.skip = total - int64(n)
	piece := s.cut(n, false)
	piece.Oversize = true
	return piece
}

// keep moves all of data into head, with room for the whole frame if it is known.
func (s *Splitter) keep(total int64) {
	room := int(min(max(total, int64(len(s.data))), growBytes))
	s.head = append(make([]byte, 0, max(room, len(s.data))), s.data...)
	s.data = nil
}

// finish completes the frame in head from data.
func (s *Splitter) finish() (Piece, bool) {
	for len(s.head) <= LengthBytes && len(s.data) > 0 {
		s.head = append(s.head, s.data[0])
		s.data = s.data[1:]
		if len(s.head) >= LengthBytes {
			if total, _ := s.look(s.head); !s.raw && total == LengthBytes {
				break // an empty frame ends with its length
			}
		}
	}
	total, known := s.look(s.head)
	if s.raw {
		return Piece{Bytes: s.Rest()}, true
	}
	if !known {
		return Piece{}, false
	}
	if total > LimitBytes+LengthBytes {
		s.skip = total - int64(len(s.head))
		return Piece{Bytes: s.Rest(), Oversize: true}, true
	}
	n := min(int(total)-len(s.head), len(s.data))
	s.head, s.data, s.fresh = append(s.head, s.data[:n]...), s.data[n:], true
	if len(s.head) < int(total) {
		return Piece{}, false
	}
	return Piece{Bytes: s.Rest(), Frame: true}, true
}

// look reads the size of the frame that begins with data, length included, and detects the protocol
// from the first frame. It is known as soon as the length, and the first byte where that is still
// needed, are there.
func (s *Splitter) look(data []byte) (total int64, known bool) {
	if s.protocol == Unknown && data[0] != 0 {
		s.raw = true // longer than any BookKeeper frame, so nothing of it is kept back
		return 0, false
	}
	if len(data) < LengthBytes {
		return 0, false
	}
	length := binary.BigEndian.Uint32(data)
	if length > 1<<31-1 {
		s.raw = true // a negative length; no peer can follow it
		return 0, false
	}
	if s.protocol == Unknown {
		if length == 0 || length > LimitBytes {
			s.raw = true
			return 0, false
		}
		if len(data) <= LengthBytes {
			return 0, false
		}
		s.sniff(data[LengthBytes])
	}
	return int64(length) + LengthBytes, !s.raw
}

func (s *Splitter) sniff(first byte) {
	switch first {
	case firstOfV3:
		s.protocol = V3
	case firstOfV2:
		s.protocol = V2
	default:
		s.raw = true
	}
}
