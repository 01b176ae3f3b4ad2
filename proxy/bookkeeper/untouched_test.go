package bookkeeper_test

import (
	"bytes"
	"io"
	"math/rand"
	"strings"
	"testing"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/frames"
	. "fencepost/proxy/frames/samples"
)

// dropAll would swallow any frame that is recognised.
const dropAll = `{"id": "all", "way": "requests", "action": "drop"}`

func TestAnUnknownProtocolPassesAtOnceAndIsCounted(t *testing.T) {
	r := newRig(t)
	r.rules(dropAll)
	client, bookie := r.connect()
	hello := []byte("\x00\x00\x00\x2d\x00\x00\x00\x00")
	client.send(hello)
	got := make([]byte, len(hello))
	if _, err := bookie.Read(got); err != nil || !bytes.Equal(got, hello) {
		t.Fatalf("got %x, %v", got, err)
	}
	if found := r.counters(); found.RawStreams != 1 || found.Requests != 0 || found.Bytes != int64(len(hello)) {
		t.Fatalf("%+v", found)
	}
}

func TestHalfAFrameAtTheCloseIsPassedOn(t *testing.T) {
	for name, list := range map[string]string{"with a rule": dropAll, "without": ""} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rules(list)
			client, bookie := r.connect()
			half := AddV3(1, 5, 7, 6, 0, 1000)[:700]
			client.send(half)
			client.Close()
			if rest := bookie.rest(); !bytes.Equal(rest, half) {
				t.Fatalf("%d bytes came", len(rest))
			}
			if found := r.counters(); found.HalfFrames != 1 || found.Requests != 0 {
				t.Fatalf("%+v", found)
			}
		})
	}
}

func TestAFrameThatBeganBeforeThereWasARuleIsPassedOn(t *testing.T) {
	for name, first := range map[string]int{"in its length": 2, "in its head": 9, "in its body": 3000} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client, bookie := r.connect()
			frame, next := AddV3(1, 5, 7, 6, 0, 5000), AddV3(2, 5, 8, 7, 0, 10)
			begun := func(n int) {
				got := make([]byte, n)
				if _, err := io.ReadFull(bookie, got); err != nil || !bytes.Equal(got, frame[:n]) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				frame = frame[n:]
			}
			client.send(frame[:first])
			begun(first) // without a rule nothing is kept back
			r.rules(dropAll)
			client.send(frame[:1000])
			begun(1000)
			client.send(frame, next)
			begun(len(frame))
			found := r.until("dropped", acted(1))
			if found.Rules[0].Matched != 1 || found.Requests != 2 {
				t.Fatalf("%+v", found)
			}
		})
	}
}

func TestATooLongFramePassesAndTheRulesHoldBehindIt(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "r", "way": "requests", "kinds": ["read"], "action": "drop"}`)
	client, bookie := r.connect()
	long := AddV2(5, 7, 6, 0, frames.LimitBytes+1)
	add := AddV2(5, 8, 6, 0, 10)
	go func() { _, _ = client.Write(Join(add, long, ReadV2(5, 7, 0), add)) }()
	bookie.gets(add, long, add)
	if found := r.counters(); found.Oversize != 1 || found.Requests != 3 || found.Rules[0].Acted != 1 {
		t.Fatalf("%+v", found)
	}
}

func TestUnreadableFramesPassAndAreCounted(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "a", "way": "requests", "kinds": ["add"], "action": "drop"}`)
	client, bookie := r.connect()
	for _, frame := range [][]byte{
		AddV3(1, 5, 7, 6, 0, 10), Frame([]byte{0x0A, 0xFF}), Frame(nil), AddV2(5, 7, 6, 0, 10), ReadV3(2, 5, 7, 0),
	} {
		client.send(frame)
	}
	bookie.gets(Frame([]byte{0x0A, 0xFF}), Frame(nil), AddV2(5, 7, 6, 0, 10), ReadV3(2, 5, 7, 0))
	if found := r.counters(); found.Unparsed != 3 || found.Requests != 5 {
		t.Fatalf("%+v", found)
	}
}

