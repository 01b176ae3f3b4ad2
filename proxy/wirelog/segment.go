package wirelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const segmentBytes = HeaderBytes + RecordsPerSegment*RecordBytes

// segment is one file. It has its full length from the beginning, all holes: what was not written
// reads as zeros.
type segment struct {
	path     string
	firstSeq uint64
	file     *os.File // nil once closed
}

func segmentPath(folder string, number uint32) string {
	return filepath.Join(folder, fmt.Sprintf("frames-%06d.wire", number))
}

// unfinished ends the name of a segment that has no header yet.
const unfinished = ".new"

func newSegment(folder string, runID uint64, number uint32) (*segment, error) {
	s := &segment{path: segmentPath(folder, number), firstSeq: uint64(number-1)*RecordsPerSegment + 1}
	file, err := os.OpenFile(s.path+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(encodeHeader(runID, s.firstSeq, number)); err == nil {
		err = file.Truncate(segmentBytes)
	}
	if err == nil {
		err = os.Rename(file.Name(), s.path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	s.file = file
	return s, nil
}

func (s *segment) offset(seq uint64) int64 {
	return HeaderBytes + int64(seq-s.firstSeq)*RecordBytes
}

// room is how many records from seq on the segment takes.
func (s *segment) room(seq uint64) int {
	return int(s.firstSeq + RecordsPerSegment - seq)
}

// put writes encoded records that begin with seq.
func (s *segment) put(seq uint64, records []byte) error {
	_, err := s.file.WriteAt(records, s.offset(seq))
	return err
}

// stamp fills forwarded_ns in, also where the segment is closed.
func (s *segment) stamp(seq uint64, at int64) error {
	file := s.file
	if file == nil {
		again, err := os.OpenFile(s.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer again.Close()
		file = again
	}
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(at))
	_, err := file.WriteAt(number[:], s.offset(seq)+forwardedOffset)
	return err
}

func (s *segment) close() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}
