// Package samples builds frames for tests, as BookKeeper's clients and bookies do.
package samples

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// V3's operations and flags, and V2's.
const (
	OpRead, OpAdd, OpWriteLAC, OpReadLAC, OpInfo, OpForce = 1, 2, 6, 7, 8, 10

	Fence, Piggyback, Recovery = 1, 2, 1

	V2Fence, V2Recovery, V2High = 1, 2, 4
)

var masterKey = []byte("twenty bytes of key.")

// Frame puts the length before a payload.
func Frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// Join is all frames one behind the other.
func Join(list ...[]byte) []byte {
	var all []byte
	for _, one := range list {
		all = append(all, one...)
	}
	return all
}

// Entry is an entry as a bookie keeps it, with a payload of size bytes.
func Entry(ledger, entry, lac int64, size int) []byte {
	var data []byte
	for _, number := range []int64{ledger, entry, lac, (entry + 1) * int64(size)} {
		data = binary.BigEndian.AppendUint64(data, uint64(number))
	}
	data = append(data, "crc!"...)
	return append(data, make([]byte, size)...)
}

func number(data []byte, id protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(data, id, protowire.VarintType), uint64(value))
}

func bytes(data []byte, id protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(data, id, protowire.BytesType), value)
}

func v3(op int64, txn uint64, status int64, id protowire.Number, body []byte) []byte {
	header := number(number(number(nil, 1, 3), 2, op), 3, int64(txn))
	message := bytes(nil, 1, header)
	if status >= 0 {
		message = number(message, 2, status)
	}
	if body != nil {
		message = bytes(message, id, body)
	}
	return Frame(message)
}

// AddV3 is a V3 add; flag Recovery makes it recovery's.
func AddV3(txn uint64, ledger, entry, lac int64, flag int64, size int) []byte {
	body := number(number(nil, 1, ledger), 2, entry)
	body = bytes(bytes(body, 3, masterKey), 4, Entry(ledger, entry, lac, size))
	if flag != 0 {
		body = number(body, 100, flag)
	}
	return v3(OpAdd, txn, -1, 101, body)
}

// EmptyAddV3 is a V3 add without an entry.
func EmptyAddV3(txn uint64, ledger, entry int64) []byte {
	body := bytes(number(number(nil, 1, ledger), 2, entry), 3, masterKey)
	return v3(OpAdd, txn, -1, 101, body)
}

// ReadV3 is a V3 read; entry -1 asks for the LAC.
func ReadV3(txn uint64, ledger, entry int64, flag int64) []byte {
	body := number(number(nil, 1, ledger), 2, entry)
	if flag != 0 {
		body = number(body, 100, flag)
	}
	return v3(OpRead, txn, -1, 100, body)
}

// AskV3 is a V3 request of another operation about a ledger.
func AskV3(op int64, txn uint64, ledger int64) []byte {
	fields := map[int64]protowire.Number{OpWriteLAC: 103, OpReadLAC: 104, OpInfo: 105, OpForce: 107}
	body := number(nil, 1, ledger)
	if op == OpWriteLAC {
		body = number(body, 2, 77)
	}
	return v3(op, txn, -1, fields[op], body)
}

// AddedV3 answers an add.
func AddedV3(txn uint64, ledger, entry, status int64) []byte {
	return v3(OpAdd, txn, status, 101, number(number(number(nil, 1, status), 2, ledger), 3, entry))
}

// ReadAnswerV3 answers a read, with an entry where the status is 0.
func ReadAnswerV3(txn uint64, ledger, entry, status, maxLAC int64) []byte {
	body := number(number(number(nil, 1, status), 2, ledger), 3, entry)
	if status == 0 {
		body = bytes(body, 4, Entry(ledger, entry, entry-1, 10))
	}
	return v3(OpRead, txn, status, 100, number(body, 5, maxLAC))
}

// AnswerV3 answers another operation.
func AnswerV3(op int64, txn uint64, ledger, status int64) []byte {
	fields := map[int64]protowire.Number{OpWriteLAC: 103, OpReadLAC: 104, OpInfo: 105, OpForce: 107}
	return v3(op, txn, status, fields[op], number(number(nil, 1, status), 2, ledger))
}

func v2(op byte, flags uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{2, op}, flags)
}

func ids(data []byte, numbers ...int64) []byte {
	for _, one := range numbers {
		data = binary.BigEndian.AppendUint64(data, uint64(one))
	}
	return data
}

// AddV2 is a V2 add.
func AddV2(ledger, entry, lac int64, flags uint16, size int) []byte {
	return Frame(append(append(v2(1, flags), masterKey...), Entry(ledger, entry, lac, size)...))
}

// ReadV2 is a V2 read.
func ReadV2(ledger, entry int64, flags uint16) []byte {
	data := ids(v2(2, flags), ledger, entry)
	if flags&V2Fence != 0 {
		data = append(data, masterKey...)
	}
	return Frame(data)
}

// BatchV2 is a V2 batch read.
func BatchV2(ledger, entry, request int64) []byte {
	data := ids(v2(7, 0), ledger, entry, request)
	return Frame(ids(binary.BigEndian.AppendUint32(data, 10), 1<<20))
}

func answerV2(op byte, ledger, entry int64, code uint32) []byte {
	return ids(binary.BigEndian.AppendUint32(v2(op, 0), code), ledger, entry)
}

// AddedV2 answers an add with one of V2's codes.
func AddedV2(ledger, entry int64, code uint32) []byte { return Frame(answerV2(1, ledger, entry, code)) }

// ReadAnswerV2 answers a read, with an entry where the code is 0.
func ReadAnswerV2(ledger, entry int64, code uint32) []byte {
	data := answerV2(2, ledger, entry, code)
	if code == 0 {
		data = append(data, Entry(ledger, entry, entry-1, 10)...)
	}
	return Frame(data)
}

// BatchAnswerV2 answers a batch read with count entries from entry on.
func BatchAnswerV2(ledger, entry, request int64, count int) []byte {
	data := ids(answerV2(7, ledger, entry, 0), request)
	for i := range int64(count) {
		one := Entry(ledger, entry+i, entry+i-1, 10)
		data = append(binary.BigEndian.AppendUint32(data, uint32(len(one))), one...)
	}
	return Frame(data)
}

// BatchErrorV2 answers a batch read with an error.
func BatchErrorV2(ledger, entry, request int64, code uint32) []byte {
	return Frame(ids(answerV2(7, ledger, entry, code), request))
}
