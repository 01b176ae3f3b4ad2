package bookkeeper_test

import (
	"bytes"
	"math/bits"
	"runtime"
	"testing"
	"time"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/frames"
	. "fencepost/proxy/frames/samples"
)

const add7 = `"ledger": 5, "entries": [7, 7], "kinds": ["add"]`

func acted(n int64) func(bookkeeper.Counters) bool {
	return func(c bookkeeper.Counters) bool { return len(c.Rules) > 0 && c.Rules[0].Acted == n }
}

func TestALostFenceNeverArrivesAndTheRestDoes(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "lost", "way": "requests", "kinds": ["fencing_lac_read", "recovery_read"], "ledger": 5, "action": "drop"}`)
	client, bookie := r.connect()
	other := ReadV3(3, 6, -1, Fence)
	client.send(ReadV3(1, 5, -1, Fence), AddV3(2, 5, 7, 6, 0, 100), other, ReadV3(4, 5, 0, Fence))
	bookie.gets(AddV3(2, 5, 7, 6, 0, 100), other)
	found := r.until("two dropped", acted(2))
	if found.Requests != 4 || found.Rules[0].Matched != 2 {
		t.Fatalf("%+v", found)
	}
	client.Close()
	if rest := bookie.rest(); len(rest) != 0 {
		t.Fatalf("more came: %x", rest)
	}
}

func TestAHeldFrameIsOvertakenUntilItIsReleased(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "h", "way": "requests", ` + add7 + `, "action": "hold"}`)
	client, bookie := r.connect()
	held, next := AddV2(5, 7, 6, 0, 100), AddV2(5, 8, 6, 0, 100)
	client.send(held, next)
	bookie.gets(next)
	found := r.until("held", func(c bookkeeper.Counters) bool { return c.HeldNow == 1 })
	if found.Rules[0].HeldNow != 1 {
		t.Fatalf("%+v", found)
	}
	var answer struct{ Released int }
	r.call("POST", "release", `{"rule": "h"}`, &answer)
	bookie.gets(held)
	if found := r.counters(); answer.Released != 1 || found.HeldNow != 0 || found.Rules[0].HeldNow != 0 {
		t.Fatalf("released %d, %+v", answer.Released, found)
	}
	client.send(held) // the rule is still in force; taking it away releases too
	r.until("held again", func(c bookkeeper.Counters) bool { return c.HeldNow == 1 })
	r.call("DELETE", "rules", "", &answer)
	bookie.gets(held)
}

func TestADelayedAnswerIsOvertaken(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "slow", "way": "answers", "kinds": ["add"], "entries": [7, 7], "action": "delay", "delay_ms": 150}`)
	client, bookie := r.connect()
	client.send(AddV3(1, 5, 7, 6, 0, 10), AddV3(2, 5, 8, 6, 0, 10))
	bookie.gets(AddV3(1, 5, 7, 6, 0, 10), AddV3(2, 5, 8, 6, 0, 10))
	began := time.Now()
	bookie.send(AddedV3(1, 5, 7, 0), AddedV3(2, 5, 8, 0))
	client.gets(AddedV3(2, 5, 8, 0), AddedV3(1, 5, 7, 0))
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Fatalf("it came after %s", took)
	}
}

func TestALongerDelayIsOvertakenByAShorterOne(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "long", "way": "requests", "entries": [7, 7], "action": "delay", "delay_ms": 300},
	         {"id": "short", "way": "requests", "entries": [8, 8], "action": "delay", "delay_ms": 20}`)
	client, bookie := r.connect()
	long, short := ReadV2(5, 7, 0), ReadV2(5, 8, 0)
	client.send(long, short)
	bookie.gets(short, long)
}

func TestADelayedFrameComesBeforeTheCloseBehindIt(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "late", "way": "requests", ` + add7 + `, "action": "delay", "delay_ms": 100}`)
	client, bookie := r.connect()
	frame := AddV3(1, 5, 7, 6, 0, 10)
	client.send(frame)
	r.until("delayed", acted(1))
	client.Close()
	if rest := bookie.rest(); !bytes.Equal(rest, frame) {
		t.Fatalf("got %x", rest)
	}
}

func TestWhatIsHeldAtACloseIsDiscarded(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "h", "way": "requests", "action": "hold"}`)
	client, bookie := r.connect()
	client.send(ReadV3(1, 5, 0, 0), ReadV3(2, 5, 1, 0))
	r.until("held", func(c bookkeeper.Counters) bool { return c.HeldNow == 2 })
	client.Close()
	if rest := bookie.rest(); len(rest) != 0 {
		t.Fatalf("got %x", rest)
	}
	found := r.until("over", func(c bookkeeper.Counters) bool { return c.OpenConnections == 0 })
	if found.HeldNow != 0 || found.Discarded != 2 || found.Rules[0].HeldNow != 0 {
		t.Fatalf("%+v", found)
	}
}

