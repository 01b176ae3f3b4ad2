package bookkeeper

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"fencepost/proxy/frames"
	"fencepost/proxy/frames/samples"
	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// idle are rules that never act: a count that is never reached, and probability 0.
var idle = []rules.Spec{
	{ID: "late", Way: "requests", From: 1 << 40, Action: rules.Drop},
	{ID: "never", Way: "answers", Probability: new(float64), Action: rules.Close},
}

// busy act on what they can, in every way that needs no time.
var busy = []rules.Spec{
	{ID: "f", Way: "requests", Kinds: []string{"add", "fencing_lac_read"}, To: 1, Action: rules.Forge, Status: "EIO"},
	{ID: "h", Way: "requests", Kinds: []string{"read"}, Action: rules.Hold},
	{ID: "u", Way: "requests", Kinds: []string{"recovery_add"}, Action: rules.Duplicate},
	{ID: "d", Way: "requests", Kinds: []string{"force"}, Action: rules.Drop},
	{ID: "a", Way: "answers", Kinds: []string{"add", "read"}, Action: rules.Forge, Status: "EFENCED"},
	{ID: "c", Way: "answers", Kinds: []string{"lac_read"}, Action: rules.Close},
}

// through feeds data to a stream in chunks of n bytes and returns what goes out, at the end too.
func through(f *flow, data []byte, n int) (out []byte) {
	for len(data) > 0 && !f.ended {
		n = min(max(n, 1), len(data))
		f.take(bytes.Clone(data[:n]))
		data = data[n:]
	}
	if !f.ended {
		f.inputEnded()
	}
	for len(f.out) > 0 {
		out = append(out, f.out[0].front()...)
		f.sent()
	}
	return out
}

func FuzzFlow(f *testing.F) {
	f.Add(
		samples.Join(samples.AddV3(1, 5, 0, -1, 0, 30), samples.ReadV3(2, 5, -1, samples.Fence)),
		samples.Join(samples.AddedV3(1, 5, 0, 0), samples.ReadAnswerV3(2, 5, -1, 0, 3)), uint16(7),
	)
	f.Add(
		samples.Join(samples.AddV2(5, 0, -1, samples.V2Recovery, 30), samples.BatchV2(5, 0, 1), samples.ReadV2(5, 1, 0)),
		samples.Join(samples.AddedV2(5, 0, 104), samples.BatchAnswerV2(5, 0, 1, 3)), uint16(50),
	)
	f.Fuzz(func(t *testing.T, requests, answers []byte, n uint16) {
		for _, list := range [][]rules.Spec{nil, idle, busy} {
			registry := &Registry{}
			link := registry.Link("x")
			if _, err := link.SetRules(list); err != nil {
				t.Fatal(err)
			}
			asks, replies := link.stream(int(frames.Requests)), link.stream(int(frames.Answers))
			asked := through(asks, requests, int(n))
			replied := through(replies, answers, int(n))
			if len(list) != len(busy) && (!bytes.Equal(asked, requests) || !bytes.Equal(replied, answers)) {
				t.Fatal("bytes were changed where no rule acted")
			}
			found := link.Counters()
			if found.HeldNow != 0 || found.DelayedNow != 0 || found.OpenConnections != 0 {
				t.Fatalf("left behind: %+v", found)
			}
		}
	})
}

func TestStreamsArePairedInTheOrderOfTheirBeginning(t *testing.T) {
	link := (&Registry{}).Link("x")
	var ways [2][]*flow
	for range 3 {
		ways[0] = append(ways[0], link.stream(0))
		ways[1] = append(ways[1], link.stream(1))
	}
	for i := range ways[0] {
		if ways[0][i].connection != ways[1][i].connection || ways[0][i].connection.number != uint32(i+1) {
			t.Fatalf("connection %d", i)
		}
	}
	ways[0][1].inputEnded()
	if link.Counters().OpenConnections != 3 {
		t.Fatal("one stream ended, not both")
	}
	ways[1][1].inputEnded()
	if link.Counters().OpenConnections != 2 || link.Counters().Connections != 3 {
		t.Fatalf("%+v", link.Counters())
	}
}

