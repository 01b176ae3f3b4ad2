package wirelog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Link gives a link its number in the records, from 1; the same name has the same number.
func (l *Log) Link(name string) uint16 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, known := range l.links {
		if known == name {
			return uint16(i + 1)
		}
	}
	l.links = append(l.links, name)
	if l.counts.Open {
		l.note(len(l.links) - 1)
	}
	return uint16(len(l.links))
}

// note writes a link's line.
func (l *Log) note(i int) {
	line, err := json.Marshal(map[string]any{"link": i + 1, "name": l.links[i]})
	if err == nil {
		err = appendLine(filepath.Join(l.counts.Path, "links.jsonl"), line)
	}
	if err != nil {
		l.counts.Error = err.Error()
	}
}

func appendLine(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Links are the numbers of all links by name.
func (l *Log) Links() map[string]int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	links := make(map[string]int, len(l.links))
	for i, name := range l.links {
		links[name] = i + 1
	}
	return links
}
