package frames

import "encoding/binary"

// V2's operations.
const (
	v2Add       = 1
	v2Read      = 2
	v2BatchRead = 7
)

// V2's flags.
const (
	v2Fencing     = 1
	v2RecoveryAdd = 2
)

// Offsets and sizes of V2's fixed layout.
const (
	v2HeaderBytes    = 4
	v2KeyBytes       = 20
	v2IDsBytes       = 16
	v2AnswerBytes    = 24
	v2BatchIDBytes   = 8
	v2BatchSizeBytes = 4
	lacOffset        = 16 // in an entry: ledger, entry, LAC, length, digest, payload
	lacEndOffset     = 24
)

func parseV2(way Way, payload []byte, header *Header) bool {
	if len(payload) < v2HeaderBytes {
		return false
	}
	header.Op = payload[1]
	if way == Answers {
		return parseV2Answer(payload, header)
	}
	flags := binary.BigEndian.Uint16(payload[2:])
	switch header.Op {
	case v2Add:
		entry := payload[v2HeaderBytes:]
		if len(entry) < v2KeyBytes+v2IDsBytes {
			return false
		}
		entry = entry[v2KeyBytes:]
		header.Kind = Add
		if flags&v2RecoveryAdd != 0 {
			header.Kind = RecoveryAdd
		}
		header.Ledger, header.Entry = ids(entry)
		header.LAC = lacOf(entry)
	case v2Read, v2BatchRead:
		asked := payload[v2HeaderBytes:]
		if len(asked) < v2IDsBytes {
			return false
		}
		header.Ledger, header.Entry = ids(asked)
		header.Kind = readKind(flags&v2Fencing != 0, header.Entry)
		if header.Op == v2BatchRead {
			return batchID(asked[v2IDsBytes:], header)
		}
	default:
		header.Kind = Other
	}
	return true
}

func parseV2Answer(payload []byte, header *Header) bool {
	switch header.Op {
	case v2Add:
		header.Kind = Add
	case v2Read, v2BatchRead:
		header.Kind = Read
	default:
		return true
	}
	if len(payload) < v2AnswerBytes {
		return false
	}
	header.Status = fromV2(int32(binary.BigEndian.Uint32(payload[v2HeaderBytes:])))
	header.Ledger, header.Entry = ids(payload[8:])
	if header.Kind == Read && header.Entry == None {
		header.Kind = LACRead
	}
	switch header.Op {
	case v2Read:
		header.LAC = lacOf(payload[v2AnswerBytes:])
	case v2BatchRead:
		return batchID(payload[v2AnswerBytes:], header)
	}
	return true
}

func batchID(data []byte, header *Header) bool {
	if len(data) < v2BatchIDBytes {
		return false
	}
	header.Batch = true
	header.Txn = int64(binary.BigEndian.Uint64(data))
	return true
}

// Entry is one entry in the answer to a batch read.
type Entry struct {
	Ledger, Entry, LAC int64
	SizeBytes          int
}

// BatchEntries appends the entries of a V2 batch answer to into, in their order. False means that
// the sizes in it do not fit; what was found before is returned all the same.
func BatchEntries(payload []byte, into []Entry) ([]Entry, bool) {
	if len(payload) < v2AnswerBytes+v2BatchIDBytes {
		return into, false
	}
	data := payload[v2AnswerBytes+v2BatchIDBytes:]
	for len(data) > 0 {
		if len(data) < v2BatchSizeBytes {
			return into, false
		}
		size := uint64(binary.BigEndian.Uint32(data))
		data = data[v2BatchSizeBytes:]
		if size > uint64(len(data)) || size < v2IDsBytes {
			return into, false
		}
		ledger, entry := ids(data)
		into = append(into, Entry{ledger, entry, lacOf(data[:size]), int(size)})
		data = data[size:]
	}
	return into, true
}

// ids reads a ledger and an entry; data must hold v2IDsBytes.
func ids(data []byte) (ledger, entry int64) {
	return int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint64(data[8:]))
}

// lacOf reads the LAC out of an entry's own header; None when the entry is too short for one.
func lacOf(entry []byte) int64 {
	if len(entry) < lacEndOffset {
		return None
	}
	return int64(binary.BigEndian.Uint64(entry[lacOffset:]))
}
