package frames

import "google.golang.org/protobuf/encoding/protowire"

// V3's operations.
const (
	v3Read     = 1
	v3Add      = 2
	v3WriteLAC = 6
	v3ReadLAC  = 7
	v3Force    = 10
)

// Fields of V3's messages.
const (
	fieldHeader    = 1
	fieldStatus    = 2   // of a Response
	fieldRead      = 100 // readRequest, readResponse; the others follow in one order in both
	fieldAdd       = 101
	fieldWriteLAC  = 103
	fieldReadLAC   = 104
	fieldForce     = 107
	fieldList      = 108
	fieldOperation = 2 // of the header
	fieldTxn       = 3
	fieldLedger    = 1 // of a request's body; the same message has entry or LAC as 2
	fieldBody      = 4
	fieldFlag      = 100
	fieldMaxLAC    = 5 // of a read's answer
)

// V3's flags of a read and of an add.
const (
	v3Fence       = 1
	v3Piggyback   = 2
	v3RecoveryAdd = 1
)

// field is one field of a protobuf message: number for a varint, bytes for a length-delimited one.
type field struct {
	id     protowire.Number
	number int64
	bytes  []byte
}

// next takes the first field off data. The rest is nil at a damaged field. Fields of types that
// the protocol does not use come back empty.
func next(data []byte) (field, []byte) {
	tag, n := varint(data)
	if n < 0 {
		return field{}, nil
	}
	data = data[n:]
	id, kind := protowire.DecodeTag(tag)
	if id < protowire.MinValidNumber {
		return field{}, nil
	}
	found := field{id: id}
	switch kind {
	case protowire.VarintType:
		var number uint64
		number, n = varint(data)
		found.number = int64(number)
	case protowire.BytesType:
		var size uint64
		if size, n = varint(data); n >= 0 {
			if data = data[n:]; size > uint64(len(data)) {
				return field{}, nil
			}
			n = int(size)
			found.bytes = data[:n]
		}
	default:
		n = protowire.ConsumeFieldValue(id, kind, data)
	}
	if n < 0 {
		return field{}, nil
	}
	return found, data[n:]
}

// varint is protowire.ConsumeVarint with a short way for numbers of one byte, which most are.
func varint(data []byte) (uint64, int) {
	if len(data) > 0 && data[0] < 0x80 {
		return uint64(data[0]), 1
	}
	return protowire.ConsumeVarint(data)
}

func parseV3(way Way, payload []byte, header *Header) bool {
	var packet, body []byte
	var bodyField protowire.Number
	status := int64(NoStatus)
	for data := payload; len(data) > 0; {
		var found field
		if found, data = next(data); data == nil {
			return false
		}
		switch {
		case found.id == fieldHeader:
			packet = found.bytes
		case found.id == fieldStatus && way == Answers:
			status = found.number
		case found.id >= fieldRead && found.id <= fieldList:
			bodyField, body = found.id, found.bytes
		}
	}
	if !parsePacketHeader(packet, header) {
		return false
	}
	if way == Answers {
		header.Status = int32(status)
		return parseV3Answer(bodyField, body, header)
	}
	return parseV3Request(bodyField, body, header)
}

// parsePacketHeader reads operation and transaction; both are required by the protocol.
func parsePacketHeader(data []byte, header *Header) bool {
	operation, txn := false, false
	for len(data) > 0 {
		var found field
		if found, data = next(data); data == nil {
			return false
		}
		switch found.id {
		case fieldOperation:
			header.Op, operation = uint8(found.number), found.number > 0 && found.number < 256
		case fieldTxn:
			header.Txn, txn = found.number, true
		}
	}
	return operation && txn
}

func parseV3Request(at protowire.Number, data []byte, header *Header) bool {
	header.Kind = opKind(header.Op)
	if header.Kind == Other {
		return true
	}
	flag := int64(0)
	for len(data) > 0 {
		var found field
		if found, data = next(data); data == nil {
			return false
		}
		switch found.id {
		case fieldLedger:
			header.Ledger = found.number
		case 2:
			switch at {
			case fieldRead, fieldAdd:
				header.Entry = found.number
			case fieldWriteLAC:
				header.LAC = found.number
			}
		case fieldBody:
			if at == fieldAdd {
				header.LAC = lacOf(found.bytes)
			}
		case fieldFlag:
			flag = found.number
		}
	}
	switch {
	case header.Op == v3Read && flag == v3Piggyback:
		header.Kind = LACRead // a long poll for the next LAC, which brings the entry along
	case header.Op == v3Read:
		header.Kind = readKind(flag == v3Fence, header.Entry)
	case header.Op == v3Add && flag == v3RecoveryAdd:
		header.Kind = RecoveryAdd
	}
	return true
}

// parseV3Answer reads an answer's own status, which says more than the outer one, and its numbers.
func parseV3Answer(at protowire.Number, data []byte, header *Header) bool {
	header.Kind = opKind(header.Op)
	if header.Kind == Other {
		return true
	}
	maxLAC := None
	for len(data) > 0 {
		var found field
		if found, data = next(data); data == nil {
			return false
		}
		switch found.id {
		case 1:
			header.Status = int32(found.number)
		case 2:
			header.Ledger = found.number
		case 3:
			if at == fieldRead || at == fieldAdd {
				header.Entry = found.number
			}
		case fieldBody:
			if at == fieldRead {
				header.LAC = lacOf(found.bytes)
			}
		case fieldMaxLAC:
			maxLAC = found.number
		}
	}
	if maxLAC > header.LAC {
		header.LAC = maxLAC
	}
	if header.Kind == Read && header.Entry == None {
		header.Kind = LACRead
	}
	return true
}

// opKind is the kind that an operation has when no flag says more.
func opKind(op uint8) Kind {
	switch op {
	case v3Read:
		return Read
	case v3Add:
		return Add
	case v3WriteLAC:
		return WriteLAC
	case v3ReadLAC:
		return LACRead
	case v3Force:
		return Force
	}
	return Other
}
