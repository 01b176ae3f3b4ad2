package frames_test

import (
	"testing"

	. "fencepost/proxy/frames"
	"fencepost/proxy/frames/samples"
)

func BenchmarkParse(b *testing.B) {
	for name, one := range map[string]struct {
		way      Way
		protocol Protocol
		frame    []byte
	}{
		"add-V3":   {Requests, V3, samples.AddV3(100000, 5, 10000, 9000, 0, 1024)},
		"added-V3": {Answers, V3, samples.AddedV3(100000, 5, 10000, 0)},
		"add-V2":   {Requests, V2, samples.AddV2(5, 10000, 9000, 0, 1024)},
		"added-V2": {Answers, V2, samples.AddedV2(5, 10000, 0)},
	} {
		b.Run(name, func(b *testing.B) {
			var header Header
			for range b.N {
				if !header.Parse(one.way, one.protocol, one.frame[LengthBytes:]) {
					b.Fatal()
				}
			}
		})
	}
}
