package wirelog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// read decodes all records of a log's segments as the format says, and fails on any damage.
func read(t *testing.T, folder string) (seqs []uint64, raw [][]byte) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(folder, "frames-*.wire"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(data[:8]) != magic || crc32.ChecksumIEEE(data[:124]) != binary.LittleEndian.Uint32(data[124:]) {
			t.Fatalf("the header of %s", path)
		}
		next := binary.LittleEndian.Uint64(data[24:])
		for data = data[HeaderBytes:]; len(data) >= RecordBytes; data = data[RecordBytes:] {
			record := data[:RecordBytes]
			seq := binary.LittleEndian.Uint64(record)
			if seq == 0 {
				break
			}
			if seq != next || crc32.ChecksumIEEE(record[:96]) != binary.LittleEndian.Uint32(record[96:]) {
				t.Fatalf("record %d in %s, expected %d", seq, path, next)
			}
			next++
			seqs, raw = append(seqs, seq), append(raw, record)
		}
	}
	return seqs, raw
}

func opened(t *testing.T) (*Log, string) {
	t.Helper()
	log, folder := &Log{}, filepath.Join(t.TempDir(), "frames")
	log.Link("before-b1")
	if err := log.Open(folder, 1<<63+5); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log, folder
}

func some(n int) []Record {
	list := make([]Record, n)
	for i := range list {
		list[i] = Record{Entry: int64(i)}
	}
	return list
}

func TestARecordLiesAsDocumented(t *testing.T) {
	log, folder := opened(t)
	token := log.Append([]Record{{
		Received: 11, Asked: 10, Ledger: -1, Entry: -2, Txn: 13, LAC: 14, Connection: 15, Size: 16, StatusReceived: -1,
		StatusDelivered: 504, Rule: 17, Flags: Forged | Held, Link: 18, BatchPlace: 19, BatchSize: 20, Way: 1,
		Protocol: 3, Kind: 4, Op: 21, Forwarded: 98,
	}})
	if _, raw := read(t, folder); binary.LittleEndian.Uint64(raw[0][104:]) != 98 {
		t.Fatal("forwarded_ns was not written")
	}
	log.Stamp(token, 1, 99)
	_, raw := read(t, folder)
	r := raw[0]
	i64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(r[at:])) }
	i32 := func(at int) int32 { return int32(binary.LittleEndian.Uint32(r[at:])) }
	i16 := func(at int) int { return int(binary.LittleEndian.Uint16(r[at:])) }
	got := []any{
		i64(0), i64(8), i64(16), i64(24), i64(32), i64(40), i32(48), i32(52), i32(56), i32(60), i32(64), i32(68),
		i16(72), i16(74), i16(76), r[78], r[79], r[80], r[81], i16(82), i32(84), i64(88), i32(100), i64(104),
	}
	want := "[1 11 -1 -2 13 14 15 16 -1 504 17 24 18 19 20 1 3 4 21 0 0 10 0 99]"
	if fmt.Sprint(got) != want {
		t.Fatalf("got %v, want %s", got, want)
	}
	if len(r) != 112 {
		t.Fatalf("a record of %d bytes", len(r))
	}
	header, _ := os.ReadFile(segmentPath(folder, 1))
	if header[8] != 2 || header[12] != 112 {
		t.Fatalf("version %d, records of %d bytes", header[8], header[12])
	}
	if binary.LittleEndian.Uint64(header[16:]) != 1<<63+5 || len(header) != segmentBytes {
		t.Fatalf("run id or size %d", len(header))
	}
}

