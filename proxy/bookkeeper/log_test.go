package bookkeeper_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencepost/proxy/bookkeeper"
	. "fencepost/proxy/frames/samples"
	"fencepost/proxy/wirelog"
)

// logged opens the process's log for one test and returns how to read its records, as one line each:
// direction protocol kind ledger:entry received>delivered flags, "-" behind it when never forwarded.
func logged(t *testing.T) (lines func() []string) {
	t.Helper()
	records := loggedRecords(t)
	return func() (lines []string) {
		for _, record := range records() {
			lines = append(lines, line(record))
		}
		return lines
	}
}

// loggedRecords is logged with the records as they lie in the file.
func loggedRecords(t *testing.T) (records func() [][]byte) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "frames")
	if err := bookkeeper.Process.Log.Open(folder, 7); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bookkeeper.Process.Log.Close() })
	return func() (records [][]byte) {
		data, err := os.ReadFile(filepath.Join(folder, "frames-000001.wire"))
		if err != nil {
			t.Fatal(err)
		}
		for data = data[wirelog.HeaderBytes:]; binary.LittleEndian.Uint64(data) != 0; data = data[wirelog.RecordBytes:] {
			records = append(records, data[:wirelog.RecordBytes])
		}
		return records
	}
}

func line(r []byte) string {
	i64 := func(at int) int64 { return number(r, at) }
	i32 := func(at int) int32 { return int32(binary.LittleEndian.Uint32(r[at:])) }
	names := []string{
		"fencing", "recovery", "ambiguous", "forged", "held", "duplicated", "dropped", "delayed", "uncorrelated",
		"unparsed", "batch", "gap",
	}
	text := fmt.Sprintf("%d v%d k%d %d:%d %d>%d", r[78], r[79], r[80], i64(16), i64(24), i32(56), i32(60))
	for bit, name := range names {
		if i32(68)&(1<<bit) != 0 {
			text += " " + name
		}
	}
	if i64(104) == 0 {
		text += " -"
	} else if i64(104) < i64(8) {
		text += " forwarded before it was received"
	}
	if answer := r[78] == 1; (i64(88) != 0) != (answer && i32(68)&int32(wirelog.Uncorrelated|wirelog.Unparsed) == 0) {
		text += fmt.Sprintf(" asked at %d", i64(88))
	} else if i64(88) > i64(8) {
		text += " answered before it was asked"
	}
	return text
}

func number(record []byte, at int) int64 { return int64(binary.LittleEndian.Uint64(record[at:])) }

// expect waits until the log has these records, because a frame that is not forwarded gives no signal.
func expect(t *testing.T, lines func() []string, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		got := strings.Join(lines(), "\n")
		if got == strings.Join(want, "\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log is\n%s\nnot\n%s", got, strings.Join(want, "\n"))
		}
	}
}

func TestTheLogTellsWhatWasReceivedAndWhatDelivered(t *testing.T) {
	lines := logged(t)
	r := newRig(t)
	r.rules(`{"id": "f", "way": "requests", "kinds": ["fencing_lac_read"], "action": "forge", "status": "EIO"},
	         {"id": "d", "way": "requests", "kinds": ["recovery_read"], "action": "drop"},
	         {"id": "h", "way": "answers", "kinds": ["recovery_add"], "action": "hold"},
	         {"id": "a", "way": "answers", "kinds": ["add"], "action": "forge", "status": "EFENCED"}`)
	client, bookie := r.connect()
	add, recovery := AddV3(3, 5, 7, 6, 0, 10), AddV3(4, 5, 8, 6, Recovery, 10)
	client.send(ReadV3(1, 5, -1, Fence), ReadV3(2, 5, 0, Fence), add, recovery)
	bookie.gets(add, recovery)
	client.frame() // the forged answer
	bookie.send(AddedV3(4, 5, 8, 0), AddedV3(3, 5, 7, 0))
	client.frame()
	want := []string{
		"0 v3 k3 5:-1 -1>-1 fencing recovery forged dropped -",
		"1 v3 k3 5:-1 -1>501 fencing recovery forged",
		"0 v3 k4 5:0 -1>-1 fencing recovery dropped -",
		"0 v3 k1 5:7 -1>-1",
		"0 v3 k2 5:8 -1>-1 recovery",
		"1 v3 k2 5:8 0>0 recovery held -",
		"1 v3 k1 5:7 0>504 forged",
	}
	expect(t, lines, want...)
	r.call("DELETE", "rules", "", nil)
	client.gets(AddedV3(4, 5, 8, 0))
	want[5] = "1 v3 k2 5:8 0>0 recovery held"
	expect(t, lines, want...)
}

func TestABatchAnswerIsARecordForEachEntry(t *testing.T) {
	lines := logged(t)
	r := newRig(t)
	client, bookie := r.connect()
	client.send(BatchV2(5, 7, 42))
	bookie.frame()
	bookie.send(BatchAnswerV2(5, 7, 42, 3), BatchErrorV2(5, 7, 43, 2), ReadAnswerV2(5, -1, 0))
	for range 3 {
		client.frame()
	}
	expect(
		t, lines, "0 v2 k5 5:7 -1>-1 batch", "1 v2 k5 5:7 0>0 batch", "1 v2 k5 5:8 0>0 batch", "1 v2 k5 5:9 0>0 batch",
		"1 v2 k5 5:7 403>403 uncorrelated batch", "1 v2 k6 5:-1 0>0 uncorrelated",
	)
}

func TestWhatAClosingRuleCutsOffIsLoggedAsDropped(t *testing.T) {
	lines := logged(t)
	r := newRig(t)
	r.rules(`{"id": "c", "way": "requests", "kinds": ["force"], "action": "close"}`)
	client, bookie := r.connect()
	client.send(ReadV3(1, 5, 0, 0), AskV3(OpForce, 2, 5), ReadV3(3, 5, 1, 0))
	bookie.rest()
	expect(t, lines, "0 v3 k5 5:0 -1>-1", "0 v3 k8 5:-1 -1>-1 dropped -", "0 v3 k5 5:1 -1>-1 dropped -")
}
