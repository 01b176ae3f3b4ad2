package frames_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fencepost/proxy/frames"
	"fencepost/proxy/frames/samples"
)

// What the clients in testdata did: the writer added entries 0 to 2 with three in flight, asked for
// the LAC, forced, wrote the LAC, and added entry 3 after the recoverer had fenced the ledger; the
// recoverer opened without and then with recovery and read all.
var (
	added     = "add:0 add:0=0 add:1 add:1=0 add:2 add:2=0 add:3 add:3=504"
	askedLAC  = "lac_read:-1 lac_read:-1=0"
	recovered = "add:0=0 add:1=0 add:2=0 fencing_lac_read:-1 " +
		"lac_read:-1 lac_read:-1 lac_read:-1=0 lac_read:-1=0 lac_read:-1=0 " +
		"read:0 read:0 read:0=0 read:0=0 read:0=0 read:1 read:1 read:1=0 read:1=0 read:1=0 read:2 read:2=0 read:2=0 " +
		"read:3=403 recovery_add:0 recovery_add:1 recovery_add:2 " +
		"recovery_read:0 recovery_read:1 recovery_read:2 recovery_read:3"
)

func TestFramesOfRealClientsAreUnderstood(t *testing.T) {
	forced, wrote := "force:-1 force:-1=0", "write_lac:-1 write_lac:-1=0"
	stories := map[string]string{
		"v3-writer-1": added + " " + forced + " " + askedLAC + " " + wrote, "v3-recoverer-1": recovered,
		"v2-writer-1": added + " " + askedLAC, "v2-writer-2": wrote, "v2-recoverer-1": recovered,
	}
	paths, err := filepath.Glob("../testdata/*.hex")
	if err != nil || len(paths) != 3*len(stories) {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	for _, path := range paths {
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".hex"), "-")
		t.Run(filepath.Base(path), func(t *testing.T) {
			protocol := frames.V3
			if name == "v2-writer-1" || name == "v2-recoverer-1" {
				protocol = frames.V2 // the second connection of a V2 client speaks V3
			}
			if told := story(t, path, protocol); told != stories[name] {
				t.Fatalf("\n%s\nnot\n%s", told, stories[name])
			}
		})
	}
}

// story is what a capture says, sorted, for the order of what is in flight together is chance.
func story(t *testing.T, path string, protocol frames.Protocol) string {
	chunks, err := samples.Captured(path)
	if err != nil {
		t.Fatal(err)
	}
	var splitters [2]frames.Splitter
	var told []string
	for _, chunk := range chunks {
		s := &splitters[chunk.Way]
		s.Feed(chunk.Data)
		for piece, ok := s.Next(); ok; piece, ok = s.Next() {
			header, parsed := frames.Parse(chunk.Way, s.Protocol(), piece.Payload())
			if !piece.Frame || !parsed || s.Protocol() != protocol {
				t.Fatalf("unreadable in protocol %d: %x", s.Protocol(), piece.Bytes)
			}
			one := fmt.Sprintf("%s:%d", header.Kind, header.Entry)
			if chunk.Way == frames.Answers {
				one += fmt.Sprintf("=%d", header.Status)
			}
			told = append(told, one)
		}
	}
	slices.Sort(told)
	return strings.Join(told, " ")
}