func TestADuplicatedRequestHasTwoAnswersOfItsKind(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "d", "way": "requests", "kinds": ["recovery_add"], "action": "duplicate"},
	         {"id": "none", "way": "answers", "kinds": ["recovery_add"], "from": 2, "action": "drop"}`)
	client, bookie := r.connect()
	frame, answer, last := AddV3(1, 5, 7, 6, Recovery, 10), AddedV3(1, 5, 7, 0), AnswerV3(OpForce, 2, 5, 0)
	client.send(frame)
	bookie.gets(frame, frame)
	bookie.send(answer, answer, last)
	client.gets(answer, last)
	if found := r.counters(); found.Rules[1].Matched != 2 || found.Rules[1].Acted != 1 || found.Uncorrelated != 1 {
		t.Fatalf("%+v", found)
	}
}

func TestAGarbledAddDiffersByOneBitOfItsEntryAndIsAnsweredAsAny(t *testing.T) {
	for name, one := range map[string]struct{ request, next, answer []byte }{
		"V3":             {AddV3(1, 5, 7, 6, 0, 100), AddV3(2, 5, 8, 6, 0, 100), AddedV3(1, 5, 7, 0)},
		"V3 of recovery": {AddV3(1, 5, 7, 6, Recovery, 100), AddV3(2, 5, 8, 6, Recovery, 100), AddedV3(1, 5, 7, 0)},
		"V2":             {AddV2(5, 7, 6, 0, 100), AddV2(5, 8, 6, 0, 100), AddedV2(5, 7, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rules(`{"id": "g", "way": "requests", "kinds": ["add", "recovery_add"], "ledger": 5, "entries": [7, 7], "action": "garble"}`)
			client, bookie := r.connect()
			client.send(one.request, one.next)
			garbled, made := frames.Garbled(protocolOf(one.request), one.request)
			if !made || bitsThatDiffer(garbled, one.request) != 1 {
				t.Fatalf("%v, %x", made, garbled)
			}
			bookie.gets(garbled, one.next)
			bookie.send(one.answer)
			client.gets(one.answer)
			if found := r.counters(); found.Rules[0].Acted != 1 || found.Uncorrelated != 0 || found.Unforgeable != 0 {
				t.Fatalf("%+v", found)
			}
		})
	}
}

func protocolOf(frame []byte) frames.Protocol {
	if frame[frames.LengthBytes] == 0x0a {
		return frames.V3
	}
	return frames.V2
}

func bitsThatDiffer(one, other []byte) int {
	n := 0
	for i := range one {
		n += bits.OnesCount8(one[i] ^ other[i])
	}
	return n
}

func TestAForgedRequestIsAnsweredAndNeverArrives(t *testing.T) {
	for name, one := range map[string]struct{ request, next, nextAnswer []byte }{
		"V3": {AddV3(1, 5, 7, 6, 0, 10), AddV3(2, 5, 8, 6, 0, 10), AddedV3(2, 5, 8, 0)},
		"V2": {AddV2(5, 7, 6, 0, 10), AddV2(5, 8, 6, 0, 10), AddedV2(5, 8, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rules(`{"id": "f", "way": "requests", ` + add7 + `, "action": "forge", "status": "EFENCED"}`)
			client, bookie := r.connect()
			client.send(one.request, one.next)
			bookie.gets(one.next)
			bookie.send(one.nextAnswer)
			protocol := frames.V3
			if name == "V2" {
				protocol = frames.V2
			}
			got := []frames.Header{}
			for range 2 {
				header, parsed := frames.Parse(frames.Answers, protocol, client.frame()[4:])
				if !parsed {
					t.Fatal("an answer that is none")
				}
				got = append(got, header)
			}
			if got[0].Entry == 8 {
				got[0], got[1] = got[1], got[0]
			}
			if got[0].Status != 504 || got[0].Ledger != 5 || got[0].Entry != 7 || got[1].Status != 0 || got[1].Entry != 8 {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestAFrameThatCannotBeGarbledPassesAndTheRuleDidNotAct(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "g", "way": "requests", "kinds": ["add"], "action": "garble"}`)
	client, bookie := r.connect()
	empty := EmptyAddV3(1, 5, 7)
	client.send(empty)
	bookie.gets(empty)
	found := r.until("passed", func(c bookkeeper.Counters) bool { return c.Unforgeable == 1 })
	if found.Rules[0].Matched != 1 || found.Rules[0].Acted != 0 {
		t.Fatalf("%+v", found)
	}
}