func TestNothingIsMissingOverSegmentsAndLateStampsArrive(t *testing.T) {
	log, folder := opened(t)
	const batch = 1000
	var first Token
	for n := 0; n < 6*RecordsPerSegment; n += batch {
		token := log.Append(some(batch))
		if n == 0 {
			first = token
		}
	}
	open := 0
	for _, segment := range log.segments {
		if segment.file != nil {
			open++
		}
	}
	if open != openSegments || log.segments[0].file != nil {
		t.Fatalf("%d segments are open", open)
	}
	log.Stamp(first, 2, 7) // its segment is open no longer
	last := log.Append(some(1))
	log.Stamp(last, 1, 8)
	counts := log.Counts()
	if counts.Lost != 0 || counts.Error != "" {
		t.Fatalf("%+v", counts)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	seqs, raw := read(t, folder)
	if uint64(len(seqs)) != counts.Records {
		t.Fatalf("%d records of %d", len(seqs), counts.Records)
	}
	for i, want := range map[int]uint64{0: 7, 1: 7, 2: 0, len(raw) - 1: 8} {
		if got := binary.LittleEndian.Uint64(raw[i][104:]); got != want {
			t.Errorf("record %d was forwarded at %d, not %d", i, got, want)
		}
	}
	files, _ := os.ReadDir(folder)
	if len(files) != counts.Segments+1 {
		t.Errorf("%d files, %d segments and links.jsonl", len(files), counts.Segments)
	}
}

func TestALogThatIsNotOpenCountsWhatItMisses(t *testing.T) {
	log := &Log{}
	if token := log.Append(some(3)); token != 0 || log.Counts().Unlogged != 3 {
		t.Fatalf("%+v", log.Counts())
	}
	log.Stamp(5, 1, 1)
	if err := log.Open(t.TempDir(), 1); err != nil {
		t.Fatal(err)
	}
	old := log.Append(some(1))
	if err := log.Open(t.TempDir(), 1); !errors.Is(err, ErrOpen) {
		t.Fatal(err)
	}
	path := log.Counts().Path
	_ = log.Close()
	if err := log.Open(path, 1); !errors.Is(err, ErrNotEmpty) {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := log.Open(again, 1); err != nil {
		t.Fatal(err)
	}
	log.Append(some(1))
	log.Stamp(old, 1, 9)
	if _, raw := read(t, again); binary.LittleEndian.Uint64(raw[0][104:]) != 0 {
		t.Fatal("a stamp of the log before")
	}
	_ = log.Close()
}

func TestWhatCannotBeWrittenIsCountedAndLeavesAMark(t *testing.T) {
	log, folder := opened(t)
	if err := os.Mkdir(segmentPath(folder, 3), 0o755); err != nil { // blocks the third
		t.Fatal(err)
	}
	log.Append(some(2 * RecordsPerSegment))
	if token := log.Append(some(5)); token != 0 {
		t.Fatal("written without a segment")
	}
	counts := log.Counts()
	if counts.Lost != 5 || !strings.Contains(counts.Error, "frames-000003.wire") {
		t.Fatalf("%+v", counts)
	}
	if err := os.Remove(segmentPath(folder, 3)); err != nil {
		t.Fatal(err)
	}
	lost := uint64(5)
	for log.Append(some(1)) == 0 {
		lost++
		time.Sleep(time.Millisecond) // until the next attempt
	}
	if counts := log.Counts(); counts.Lost != lost {
		t.Fatalf("%+v, lost %d", counts, lost)
	}
	_, raw := read(t, folder)
	for i, record := range raw {
		gap := binary.LittleEndian.Uint32(record[68:])&Gap != 0
		if gap != (i == 2*RecordsPerSegment) {
			t.Fatalf("record %d: gap %v", i, gap)
		}
	}
}

func TestAFailedWriteIsALossAndWhatComesLaterIsRecorded(t *testing.T) {
	log, folder := opened(t)
	log.Append(some(3))
	writable := log.segments[0].file
	readable, err := os.Open(segmentPath(folder, 1))
	if err != nil {
		t.Fatal(err)
	}
	log.segments[0].file = readable
	if token := log.Append(some(2)); token != 0 {
		t.Fatal("written through a file that is only readable")
	}
	_ = readable.Close()
	log.segments[0].file = writable
	if token := log.Append(some(2)); token != 4 {
		t.Fatalf("token %d", token)
	}
	if counts := log.Counts(); counts.Lost != 2 || counts.Records != 5 || counts.Error == "" {
		t.Fatalf("%+v", counts)
	}
	_, raw := read(t, folder)
	for i, record := range raw {
		if gap := binary.LittleEndian.Uint32(record[68:])&Gap != 0; gap != (i == 3) {
			t.Fatalf("record %d: gap %v", i, gap)
		}
	}
}

func TestEveryLinkHasALine(t *testing.T) {
	log, folder := opened(t)
	if a, b, again := log.Link("before-b1"), log.Link("after-b2"), log.Link("after-b2"); a != 1 || b != 2 || again != 2 {
		t.Fatal(a, b, again)
	}
	text, _ := os.ReadFile(filepath.Join(folder, "links.jsonl"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var second struct {
		Link int
		Name string
	}
	if len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &second) != nil || second.Link != 2 || second.Name != "after-b2" {
		t.Fatalf("%s", text)
	}
}

func BenchmarkAppend(b *testing.B) {
	log := &Log{}
	if err := log.Open(filepath.Join(b.TempDir(), "frames"), 1); err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	batch := some(30)
	for range b.N {
		log.Append(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/record")
}
