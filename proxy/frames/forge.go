package frames

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// protocolVersion3 is VERSION_THREE of the packet header.
const protocolVersion3 = 3

// ErrorAnswer makes the frame of an answer with an error status (in V3's numbers) to the message
// that header describes, be that a request or an answer. False when that message has no answer
// with a status, or its protocol lacks the status.
func ErrorAnswer(header Header, status int32) ([]byte, bool) {
	if header.Kind == Other {
		return nil, false
	}
	switch header.Protocol {
	case V3:
		return framed(answerV3(header, status)), true
	case V2:
		code, known := toV2(status)
		if !known {
			return nil, false
		}
		return framed(answerV2(header, code)), true
	}
	return nil, false
}

func framed(payload []byte) []byte {
	frame := make([]byte, LengthBytes, LengthBytes+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	return append(frame, payload...)
}

func answerV2(header Header, code int32) []byte {
	payload := []byte{firstOfV2, header.Op, 0, 0}
	payload = binary.BigEndian.AppendUint32(payload, uint32(code))
	payload = binary.BigEndian.AppendUint64(payload, uint64(header.Ledger))
	payload = binary.BigEndian.AppendUint64(payload, uint64(header.Entry))
	if header.Batch {
		payload = binary.BigEndian.AppendUint64(payload, uint64(header.Txn))
	}
	return payload
}

func answerV3(header Header, status int32) []byte {
	packet := appendNumber(nil, 1, protocolVersion3)
	packet = appendNumber(packet, fieldOperation, int64(header.Op))
	packet = appendNumber(packet, fieldTxn, header.Txn)

	body := appendNumber(nil, 1, int64(status))
	body = appendNumber(body, 2, header.Ledger)
	if header.Op == v3Read || header.Op == v3Add {
		body = appendNumber(body, 3, header.Entry)
	}

	payload := appendBytes(nil, fieldHeader, packet)
	payload = appendNumber(payload, fieldStatus, int64(status))
	return appendBytes(payload, answerField(header.Op), body)
}

// answerField is the field of a Response that holds the answer to an operation.
func answerField(op uint8) protowire.Number {
	switch op {
	case v3Read:
		return fieldRead
	case v3Add:
		return fieldAdd
	case v3WriteLAC:
		return fieldWriteLAC
	case v3ReadLAC:
		return fieldReadLAC
	}
	return fieldForce
}

func appendNumber(data []byte, id protowire.Number, number int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, id, protowire.VarintType), uint64(number))
}

func appendBytes(data []byte, id protowire.Number, bytes []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(data, id, protowire.BytesType), bytes)
}