func TestAnAnswerIsForgedByStatusAndKindOfItsRequest(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "f", "way": "answers", "kinds": ["recovery_read"], "statuses": ["EOK"], "action": "forge", "status": "ENOENTRY"}`)
	client, bookie := r.connect()
	client.send(ReadV3(1, 5, 7, 0), ReadV3(2, 5, 7, Fence), ReadV3(3, 5, 8, Fence))
	for range 3 {
		bookie.frame()
	}
	plain, negative := ReadAnswerV3(1, 5, 7, 0, 9), ReadAnswerV3(3, 5, 8, 403, 9)
	bookie.send(plain, ReadAnswerV3(2, 5, 7, 0, 9), negative)
	client.gets(plain)
	forged, _ := frames.Parse(frames.Answers, frames.V3, client.frame()[4:])
	if forged.Status != 403 || forged.Txn != 2 || forged.Entry != 7 {
		t.Fatalf("%+v", forged)
	}
	client.gets(negative)
}

func TestClosePassesWhatCameBeforeAndNothingAfter(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "c", "way": "requests", ` + add7 + `, "action": "close"}`)
	client, bookie := r.connect()
	first := AddV3(1, 5, 6, 5, 0, 10)
	client.send(first, AddV3(2, 5, 7, 6, 0, 10), AddV3(3, 5, 8, 6, 0, 10))
	if rest := bookie.rest(); !bytes.Equal(rest, first) {
		t.Fatalf("the bookie got %x", rest)
	}
	if rest := client.rest(); len(rest) != 0 {
		t.Fatalf("the client got %x", rest)
	}
	r.until("over", func(c bookkeeper.Counters) bool { return c.OpenConnections == 0 })
}

func TestAConnectionThatARuleClosedLeavesNothingRunning(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "c", "way": "requests", ` + add7 + `, "action": "close"}`)
	first, server := r.connect()
	first.exchange(server)
	before := runtime.NumGoroutine()
	client, bookie := r.connect()
	_, _ = client.Write(Join(AddV3(2, 5, 7, 6, 0, 10), AddV3(3, 5, 8, 6, 0, 4_000_000)))
	bookie.rest()
	client.Close()
	settle(t, before)
}

func TestTwoRequestsInFlightMakeAV2AnswerAmbiguous(t *testing.T) {
	r := newRig(t)
	client, bookie := r.connect()
	client.send(ReadV2(5, 7, 0), ReadV2(5, 7, V2Fence), ReadV2(5, 8, 0), BatchV2(5, 7, 1), BatchV2(5, 7, 2))
	for range 5 {
		bookie.frame()
	}
	answers := [][]byte{
		ReadAnswerV2(5, 7, 0), ReadAnswerV2(5, 7, 0), ReadAnswerV2(5, 8, 2), BatchAnswerV2(5, 7, 2, 3),
		BatchErrorV2(5, 7, 1, 2), AddedV2(5, 7, 0),
	}
	bookie.send(answers...)
	client.gets(answers...)
	if found := r.counters(); found.Ambiguous != 2 || found.Uncorrelated != 1 || found.Unparsed != 0 {
		t.Fatalf("%+v", found)
	}
}

func TestOtherToxicsComeAndGoInTheMiddleOfFrames(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "h", "way": "requests", ` + add7 + `, "action": "hold"}`)
	client, bookie := r.connect()
	held, frame := AddV3(1, 5, 7, 6, 0, 10), AddV3(2, 5, 8, 6, 0, 1000)
	client.send(held, frame[:500])
	r.until("held", func(c bookkeeper.Counters) bool { return c.HeldNow == 1 })
	toxics := "/proxies/" + r.name + "/toxics"
	latency := `{"name": "slow", "type": "latency", "stream": "upstream", "attributes": {"latency": 1}}`
	if status := r.call("POST", toxics, latency, nil); status != 200 {
		t.Fatal(status)
	}
	client.send(frame[500:])
	bookie.gets(frame)
	client.send(frame[:3])
	if status := r.call("DELETE", toxics+"/slow", "", nil); status != 204 {
		t.Fatal(status)
	}
	client.send(frame[3:])
	bookie.gets(frame)
	r.call("POST", "release", `{}`, nil)
	bookie.gets(held)
}

func TestARemovedToxicPassesOnWhatItKept(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "h", "way": "requests", ` + add7 + `, "action": "hold"}`)
	client, bookie := r.connect()
	held, frame := AddV3(1, 5, 7, 6, 0, 10), AddV3(2, 5, 8, 6, 0, 1000)
	client.send(held, frame[:500])
	r.until("held", func(c bookkeeper.Counters) bool { return c.HeldNow == 1 && c.Bytes == int64(len(held)+500) })
	if status := r.call("DELETE", "/proxies/"+r.name+"/toxics/bookkeeper-requests", "", nil); status != 204 {
		t.Fatal(status)
	}
	client.send(frame[500:])
	bookie.gets(held, frame)
}
