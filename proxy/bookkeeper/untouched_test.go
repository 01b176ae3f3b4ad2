package bookkeeper_test

import (
	"bytes"
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
	r := newRig(t)
	r.rules(dropAll)
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
	r := newRig(t)
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
