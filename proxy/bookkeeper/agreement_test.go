package bookkeeper

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"fencepost/proxy/frames"
	"fencepost/proxy/frames/samples"
	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// acting are rules of every action; each takes some of the frames.
var acting = func() (list []rules.Spec) {
	some := 0.3
	for _, action := range []rules.Action{rules.Drop, rules.Hold, rules.Delay, rules.Duplicate, rules.Forge, rules.Garble} {
		spec := rules.Spec{ID: string(action), Way: "requests", Action: action, Probability: &some}
		switch action {
		case rules.Delay:
			spec.DelayMS = 1
		case rules.Forge:
			spec.Status, spec.Kinds = "EIO", []string{"add"}
		case rules.Garble:
			spec.Kinds = []string{"add"}
		}
		list = append(list, spec)
	}
	return append(list, rules.Spec{ID: "close", Way: "requests", Action: rules.Close, From: 150, To: 150})
}()

// TestTheLogAgreesWithWhatWasDelivered cuts a stream anywhere while rules come and go, and compares what
// was delivered with the log: a frame is recorded once, and forwarded_ns says whether it was passed on.
func TestTheLogAgreesWithWhatWasDelivered(t *testing.T) {
	for seed := range int64(30) {
		random := rand.New(rand.NewSource(seed))
		registry, folder := &Registry{}, filepath.Join(t.TempDir(), "frames")
		link := registry.Link("x")
		if err := registry.Log.Open(folder, 1); err != nil {
			t.Fatal(err)
		}
		asks, replies := link.stream(0), link.stream(1)
		var data, asked, replied []byte
		for txn := range uint64(30) {
			data = append(data, samples.AddV3(txn, 5, int64(txn), -1, 0, random.Intn(60))...)
		}
		drain := func(f *flow, into *[]byte) {
			for f.collect(); len(f.out) > 0; f.sent() {
				f.stamp(&f.out[0])
				*into = append(*into, f.out[0].front()...)
			}
		}
		for len(data) > 0 && !asks.ended {
			switch random.Intn(5) {
			case 0:
				var list []rules.Spec
				for _, spec := range acting {
					if random.Intn(3) == 0 {
						list = append(list, spec)
					}
				}
				if _, err := link.SetRules(list); err != nil {
					t.Fatal(err)
				}
			case 1:
				link.Release("")
			case 2:
				drain(asks, &asked)
				drain(replies, &replied)
			default:
				n := min(1+random.Intn(300), len(data))
				asks.take(bytes.Clone(data[:n]))
				data = data[n:]
			}
		}
		if !asks.ended {
			if random.Intn(2) == 0 {
				if _, err := link.SetRules(nil); err != nil {
					t.Fatal(err)
				}
			}
			asks.inputEnded()
		}
		for len(asks.delayed) > 0 || len(asks.out) > 0 {
			drain(asks, &asked)
		}
		drain(replies, &replied)
		compare(t, seed, folder, frames.Requests, asked)
		compare(t, seed, folder, frames.Answers, replied)
		_ = registry.Log.Close()
	}
}

func compare(t *testing.T, seed int64, folder string, way frames.Way, delivered []byte) {
	t.Helper()
	got := map[int64]int{}
	var splitter frames.Splitter
	splitter.Feed(delivered)
	for piece, more := splitter.Next(); more; piece, more = splitter.Next() {
		header, ok := frames.Parse(way, frames.V3, piece.Payload())
		if !ok {
			t.Fatalf("seed %d: rubbish was delivered", seed)
		}
		got[header.Txn]++
	}
	content, err := os.ReadFile(filepath.Join(folder, "frames-000001.wire"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for content = content[wirelog.HeaderBytes:]; binary.LittleEndian.Uint64(content) != 0; content = content[wirelog.RecordBytes:] {
		if frames.Way(content[78]) != way {
			continue
		}
		txn, flags := int64(binary.LittleEndian.Uint64(content[32:])), binary.LittleEndian.Uint32(content[68:])
		want := 0
		if binary.LittleEndian.Uint64(content[104:]) != 0 {
			want = 1
		}
		if flags&wirelog.Duplicated != 0 {
			want = 2
		}
		if seen[txn] || got[txn] != want {
			t.Fatalf("seed %d, %v: txn %d came %d times, its record says %d (flags %x)", seed, way, txn, got[txn], want, flags)
		}
		seen[txn] = true
	}
	for txn := range got {
		if !seen[txn] {
			t.Fatalf("seed %d: txn %d came and is not recorded", seed, txn)
		}
	}
}
