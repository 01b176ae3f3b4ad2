package samples

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"fencepost/proxy/frames"
)

// Chunk is what one read of a captured connection brought.
type Chunk struct {
	Way  frames.Way
	Data []byte
}

// Captured reads a connection of a real client from a file of testdata: a line for each read, with
// ">" for the client's bytes or "<" for the bookie's, and the bytes in hex.
func Captured(path string) ([]Chunk, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var chunks []Chunk
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		mark, text, _ := strings.Cut(scanner.Text(), " ")
		data, err := hex.DecodeString(text)
		if err != nil || mark != ">" && mark != "<" {
			return nil, fmt.Errorf("%s: no chunk: %q", path, scanner.Text())
		}
		way := frames.Requests
		if mark == "<" {
			way = frames.Answers
		}
		chunks = append(chunks, Chunk{way, data})
	}
	return chunks, nil
}
