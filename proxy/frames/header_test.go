package frames_test

import (
	"encoding/binary"
	"testing"

	"fencepost/proxy/frames"
	. "fencepost/proxy/frames/samples"
)

type want struct {
	kind               frames.Kind
	ledger, entry, txn int64
	lac                int64
	status             int32
}

func TestRequestsTellTheirKindAndNumbers(t *testing.T) {
	const none = frames.None
	for name, one := range map[string]struct {
		frame []byte
		want  want
	}{
		"V3 add":               {AddV3(9, 5, 7, 6, 0, 100), want{frames.Add, 5, 7, 9, 6, -1}},
		"V3 recovery add":      {AddV3(9, 5, 7, 6, Recovery, 100), want{frames.RecoveryAdd, 5, 7, 9, 6, -1}},
		"V3 fencing LAC read":  {ReadV3(9, 5, -1, Fence), want{frames.FencingLACRead, 5, -1, 9, none, -1}},
		"V3 recovery read":     {ReadV3(9, 5, 3, Fence), want{frames.RecoveryRead, 5, 3, 9, none, -1}},
		"V3 read":              {ReadV3(9, 5, 3, 0), want{frames.Read, 5, 3, 9, none, -1}},
		"V3 LAC read":          {ReadV3(9, 5, -1, 0), want{frames.LACRead, 5, -1, 9, none, -1}},
		"V3 long poll":         {ReadV3(9, 5, 3, Piggyback), want{frames.LACRead, 5, 3, 9, none, -1}},
		"V3 explicit LAC read": {AskV3(OpReadLAC, 9, 5), want{frames.LACRead, 5, none, 9, none, -1}},
		"V3 write LAC":         {AskV3(OpWriteLAC, 9, 5), want{frames.WriteLAC, 5, none, 9, 77, -1}},
		"V3 force":             {AskV3(OpForce, 9, 5), want{frames.Force, 5, none, 9, none, -1}},
		"V3 bookie info":       {AskV3(OpInfo, 9, 5), want{frames.Other, none, none, 9, none, -1}},
		"V2 add":               {AddV2(5, 7, 6, 0, 100), want{frames.Add, 5, 7, none, 6, -1}},
		"V2 recovery add":      {AddV2(5, 7, 6, V2Recovery|V2High, 100), want{frames.RecoveryAdd, 5, 7, none, 6, -1}},
		"V2 fencing LAC read":  {ReadV2(5, -1, V2Fence), want{frames.FencingLACRead, 5, -1, none, none, -1}},
		"V2 recovery read":     {ReadV2(5, 3, V2Fence|V2High), want{frames.RecoveryRead, 5, 3, none, none, -1}},
		"V2 read":              {ReadV2(5, 3, 0), want{frames.Read, 5, 3, none, none, -1}},
		"V2 LAC read":          {ReadV2(5, -1, 0), want{frames.LACRead, 5, -1, none, none, -1}},
		"V2 batch read":        {BatchV2(5, 3, 42), want{frames.Read, 5, 3, 42, none, -1}},
	} {
		t.Run(name, func(t *testing.T) { compare(t, frames.Requests, one.frame, one.want) })
	}
}

func TestAnswersTellTheirStatusInOneNumbering(t *testing.T) {
	const none = frames.None
	for name, one := range map[string]struct {
		frame []byte
		want  want
	}{
		"V3 added":            {AddedV3(9, 5, 7, 0), want{frames.Add, 5, 7, 9, none, 0}},
		"V3 fenced":           {AddedV3(9, 5, 7, 504), want{frames.Add, 5, 7, 9, none, 504}},
		"V3 read":             {ReadAnswerV3(9, 5, 7, 0, 12), want{frames.Read, 5, 7, 9, 12, 0}},
		"V3 read, older LAC":  {ReadAnswerV3(9, 5, 7, 0, 2), want{frames.Read, 5, 7, 9, 6, 0}},
		"V3 limbo":            {ReadAnswerV3(9, 5, 7, 507, -1), want{frames.Read, 5, 7, 9, none, 507}},
		"V3 force":            {AnswerV3(OpForce, 9, 5, 0), want{frames.Force, 5, none, 9, none, 0}},
		"V2 added":            {AddedV2(5, 7, 0), want{frames.Add, 5, 7, none, none, 0}},
		"V2 no ledger":        {ReadAnswerV2(5, 7, 1), want{frames.Read, 5, 7, none, none, 402}},
		"V2 no entry":         {ReadAnswerV2(5, 7, 2), want{frames.Read, 5, 7, none, none, 403}},
		"V2 bad request":      {ReadAnswerV2(5, 7, 100), want{frames.Read, 5, 7, none, none, 404}},
		"V2 fenced":           {AddedV2(5, 7, 104), want{frames.Add, 5, 7, none, none, 504}},
		"V2 limbo":            {ReadAnswerV2(5, 7, 107), want{frames.Read, 5, 7, none, none, 507}},
		"V2 a code of no one": {AddedV2(5, 7, 33), want{frames.Add, 5, 7, none, none, 100_033}},
		"V2 read":             {ReadAnswerV2(5, 7, 0), want{frames.Read, 5, 7, none, 6, 0}},
		"V2 batch":            {BatchAnswerV2(5, 7, 42, 3), want{frames.Read, 5, 7, 42, none, 0}},
	} {
		t.Run(name, func(t *testing.T) { compare(t, frames.Answers, one.frame, one.want) })
	}
}

