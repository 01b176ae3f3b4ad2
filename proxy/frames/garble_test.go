package frames_test

import (
	"bytes"
	"testing"

	"fencepost/proxy/frames"
	. "fencepost/proxy/frames/samples"
)

func TestAGarbledFrameIsReadAsBefore(t *testing.T) {
	for name, frame := range map[string][]byte{"V3": AddV3(1, 5, 7, 6, 0, 1), "V2": AddV2(5, 7, 6, 0, 1)} {
		protocol := frames.V3
		if name == "V2" {
			protocol = frames.V2
		}
		before := bytes.Clone(frame)
		garbled, made := frames.Garbled(protocol, frame)
		if !made || !bytes.Equal(frame, before) || bytes.Equal(garbled, frame) {
			t.Fatalf("%s: %v %x", name, made, garbled)
		}
		one, _ := frames.Parse(frames.Requests, protocol, frame[frames.LengthBytes:])
		other, parsed := frames.Parse(frames.Requests, protocol, garbled[frames.LengthBytes:])
		if !parsed || one != other {
			t.Fatalf("%s: %+v became %+v", name, one, other)
		}
	}
}

func TestWhatBringsNoEntryIsNotGarbled(t *testing.T) {
	for name, frame := range map[string][]byte{
		"read": ReadV3(1, 5, 7, 0), "nothing": nil, "half": AddV3(1, 5, 7, 6, 0, 100)[:40],
	} {
		if garbled, made := frames.Garbled(frames.V3, frame); made {
			t.Fatalf("%s became %x", name, garbled)
		}
	}
}
