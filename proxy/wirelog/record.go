// Package wirelog writes one record for each frame that the proxy sees, so that a run can be judged
// by what each server received and answered. A killed proxy loses no record.
//
// # Files
//
// A log is a folder: segments frames-000001.wire, frames-000002.wire, ... and links.jsonl, one line
// {"link": number, "name": "writer-b1"} for each link. All numbers of a segment are little-endian.
//
// A segment is a header of 128 bytes and then 131072 records of 112 bytes:
//
//	  0  magic "FPWIRE1\n"
//	  8  u32 version = 2
//	 12  u32 size of a record = 112
//	 16  u64 run id
//	 24  u64 seq of the segment's first record
//	 32  u32 number of the segment, from 1
//	 36  u32 records in a segment = 131072
//	 40  84 zero bytes
//	124  u32 CRC32 (IEEE) of bytes 0..123
//
// The records of a log are numbered from 1 without a gap; a segment ends at its size or with a
// record of zeros only (seq 0). A log that was closed cleanly has no zeros at its end; any other log
// has them, and may have a file that ends in .new, which is no segment.
//
//	 0  u64 seq
//	 8  i64 received_ns, CLOCK_MONOTONIC: when the proxy had the whole frame
//	16  i64 ledger, -1 where the message names none
//	24  i64 entry, -1 where none; -1 too for a read of the LAC
//	32  i64 txn: V3's txnId; of a V2 batch read the request id; -1 else
//	40  i64 lac: in a request the LAC that the writer sent along (add, write LAC), in an answer the
//	    larger of maxLAC and the LAC in the entry; -1 where none
//	48  u32 connection, from 1, in the whole process
//	52  u32 size: the frame with its length; in a batch answer the entry alone
//	56  i32 status as received, in V3's numbers (V2 codes without one: 100000 + code); -1 none
//	60  i32 status as delivered, -1 when nothing is to be delivered
//	64  u32 rule that acted, 0 none
//	68  u32 flags
//	72  u16 link
//	74  u16 place in the batch answer, from 0
//	76  u16 entries in the batch answer, 0 when it is none
//	78  u8 direction: 0 request, 1 answer
//	79  u8 protocol: 2, 3
//	80  u8 kind: 0 other, 1 add, 2 recovery add, 3 fencing LAC read, 4 recovery read, 5 read,
//	    6 LAC read, 7 write LAC, 8 force
//	81  u8 operation's number in the protocol
//	82  u16 zero
//	84  u32 zero
//	88  i64 asked_ns: of an answer, a time before which its request was not passed on to the server;
//	    0 of a request, and of an answer to no request that was seen
//	96  u32 CRC32 (IEEE) of bytes 0..95
//	100 u32 zero
//	104 i64 forwarded_ns, 0 = never: may be filled in later, outside of the CRC
//
// asked_ns is the request's received_ns, or the time at which the request was let go when it had been
// held or delayed. An ambiguous answer has that of the oldest request that it fits, which bounds the
// others'.
//
// forwarded_ns is read before the frame is handed on to the link's other toxics, if it has some, and
// then to the socket, or what was still missing of it: no receiver had the whole frame before, so a request's
// is never behind its answer's received_ns, and 0 proves that no receiver got the frame. It does not prove
// arrival: the process may be killed, the receiver may have closed, and a toxic of toxiproxy behind
// this one may delay or swallow the frame. A duplicated frame has one record, with the time of its
// first delivery. A forged answer has a separate record with status -1 as received when its request
// was swallowed.
package wirelog

import (
	"encoding/binary"
	"hash/crc32"
)

// Flags of a record.
const (
	Fencing   uint32 = 1 << iota // its request fences
	Recovery                     // its request is sent by recovery only
	Ambiguous                    // an answer of V2 that fits more than one request in flight
	Forged                       // an answer made by a rule, or the request or answer that it replaces
	Held                         // was held by a rule
	Duplicated
	Dropped      // swallowed by a rule, or behind a frame that closed the connection
	Delayed      // was delayed by a rule
	Uncorrelated // an answer to no request that was seen; kind and entry are the answer's own word
	Unparsed     // a frame whose header could not be read
	Batch        // of a V2 batch read
	Gap          // frames before this one could not be recorded
	Garbled      // a bit of its entry was turned over
)

// Record is one frame, as it is logged; see the package's layout. Seq and flag Gap are the log's.
type Record struct {
	Received, Asked         int64
	Forwarded               int64 // 0 where it is not known yet; see Stamp
	Ledger, Entry, Txn, LAC int64
	Connection, Size        uint32
	StatusReceived          int32
	StatusDelivered         int32
	Rule, Flags             uint32
	Link                    uint16
	BatchPlace, BatchSize   uint16
	Way, Protocol, Kind, Op uint8
}

// Sizes of the format.
const (
	RecordBytes       = 112
	HeaderBytes       = 128
	RecordsPerSegment = 131_072
	askedOffset       = 88
	crcOffset         = 96
	forwardedOffset   = 104
	headerCRCOffset   = 124
	version           = 2
	magic             = "FPWIRE1\n"
)

func (r *Record) encode(to *[RecordBytes]byte, seq uint64, more uint32) {
	binary.LittleEndian.PutUint64(to[0:], seq)
	binary.LittleEndian.PutUint64(to[8:], uint64(r.Received))
	binary.LittleEndian.PutUint64(to[16:], uint64(r.Ledger))
	binary.LittleEndian.PutUint64(to[24:], uint64(r.Entry))
	binary.LittleEndian.PutUint64(to[32:], uint64(r.Txn))
	binary.LittleEndian.PutUint64(to[40:], uint64(r.LAC))
	binary.LittleEndian.PutUint32(to[48:], r.Connection)
	binary.LittleEndian.PutUint32(to[52:], r.Size)
	binary.LittleEndian.PutUint32(to[56:], uint32(r.StatusReceived))
	binary.LittleEndian.PutUint32(to[60:], uint32(r.StatusDelivered))
	binary.LittleEndian.PutUint32(to[64:], r.Rule)
	binary.LittleEndian.PutUint32(to[68:], r.Flags|more)
	binary.LittleEndian.PutUint32(to[72:], uint32(r.Link)|uint32(r.BatchPlace)<<16)
	binary.LittleEndian.PutUint32(to[76:], uint32(r.BatchSize)|uint32(r.Way)<<16|uint32(r.Protocol)<<24)
	binary.LittleEndian.PutUint64(to[80:], uint64(r.Kind)|uint64(r.Op)<<8)
	binary.LittleEndian.PutUint64(to[askedOffset:], uint64(r.Asked))
	binary.LittleEndian.PutUint64(to[crcOffset:], uint64(crc32.ChecksumIEEE(to[:crcOffset])))
	binary.LittleEndian.PutUint64(to[forwardedOffset:], uint64(r.Forwarded))
}

func encodeHeader(runID, firstSeq uint64, number uint32) []byte {
	header := make([]byte, HeaderBytes)
	copy(header, magic)
	binary.LittleEndian.PutUint32(header[8:], version)
	binary.LittleEndian.PutUint32(header[12:], RecordBytes)
	binary.LittleEndian.PutUint64(header[16:], runID)
	binary.LittleEndian.PutUint64(header[24:], firstSeq)
	binary.LittleEndian.PutUint32(header[32:], number)
	binary.LittleEndian.PutUint32(header[36:], RecordsPerSegment)
	binary.LittleEndian.PutUint32(header[headerCRCOffset:], crc32.ChecksumIEEE(header[:headerCRCOffset]))
	return header
}