func TestAConnectionRemembersABoundedNumberOfRequests(t *testing.T) {
	link := (&Registry{}).Link("x")
	asks := link.stream(0)
	chunk := []byte{}
	for txn := range uint64(mostInFlight + 5) {
		chunk = append(chunk, samples.ReadV3(txn, 5, 0, 0)...)
	}
	asks.take(chunk)
	if found := link.Counters(); found.Untracked != 5 || found.Requests != mostInFlight+5 {
		t.Fatalf("%+v", found)
	}
	if len(asks.out) != 1 || len(asks.out[0].data) != len(chunk) {
		t.Fatal("frames that pass go out as they came")
	}
}

func TestARuleThatWentWhileAFrameWasDecidedHoldsNothing(t *testing.T) {
	link := (&Registry{}).Link("x")
	asks := link.stream(0)
	if _, err := link.SetRules(busy); err != nil {
		t.Fatal(err)
	}
	hold := link.Rules()[1]
	if _, err := link.SetRules(nil); err != nil {
		t.Fatal(err)
	}
	asks.hold(parcel{data: []byte{1}}, hold) // nothing would release it
	if asks.collect(); len(asks.out) != 1 || link.Counters().HeldNow != 0 {
		t.Fatalf("%d go out, %+v", len(asks.out), link.Counters())
	}
}

// TestAFrameIsStampedBeforeItIsHandedOn has no receiver for the frame: its record must still show that
// forwarding began, because the process may be killed right after that.
func TestAFrameIsStampedBeforeItIsHandedOn(t *testing.T) {
	registry, folder := &Registry{}, filepath.Join(t.TempDir(), "frames")
	link := registry.Link("x")
	if err := registry.Log.Open(folder, 1); err != nil {
		t.Fatal(err)
	}
	defer registry.Log.Close()
	input := make(chan *stream.StreamChunk, 1)
	stub := toxics.NewToxicStub(input, make(chan *stream.StreamChunk))
	go link.stream(0).pipe(stub)
	defer func() { stub.Interrupt <- struct{}{} }()
	input <- &stream.StreamChunk{Data: samples.ReadV3(1, 5, 0, 0)}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(folder, "frames-000001.wire"))
		if err != nil {
			t.Fatal(err)
		}
		record := data[wirelog.HeaderBytes:]
		received, forwarded := binary.LittleEndian.Uint64(record[8:]), binary.LittleEndian.Uint64(record[104:])
		if forwarded > 0 && forwarded >= received {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("received at %d, forwarded at %d", received, forwarded)
		}
	}
}

// TestNothingOvertakesWhatIsReleased takes a rule that holds all away, and puts it back, as often as it
// can while frames keep coming, cut anywhere.
func TestNothingOvertakesWhatIsReleased(t *testing.T) {
	const total = 20_000
	link := (&Registry{}).Link("x")
	input, output := make(chan *stream.StreamChunk), make(chan *stream.StreamChunk)
	go link.stream(0).pipe(toxics.NewToxicStub(input, output))
	go func() {
		random := rand.New(rand.NewSource(1))
		var data []byte
		for entry := int64(0); entry < total || len(data) > 0; entry++ {
			if entry < total {
				data = append(data, samples.ReadV3(uint64(entry), 5, entry, 0)...)
			}
			n := min(1+random.Intn(80), len(data))
			input <- &stream.StreamChunk{Data: bytes.Clone(data[:n])}
			data = data[n:]
		}
	}()
	stop := make(chan struct{})
	var toggled sync.WaitGroup
	toggled.Add(1)
	go func() {
		defer toggled.Done()
		for {
			for _, list := range [][]rules.Spec{{{ID: "h", Way: "requests", Action: rules.Hold}}, nil} {
				if _, err := link.SetRules(list); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	var splitter frames.Splitter
	for want := int64(0); want < total; {
		splitter.Feed((<-output).Data)
		for piece, more := splitter.Next(); more; piece, more = splitter.Next() {
			if header, _ := frames.Parse(frames.Requests, frames.V3, piece.Payload()); header.Entry != want {
				t.Fatalf("entry %d came instead of %d", header.Entry, want)
			}
			want++
		}
	}
	close(stop)
	toggled.Wait()
	if found := link.Counters(); found.HeldNow != 0 {
		t.Fatalf("%+v", found)
	}
}
