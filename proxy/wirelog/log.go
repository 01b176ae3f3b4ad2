package wirelog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// openSegments is how many segments stay open for stamps; older ones are opened for each.
const openSegments = 4

// retryAfter is the wait before a segment that could not be created is tried again: no frames can be
// forwarded meanwhile.
const retryAfter = 500 * time.Millisecond

// Errors of Open.
var (
	ErrOpen     = errors.New("the log is open already")
	ErrNotEmpty = errors.New("the folder has a log already")
)

// Counts is the state of a log. Lost counts records that could not be written, each run of them
// followed by a record with flag Gap where writing went on; Unlogged counts frames that came while
// no log was open.
type Counts struct {
	Open     bool   `json:"open"`
	Path     string `json:"path"`
	RunID    uint64 `json:"run_id,string"`
	Records  uint64 `json:"records"`
	Segments int    `json:"segments"`
	Lost     uint64 `json:"lost"`
	Unlogged uint64 `json:"unlogged"`
	Error    string `json:"error"`
}

// Log is the wire log of one process. The zero Log is closed and takes no records. Safe for any
// goroutine.
type Log struct {
	mutex    sync.Mutex
	counts   Counts
	gap      bool
	base     uint64   // records of earlier logs of this process; added to a seq it is a Token
	links    []string // by number, from 1
	segments []*segment
	failed   time.Time // when a segment could not be made
	buffer   []byte    // of encoded records
}

// Open begins a log in folder, which is created where it is missing.
func (l *Log) Open(folder string, runID uint64) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.counts.Open {
		return fmt.Errorf("%w, at %s", ErrOpen, l.counts.Path)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(segmentPath(folder, 1)); err == nil {
		return fmt.Errorf("%w: %s", ErrNotEmpty, folder)
	}
	first, err := newSegment(folder, runID, 1)
	if err != nil {
		return err
	}
	l.segments, l.gap = []*segment{first}, false
	l.base += l.counts.Records
	l.counts = Counts{Open: true, Path: folder, RunID: runID, Segments: 1, Unlogged: l.counts.Unlogged}
	for i := range l.links {
		l.note(i)
	}
	return nil
}

// Token stands for a record that was written, for Stamp; 0 for none. The tokens of records that
// were appended together follow each other.
type Token uint64

// Append writes the records and returns the token of the first; 0 when they could not all be
// written, or no log is open.
func (l *Log) Append(records []Record) Token {
	if len(records) == 0 {
		return 0
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.counts.Open {
		l.counts.Unlogged += uint64(len(records))
		return 0
	}
	first := Token(l.base + l.counts.Records + 1)
	for len(records) > 0 {
		n, err := l.put(records)
		if err != nil {
			l.counts.Error = err.Error()
			l.counts.Lost += uint64(len(records))
			l.gap = true
			return 0
		}
		records = records[n:]
	}
	return first
}

// put writes as many records as the segment takes and returns their number.
func (l *Log) put(records []Record) (n int, err error) {
	seq := l.counts.Records + 1
	last := l.segments[len(l.segments)-1]
	if last.room(seq) == 0 {
		if last, err = l.rotate(); err != nil {
			return 0, err
		}
	}
	n = min(len(records), last.room(seq))
	if need := n * RecordBytes; len(l.buffer) < need {
		l.buffer = make([]byte, 2*need)
	}
	more := uint32(0)
	if l.gap {
		more = Gap
	}
	for i := range n {
		records[i].encode((*[RecordBytes]byte)(l.buffer[i*RecordBytes:]), seq+uint64(i), more)
		more = 0
	}
	if err := last.put(seq, l.buffer[:n*RecordBytes]); err != nil {
		return 0, err
	}
	l.counts.Records += uint64(n)
	l.gap = false
	return n, nil
}

// rotate begins the next segment. Where that failed it is tried again after a while only.
func (l *Log) rotate() (*segment, error) {
	if !l.failed.IsZero() && time.Since(l.failed) < retryAfter {
		return nil, errors.New(l.counts.Error)
	}
	next, err := newSegment(l.counts.Path, l.counts.RunID, uint32(len(l.segments)+1))
	if err != nil {
		l.failed = time.Now()
		return nil, err
	}
	l.failed = time.Time{}
	l.segments = append(l.segments, next)
	l.counts.Segments = len(l.segments)
	if old := len(l.segments) - 1 - openSegments; old >= 0 {
		if err := l.segments[old].close(); err != nil {
			l.counts.Error = err.Error()
		}
	}
	return next, nil
}

// Stamp sets forwarded_ns of n records from first on. Tokens of a log that was closed do nothing.
func (l *Log) Stamp(token Token, n int, at int64) {
	if token == 0 || n == 0 {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.counts.Open || uint64(token) <= l.base {
		return
	}
	first := uint64(token) - l.base
	for seq := first; seq < first+uint64(n); seq++ {
		segment := l.segments[(seq-1)/RecordsPerSegment]
		if err := segment.stamp(seq, at); err != nil {
			l.counts.Error = err.Error()
		}
	}
}

// Counts is the state now.
func (l *Log) Counts() Counts {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.counts
}

// Close ends the log in order: the last segment is cut behind its last record.
func (l *Log) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.counts.Open {
		return nil
	}
	l.counts.Open = false
	last := l.segments[len(l.segments)-1]
	err := last.file.Truncate(last.offset(l.counts.Records + 1))
	for _, segment := range l.segments {
		err = errors.Join(err, segment.close())
	}
	return err
}
