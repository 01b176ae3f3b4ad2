package wirelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const segmentBytes = HeaderBytes + RecordsPerSegment*RecordBytes

// zeroBytes is how much is written at once when a segment is filled with zeros.
const zeroBytes = 1 << 20

// segment is one mapped file. It is filled with zeros before it is mapped: a full disk is then an
// error here and never a signal at a store.
type segment struct {
	path     string
	firstSeq uint64
	memory   []byte // nil once unmapped
}

func segmentPath(folder string, number uint32) string {
	return filepath.Join(folder, fmt.Sprintf("frames-%06d.wire", number))
}

// unfinished ends the name of a segment that is still being filled.
const unfinished = ".new"

func newSegment(folder string, runID uint64, number uint32) (*segment, error) {
	s := &segment{path: segmentPath(folder, number), firstSeq: uint64(number-1)*RecordsPerSegment + 1}
	file, err := os.OpenFile(s.path+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := fill(file, encodeHeader(runID, s.firstSeq, number)); err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	flags := unix.MAP_SHARED | unix.MAP_POPULATE
	s.memory, err = unix.Mmap(int(file.Fd()), 0, segmentBytes, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map %s: %w", s.path, err), os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), s.path); err != nil {
		s.unmap()
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	return s, nil
}

func fill(file *os.File, header []byte) error {
	zeros := make([]byte, zeroBytes)
	for left := segmentBytes; left > 0; left -= min(left, zeroBytes) {
		if _, err := file.Write(zeros[:min(left, zeroBytes)]); err != nil {
			return err
		}
	}
	_, err := file.WriteAt(header, 0)
	return err
}

func (s *segment) offset(seq uint64) int {
	return HeaderBytes + int(seq-s.firstSeq)*RecordBytes
}

func (s *segment) holds(seq uint64) bool {
	return seq >= s.firstSeq && seq < s.firstSeq+RecordsPerSegment
}

func (s *segment) put(seq uint64, record *Record, more uint32) {
	at := s.offset(seq)
	record.encode(s.memory[at:at+RecordBytes], seq, more)
}

// stamp fills forwarded_ns in; through the file where the segment is no longer mapped.
func (s *segment) stamp(seq uint64, at int64) error {
	offset := s.offset(seq) + forwardedOffset
	if s.memory != nil {
		binary.LittleEndian.PutUint64(s.memory[offset:], uint64(at))
		return nil
	}
	file, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(at)), int64(offset))
	return err
}

func (s *segment) unmap() {
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
		s.memory = nil
	}
}