// TestBytesPassUnchangedHoweverTheyAreCut sends a long mixed stream in random cuts, with rules that
// never act.
func TestBytesPassUnchangedHoweverTheyAreCut(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	r := newRig(t)
	r.rules(`{"id": "n", "way": "requests", "from": 1000000, "action": "drop"},
	         {"id": "p", "way": "answers", "probability": 0, "action": "close"}`)
	client, bookie := r.connect()
	var sent, answered []byte
	for i := range int64(2000) {
		sent = append(sent, AddV3(uint64(i), 5, i, i-1, 0, random.Intn(3000))...)
		answered = append(answered, AddedV3(uint64(i), 5, i, 0)...)
	}
	scatter := func(to *peer, data []byte) {
		for len(data) > 0 {
			n := min(1+random.Intn(4000), len(data))
			to.send(data[:n])
			data = data[n:]
		}
		to.Close()
	}
	got := make(chan []byte)
	go func() { got <- bookie.rest() }()
	scatter(client, sent)
	if !bytes.Equal(<-got, sent) {
		t.Fatal("the requests were changed")
	}
	found := r.counters()
	if found.Requests != 2000 || found.Rules[0].Matched != 2000 || found.Rules[0].Acted != 0 {
		t.Fatalf("%+v", found)
	}
}

func TestFramesOfAnySizePassUnchanged(t *testing.T) {
	for name, list := range map[string]string{
		"without rules": "", "with a rule": `{"id": "r", "way": "requests", "kinds": ["read"], "action": "drop"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rules(list)
			client, bookie := r.connect()
			var sent []byte
			for i := range int64(300) {
				sent = append(sent, AddV3(uint64(i), 5, i, i-1, 0, 30_000+int(i)*307)...)
			}
			go func() {
				_, _ = client.Write(sent)
				client.Close()
			}()
			if got := bookie.rest(); !bytes.Equal(got, sent) {
				t.Fatalf("%d bytes became %d", len(sent), len(got))
			}
		})
	}
}

// TestNothingComesBetweenTheHalvesOfAFrame sends the bookie's answers in halves, without rules for them,
// when other answers become due: a forged answer, and a delayed answer.
func TestNothingComesBetweenTheHalvesOfAFrame(t *testing.T) {
	answers := [][]byte{ReadAnswerV3(1, 5, 1, 0, 9), ReadAnswerV3(2, 5, 2, 0, 9), ReadAnswerV3(3, 5, 3, 0, 9)}
	half := len(answers[0]) / 2
	for name, rule := range map[string]string{
		"forged":  `{"id": "f", "way": "requests", "kinds": ["force"], "action": "forge", "status": "EIO"}`,
		"delayed": `{"id": "d", "way": "answers", "kinds": ["force"], "action": "delay", "delay_ms": 50}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client, bookie := r.connect()
			if name == "delayed" {
				r.rules(rule)
				client.send(AskV3(OpForce, 9, 5))
				bookie.frame()
				bookie.send(AnswerV3(OpForce, 9, 5, 0))
				r.until("delayed", acted(1))
				r.rules("")
			}
			bookie.send(answers[0][:half])
			began := make([]byte, half)
			if _, err := io.ReadFull(client, began); err != nil {
				t.Fatal(err)
			}
			if name == "forged" {
				r.rules(rule)
				client.send(AskV3(OpForce, 9, 5))
				r.until("forged", acted(1))
				r.rules("")
			}
			client.quiet()
			bookie.send(answers[0][half:], answers[1], answers[2][:half])
			rest := make([]byte, len(answers[0])-half)
			if _, err := io.ReadFull(client, rest); err != nil || !bytes.Equal(rest, answers[0][half:]) {
				t.Fatalf("%x came, %v", rest, err)
			}
			if other, _ := frames.Parse(frames.Answers, frames.V3, client.frame()[4:]); other.Kind != frames.Force {
				t.Fatalf("%+v", other)
			}
			bookie.send(answers[2][half:])
			client.gets(answers[1:]...)
		})
	}
}

func TestAToxicWithoutALinkIsRefused(t *testing.T) {
	r := newRig(t)
	for attributes, reason := range map[string]string{
		`{"way": "requests"}`: "link of the toxic bookkeeper is empty", `{"link": "x", "way": "up"}`: `\"up\"`,
	} {
		body := `{"type": "bookkeeper", "name": "more", "attributes": ` + attributes + `}`
		var answer struct{ Error string }
		status := r.call("POST", "/proxies/"+r.name+"/toxics", body, &answer)
		if status != 400 || !strings.Contains(answer.Error, strings.ReplaceAll(reason, `\`, "")) {
			t.Errorf("%s: %d %q", attributes, status, answer.Error)
		}
	}
	if found := r.counters(); found.Connections != 0 {
		t.Fatal(found)
	}
	_ = bookkeeper.Type
}
