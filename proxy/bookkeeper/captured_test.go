package bookkeeper_test

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fencepost/proxy/frames"
	"fencepost/proxy/frames/samples"
)

func TestConnectionsOfRealClientsPassUnchangedAndEveryAnswerFindsItsRequest(t *testing.T) {
	paths, err := filepath.Glob("../testdata/*.hex")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			lines := logged(t)
			r := newRig(t)
			client, bookie := r.connect()
			chunks, err := samples.Captured(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, chunk := range chunks {
				from, to := client, bookie
				if chunk.Way == frames.Answers {
					from, to = bookie, client
				}
				from.send(chunk.Data)
				got := make([]byte, len(chunk.Data))
				if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, chunk.Data) {
					t.Fatalf("%x became %x: %v", chunk.Data, got, err)
				}
			}
			found := r.counters()
			if found.Unparsed+found.Uncorrelated+found.Ambiguous+found.RawStreams != 0 || found.Requests != found.Answers {
				t.Fatalf("%+v", found)
			}
			told := lines()
			if int64(len(told)) != found.Requests+found.Answers {
				t.Fatalf("%d records of %+v", len(told), found)
			}
			if strings.Contains(path, "recoverer") {
				for _, want := range []string{"1 v%s k3 0:-1 0>0 fencing recovery", "1 v%s k4 0:3 403>403 fencing recovery"} {
					version := map[bool]string{true: "2", false: "3"}[strings.Contains(path, "-v2-")]
					if want = strings.Replace(want, "%s", version, 1); !slices.Contains(trimmed(told), want) {
						t.Errorf("no record %q in\n%s", want, strings.Join(told, "\n"))
					}
				}
			}
		})
	}
}

// trimmed is without the mark of what has no time of forwarding yet.
func trimmed(lines []string) []string {
	short := slices.Clone(lines)
	for i := range short {
		short[i] = strings.TrimSuffix(short[i], " -")
	}
	return short
}
