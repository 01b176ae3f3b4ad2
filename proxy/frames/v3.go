package frames

// V3's operations.
const (
	v3Read     = 1
	v3Add      = 2
	v3WriteLAC = 6
	v3ReadLAC  = 7
	v3Force    = 10
)

// Fields of V3's messages. The fields of all answers begin with status, ledger, entry.
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

func parseV3(way Way, payload []byte, header *Header) bool {
	var found walked
	if !found.walk(payload) {
		return false
	}
	op := found.packet[fieldOperation]
	if op <= 0 || op > 255 || !found.hasTxn {
		return false // both are required by the protocol
	}
	header.Op, header.Txn = uint8(op), found.packet[fieldTxn]
	header.Kind = opKind(header.Op)
	if way == Answers {
		header.Status = int32(found.status)
	}
	switch {
	case header.Kind == Other:
	case way == Answers:
		fillV3Answer(&found, header)
	default:
		fillV3Request(&found, header)
	}
	return true
}

func fillV3Request(found *walked, header *Header) {
	header.Ledger = found.body[fieldLedger]
	switch found.at {
	case fieldRead, fieldAdd:
		header.Entry = found.body[2]
	case fieldWriteLAC:
		header.LAC = found.body[2]
	}
	if found.at == fieldAdd {
		header.LAC = found.lac
	}
	switch {
	case header.Op == v3Read && found.flag == v3Piggyback:
		header.Kind = LACRead // a long poll for the next LAC, which brings the entry along
	case header.Op == v3Read:
		header.Kind = readKind(found.flag == v3Fence, header.Entry)
	case header.Op == v3Add && found.flag == v3RecoveryAdd:
		header.Kind = RecoveryAdd
	}
}

// fillV3Answer reads an answer's own status, which says more than the outer one, and its numbers.
func fillV3Answer(found *walked, header *Header) {
	if status := found.body[1]; status != None {
		header.Status = int32(status)
	}
	header.Ledger = found.body[2]
	if found.at == fieldRead || found.at == fieldAdd {
		header.Entry = found.body[3]
	}
	if found.at == fieldRead {
		header.LAC = found.lac
	}
	header.LAC = max(header.LAC, found.body[fieldMaxLAC])
	if header.Kind == Read && header.Entry == None {
		header.Kind = LACRead
	}
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