func compare(t *testing.T, way frames.Way, frame []byte, w want) {
	t.Helper()
	payload := frame[frames.LengthBytes:]
	protocol := frames.V3
	if payload[0] == 2 {
		protocol = frames.V2
	}
	h, parsed := frames.Parse(way, protocol, payload)
	if got := (want{h.Kind, h.Ledger, h.Entry, h.Txn, h.LAC, h.Status}); !parsed || got != w {
		t.Fatalf("got %+v (parsed %v), want %+v", got, parsed, w)
	}
}

func TestABatchAnswerNamesItsEntries(t *testing.T) {
	found, whole := frames.BatchEntries(BatchAnswerV2(5, 7, 42, 3)[4:], nil)
	if !whole || len(found) != 3 || found[2] != (frames.Entry{Ledger: 5, Entry: 9, LAC: 8, SizeBytes: 46}) {
		t.Fatalf("got %+v, whole %v", found, whole)
	}
	cut := BatchAnswerV2(5, 7, 42, 3)
	if found, whole := frames.BatchEntries(cut[4:len(cut)-1], nil); whole || len(found) != 2 {
		t.Fatalf("a cut batch: %+v, whole %v", found, whole)
	}
}

func TestDamagedMessagesAreNoMessages(t *testing.T) {
	add := AddV3(9, 5, 7, 6, 0, 100)[4:]
	for name, payload := range map[string][]byte{
		"nothing": nil, "cut": add[:len(add)-1], "no header": {0x0A, 0x00}, "V2 in V3": AddV2(5, 7, 6, 0, 9)[4:],
	} {
		if header, parsed := frames.Parse(frames.Requests, frames.V3, payload); parsed || header.Kind != frames.Other {
			t.Errorf("%s: %+v", name, header)
		}
	}
	for name, payload := range map[string][]byte{
		"cut add": AddV2(5, 7, 6, 0, 0)[4:43], "cut read": ReadV2(5, 7, 0)[4:23], "three bytes": {2, 1, 0},
	} {
		if header, parsed := frames.Parse(frames.Requests, frames.V2, payload); parsed || header.Ledger != frames.None {
			t.Errorf("%s: %+v", name, header)
		}
	}
}

func TestAForgedAnswerIsOneOfItsRequest(t *testing.T) {
	for name, request := range map[string][]byte{
		"V3 add": AddV3(9, 5, 7, 6, 0, 10), "V3 read": ReadV3(9, 5, -1, Fence), "V3 force": AskV3(OpForce, 9, 5),
		"V3 write LAC": AskV3(OpWriteLAC, 9, 5), "V3 LAC": AskV3(OpReadLAC, 9, 5),
		"V2 add": AddV2(5, 7, 6, 0, 10), "V2 read": ReadV2(5, -1, V2Fence), "V2 batch": BatchV2(5, 7, 42),
	} {
		protocol := frames.V3
		if request[4] == 2 {
			protocol = frames.V2
		}
		asked, _ := frames.Parse(frames.Requests, protocol, request[4:])
		forged, made := frames.ErrorAnswer(asked, 504)
		if !made || int(binary.BigEndian.Uint32(forged)) != len(forged)-4 {
			t.Fatalf("%s: %x", name, forged)
		}
		answer, parsed := frames.Parse(frames.Answers, protocol, forged[4:])
		if !parsed || answer.Status != 504 || answer.Op != asked.Op || answer.Txn != asked.Txn ||
			answer.Ledger != asked.Ledger || answer.Entry != asked.Entry {
			t.Errorf("%s: asked %+v, answered %+v", name, asked, answer)
		}
	}
	if _, made := frames.ErrorAnswer(frames.Header{Protocol: frames.V3, Kind: frames.Other}, 504); made {
		t.Error("an answer to an unknown operation")
	}
}
