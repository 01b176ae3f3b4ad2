package wirelog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// mappedSegments is how many segments stay mapped for stamps; older ones are stamped through files.
const mappedSegments = 4

// Limits of waiting for the next segment: nobody can pass on frames meanwhile.
const (
	segmentTimeout = 5 * time.Second
	retryAfter     = 500 * time.Millisecond
)

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
	next     chan made
	closed   chan struct{}
	ended    chan struct{}
}

type made struct {
	segment *segment
	err     error
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
	l.next, l.closed, l.ended = make(chan made), make(chan struct{}), make(chan struct{})
	go prepare(folder, runID, l.next, l.closed, l.ended)
	return nil
}

// prepare makes each segment before it is needed.
func prepare(folder string, runID uint64, next chan<- made, closed <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	for number := uint32(2); ; {
		segment, err := newSegment(folder, runID, number)
		select {
		case <-closed:
		case next <- made{segment, err}:
			if err == nil {
				number++
				continue
			}
			select {
			case <-closed:
			case <-time.After(retryAfter):
				continue
			}
		}
		if segment != nil {
			segment.unmap()
			_ = os.Remove(segment.path)
		}
		return
	}
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
	for i := range records {
		if !l.put(&records[i]) {
			l.counts.Lost += uint64(len(records) - i)
			l.gap = true
			return 0
		}
	}
	return first
}

func (l *Log) put(record *Record) bool {
	seq := l.counts.Records + 1
	last := l.segments[len(l.segments)-1]
	if !last.holds(seq) {
		if last = l.rotate(); last == nil {
			return false
		}
	}
	more := uint32(0)
	if l.gap {
		more, l.gap = Gap, false
	}
	last.put(seq, record, more)
	l.counts.Records = seq
	return true
}

// rotate takes the next segment; nil when there is none. Once one failed nobody waits for the next.
func (l *Log) rotate() *segment {
	var next made
	if l.counts.Lost > 0 {
		select {
		case next = <-l.next:
		default:
			return nil
		}
	} else {
		select {
		case next = <-l.next:
		case <-time.After(segmentTimeout):
			next.err = fmt.Errorf("no segment within %s", segmentTimeout)
		}
	}
	if next.err != nil {
		l.counts.Error = next.err.Error()
		return nil
	}
	l.segments = append(l.segments, next.segment)
	l.counts.Segments = len(l.segments)
	if old := len(l.segments) - 1 - mappedSegments; old >= 0 {
		l.segments[old].unmap()
	}
	return next.segment
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
	close(l.closed)
	<-l.ended
	for _, segment := range l.segments {
		segment.unmap()
	}
	last := l.segments[len(l.segments)-1]
	return os.Truncate(last.path, int64(last.offset(l.counts.Records+1)))
}
