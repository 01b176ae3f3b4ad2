package frames_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"fencepost/proxy/frames"
	. "fencepost/proxy/frames/samples"
)

// split feeds data in chunks of the given sizes, in turn, and returns the pieces and their bytes.
func split(s *frames.Splitter, data []byte, sizes ...int) (pieces []frames.Piece, all []byte) {
	for i := 0; len(data) > 0; i++ {
		n := min(max(sizes[i%len(sizes)], 1), len(data))
		s.Feed(bytes.Clone(data[:n]))
		data = data[n:]
		for piece, ok := s.Next(); ok; piece, ok = s.Next() {
			pieces = append(pieces, piece)
			all = append(all, piece.Bytes...)
		}
	}
	return pieces, append(all, s.Rest()...)
}

func TestFramesAreFoundHoweverTheyAreCut(t *testing.T) {
	sent := [][]byte{AddV3(1, 5, 0, -1, 0, 300), ReadV3(2, 5, -1, Fence), Frame(nil), AddV3(3, 5, 1, 0, 0, 1)}
	stream := Join(sent...)
	for size := 1; size <= len(stream); size++ {
		s := &frames.Splitter{}
		pieces, all := split(s, stream, size)
		if !bytes.Equal(all, stream) || len(pieces) != len(sent) || s.Protocol() != frames.V3 {
			t.Fatalf("chunks of %d: %d pieces", size, len(pieces))
		}
		for i, piece := range pieces {
			if !piece.Frame || !bytes.Equal(piece.Bytes, sent[i]) {
				t.Fatalf("chunks of %d: piece %d is %x", size, i, piece.Bytes)
			}
		}
	}
}

func TestWhatFollowsLiesBehindInMemory(t *testing.T) {
	one, two := AddV2(5, 0, -1, 0, 10), ReadV2(5, 0, 0)
	s := &frames.Splitter{}
	s.Feed(Join(one, two))
	first, _ := s.Next()
	second, _ := s.Next()
	if first.Follows || !second.Follows {
		t.Fatal("the second frame follows, the first does not")
	}
	if joined := first.Bytes[:len(one)+len(two)]; !bytes.Equal(joined[len(one):], two) {
		t.Fatalf("behind the first lies %x", joined[len(one):])
	}
}

func TestAnUnknownProtocolIsPassedOnAtOnce(t *testing.T) {
	for name, text := range map[string]string{
		"text": "r", "http": "GET / HTTP/1.1\r\n", "TLS": "\x16\x03\x01\x02\x00", "ZooKeeper": "\x00\x00\x00\x2d\x00\x00",
		"empty first frame": "\x00\x00\x00\x00", "negative": "\xff\xff\xff\xff\x0a",
		"too long first frame": "\x00\xff\xff\xff\x0a",
	} {
		for _, size := range []int{1, 2, 100} {
			s := &frames.Splitter{}
			pieces, all := split(s, []byte(text), size)
			if string(all) != text || !s.Raw() || len(pieces) == 0 || pieces[len(pieces)-1].Frame {
				t.Errorf("%s in %d: raw %v, %d pieces, %q", name, size, s.Raw(), len(pieces), all)
			}
		}
	}
}

func TestBehindATooLongFrameFramesAreFoundAgain(t *testing.T) {
	long := make([]byte, frames.LimitBytes+1)
	long[0] = 0x0A
	sent := [][]byte{ReadV3(1, 5, 0, 0), Frame(long), ReadV3(2, 5, 1, 0)}
	stream := Join(sent...)
	for _, sizes := range [][]int{{len(stream)}, {32768}, {len(sent[0]) + 3, 1, 1, 1, 100_000}} {
		s := &frames.Splitter{}
		pieces, all := split(s, stream, sizes...)
		whole, over := 0, 0
		for _, piece := range pieces {
			if piece.Frame {
				whole++
			}
			if piece.Oversize {
				over++
			}
		}
		if !bytes.Equal(all, stream) || whole != 2 || over != 1 || s.Raw() {
			t.Errorf("chunks of %v: %d frames, %d too long, raw %v", sizes, whole, over, s.Raw())
		}
	}
}

