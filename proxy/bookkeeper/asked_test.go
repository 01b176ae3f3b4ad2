package bookkeeper_test

import (
	"testing"

	"fencepost/proxy/bookkeeper"
	. "fencepost/proxy/frames/samples"
	"fencepost/proxy/wirelog"
)

// Offsets in a record.
const (
	receivedAt, askedAt, forwardedAt = 8, 88, 104
)

func TestAnAnswersRequestWasAskedWhenItCameOrWhenItWasLetGo(t *testing.T) {
	for name, rule := range map[string]string{
		"passed": `"action": "duplicate"`, "held": `"action": "hold"`, "delayed": `"action": "delay", "delay_ms": 30`,
	} {
		t.Run(name, func(t *testing.T) {
			records := loggedRecords(t)
			r := newRig(t)
			r.rules(`{"id": "r", "way": "requests", ` + rule + `}`)
			client, bookie := r.connect()
			add := AddV3(1, 5, 7, 6, 0, 10)
			client.send(add)
			r.until("acted", acted(1))
			released := wirelog.Now()
			if name == "held" {
				r.call("DELETE", "rules", "", nil)
			}
			bookie.gets(add)
			arrived := wirelog.Now()
			bookie.send(AddedV3(1, 5, 7, 0))
			client.frame()
			request, answer := records()[0], records()[1]
			received, asked, forwarded := number(request, receivedAt), number(answer, askedAt), number(request, forwardedAt)
			earliest := map[string]int64{"passed": received, "held": released, "delayed": received + 30_000_000}[name]
			if asked < earliest || asked > forwarded || forwarded > arrived || name == "passed" && asked != received {
				t.Fatalf("received %d, let go %d, asked %d, forwarded %d, arrived %d", received, earliest, asked, forwarded, arrived)
			}
		})
	}
}

func TestAHeldRequestHasNoAnswerBeforeItIsLetGo(t *testing.T) {
	lines := logged(t)
	r := newRig(t)
	r.rules(`{"id": "h", "way": "requests", "to": 1, "action": "hold"}`)
	client, bookie := r.connect()
	read, answer := ReadV2(5, 7, 0), ReadAnswerV2(5, 7, 0)
	client.send(read)
	r.until("held", acted(1))
	bookie.send(answer)
	client.gets(answer)
	client.send(read)
	bookie.gets(read)
	bookie.send(answer) // the second request's without any doubt
	client.gets(answer)
	r.call("DELETE", "rules", "", nil)
	bookie.gets(read)
	bookie.send(answer)
	client.gets(answer)
	passed := "0 v2 k5 5:7 -1>-1"
	expect(t, lines, passed+" held", "1 v2 k5 5:7 0>0 uncorrelated", passed, "1 v2 k5 5:7 0>0", "1 v2 k5 5:7 0>0")
}

func TestAForgedAnswersRequestWasAskedWhenItCame(t *testing.T) {
	records := loggedRecords(t)
	r := newRig(t)
	r.rules(`{"id": "f", "way": "requests", "kinds": ["read"], "action": "forge", "status": "EIO"}`)
	client, _ := r.connect()
	client.send(ReadV3(1, 5, 7, 0))
	client.frame()
	if made := records(); number(made[1], askedAt) != number(made[0], receivedAt) {
		t.Fatalf("asked %d, received %d", number(made[1], askedAt), number(made[0], receivedAt))
	}
}

func TestAnAmbiguousAnswerWasAskedWithTheOldestThatItFits(t *testing.T) {
	records := loggedRecords(t)
	r := newRig(t)
	client, bookie := r.connect()
	for range 2 {
		client.send(ReadV2(5, 7, 0))
		bookie.frame()
	}
	bookie.send(ReadAnswerV2(5, 7, 0))
	client.frame()
	bookie.send(ReadAnswerV2(5, 7, 0))
	client.frame()
	if found := r.until("two", func(c bookkeeper.Counters) bool { return c.Answers == 2 }); found.Ambiguous != 2 {
		t.Fatalf("%+v", found)
	}
	made := records()
	for i := range 2 {
		if number(made[2+i], askedAt) != number(made[i], receivedAt) {
			t.Errorf("answer %d: asked %d, received %d", i, number(made[2+i], askedAt), number(made[i], receivedAt))
		}
	}
}
