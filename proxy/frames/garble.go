package frames

// Garbled makes a copy of the frame of an add with one bit turned over in the last byte of its entry,
// as a network card might do behind the client's checksum: the message itself stays what it is. False
// when the frame is no add that can be read, or its entry is empty.
func Garbled(protocol Protocol, frame []byte) ([]byte, bool) {
	if len(frame) < LengthBytes {
		return nil, false
	}
	end, found := entryEnd(protocol, frame[LengthBytes:])
	if !found {
		return nil, false
	}
	garbled := append([]byte(nil), frame...)
	garbled[LengthBytes+end-1] ^= 1
	return garbled, true
}

// entryEnd is where the entry of an add ends in its payload.
func entryEnd(protocol Protocol, payload []byte) (int, bool) {
	header, parsed := Parse(Requests, protocol, payload)
	if !parsed || header.Kind != Add && header.Kind != RecoveryAdd {
		return 0, false
	}
	if protocol == V2 {
		return len(payload), true
	}
	var found walked
	found.walk(payload)
	return found.entry[1], found.entry[0] < found.entry[1]
}
