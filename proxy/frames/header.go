package frames

// None stands for "no such number": no ledger, entry, transaction or LAC in a header.
const None int64 = -1

// Header is what a message says of itself, in one form for both protocols.
type Header struct {
	Protocol Protocol
	Kind     Kind
	// Op is the operation's number in the protocol.
	Op uint8
	// Batch is true for a V2 batch read.
	Batch bool
	// Ledger and Entry are None where the message names none. The entry of a read of the LAC is -1.
	Ledger, Entry int64
	// Txn is V3's txnId; the request id of a V2 batch read; else None.
	Txn int64
	// LAC is the last add confirmed that travels with an entry or an answer, None where none does.
	LAC int64
	// Status is an answer's, in V3's numbers; NoStatus for a request.
	Status int32
}

// Parse reads the header of one payload. False means that it is no message of that protocol, or
// that a length in it leads beyond its end; the Header then is of kind Other.
func Parse(way Way, protocol Protocol, payload []byte) (Header, bool) {
	var header Header
	parsed := header.Parse(way, protocol, payload)
	return header, parsed
}

// Parse is the function Parse into a Header that is there.
func (h *Header) Parse(way Way, protocol Protocol, payload []byte) bool {
	*h = Header{Protocol: protocol, Ledger: None, Entry: None, Txn: None, LAC: None, Status: NoStatus}
	parsed := false
	switch protocol {
	case V3:
		parsed = len(payload) > 0 && payload[0] == firstOfV3 && parseV3(way, payload, h)
	case V2:
		parsed = len(payload) > 0 && payload[0] == firstOfV2 && parseV2(way, payload, h)
	}
	if !parsed {
		*h = Header{Protocol: protocol, Ledger: None, Entry: None, Txn: None, LAC: None, Status: NoStatus}
	}
	return parsed
}

// readKind is the kind of a read by its flags and its entry, alike in both protocols.
func readKind(fencing bool, entry int64) Kind {
	switch {
	case fencing && entry == None:
		return FencingLACRead
	case fencing:
		return RecoveryRead
	case entry == None:
		return LACRead
	}
	return Read
}