func TestTheLargestFrameIsAFrame(t *testing.T) {
	payload := make([]byte, frames.LimitBytes)
	payload[0] = 2
	pieces, all := split(&frames.Splitter{}, Frame(payload), 32768)
	if len(pieces) != 1 || !pieces[0].Frame || len(all) != len(payload)+4 {
		t.Fatalf("%d pieces", len(pieces))
	}
}

func TestHalfAFrameIsKeptForItsEnd(t *testing.T) {
	frame := AddV2(5, 0, -1, 0, 1000)
	s := &frames.Splitter{}
	s.Feed(frame[:500])
	if _, ok := s.Next(); ok {
		t.Fatal("half a frame was passed on")
	}
	if !bytes.Equal(s.Rest(), frame[:500]) || len(s.Rest()) != 0 {
		t.Fatal("the rest is not what was fed")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(Join(AddV3(1, 5, 0, -1, 0, 30), ReadV3(2, 5, -1, Fence)), []byte{3, 7})
	f.Add(Join(AddV2(5, 0, -1, 0, 30), BatchV2(5, 0, 1)), []byte{1})
	f.Add([]byte("\x00\x00\x00\x01\x02\x00\x60\x00\x00\x02"), []byte{1, 2})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		sizes := []int{len(data)}
		for _, cut := range cuts {
			sizes = append(sizes, int(cut))
		}
		whole, all := split(&frames.Splitter{}, data, len(data))
		cut, again := split(&frames.Splitter{}, data, sizes[len(sizes)-1], sizes[0]/3)
		if !bytes.Equal(all, data) || !bytes.Equal(again, data) {
			t.Fatal("bytes were changed")
		}
		if a, b := countFrames(t, whole), countFrames(t, cut); a != b {
			t.Fatalf("%d frames in one piece, %d when cut", a, b)
		}
	})
}

func countFrames(t *testing.T, pieces []frames.Piece) int {
	t.Helper()
	n := 0
	for _, piece := range pieces {
		if piece.Frame {
			n++
			if int(binary.BigEndian.Uint32(piece.Bytes))+4 != len(piece.Bytes) {
				t.Fatalf("a frame whose length is wrong: %x", piece.Bytes)
			}
		}
	}
	return n
}

func FuzzV3(f *testing.F) {
	for _, frame := range [][]byte{
		AddV3(1, 5, 0, -1, Recovery, 30), ReadV3(2, 5, -1, Fence), AddedV3(3, 5, 0, 0), ReadAnswerV3(4, 5, 1, 0, 3),
		AskV3(OpForce, 5, 6), AnswerV3(OpReadLAC, 6, 7, 0),
	} {
		f.Add(frame[4:], uint8(0))
		f.Add(frame[4:], uint8(1))
	}
	f.Fuzz(func(t *testing.T, payload []byte, way uint8) { parseAny(t, frames.V3, payload, way) })
}

func FuzzV2(f *testing.F) {
	for _, frame := range [][]byte{
		AddV2(5, 0, -1, V2Recovery, 30), ReadV2(5, -1, V2Fence), BatchV2(5, 0, 1), AddedV2(5, 0, 104),
		ReadAnswerV2(5, 0, 0), BatchAnswerV2(5, 0, 1, 3),
	} {
		f.Add(frame[4:], uint8(0))
		f.Add(frame[4:], uint8(1))
	}
	f.Fuzz(func(t *testing.T, payload []byte, way uint8) { parseAny(t, frames.V2, payload, way) })
}

// parseAny parses anything, and if it is a message, an answer forged to it must be one too.
func parseAny(t *testing.T, protocol frames.Protocol, payload []byte, way uint8) {
	before := bytes.Clone(payload)
	header, parsed := frames.Parse(frames.Way(way%2), protocol, payload)
	_, _ = frames.BatchEntries(payload, nil)
	if !bytes.Equal(before, payload) {
		t.Fatal("the payload was changed")
	}
	if !parsed && (header.Kind != frames.Other || header.Ledger != frames.None) {
		t.Fatalf("no message, but %+v", header)
	}
	forged, made := frames.ErrorAnswer(header, 504)
	if !made {
		return
	}
	answer, parsed := frames.Parse(frames.Answers, protocol, forged[4:])
	if !parsed || answer.Status != 504 || answer.Op != header.Op || answer.Ledger != header.Ledger {
		t.Fatalf("%+v was answered by %+v", header, answer)
	}
}
