// Package bookkeeper is the toxic that understands BookKeeper's frames: it sits on both streams of
// a link, tells each frame's kind, obeys the link's rules and writes the wire log.
//
// Rules live beside the toxic, in its Link, and never in the toxic's attributes: toxiproxy interrupts
// a toxic for each change of attributes. An action on one frame never blocks
// others: a held or delayed frame is taken out of the stream and the frames behind it pass, for
// BookKeeper's peers need no order between different transactions.
package bookkeeper

import (
	"slices"
	"sync"
	"sync/atomic"

	"fencepost/proxy/rules"
	"fencepost/proxy/wirelog"
)

// Registry has the links of a process and their log. The zero Registry is empty and ready.
type Registry struct {
	Log wirelog.Log

	mutex       sync.Mutex
	links       map[string]*Link
	connections atomic.Uint32
}

// Process is the registry of this process: toxiproxy makes toxics from their type alone, so they
// can be given none.
var Process Registry

// Link is the named link, made at its first mention.
func (r *Registry) Link(name string) *Link {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if link := r.links[name]; link != nil {
		return link
	}
	link := &Link{registry: r, name: name, number: r.Log.Link(name)}
	if r.links == nil {
		r.links = map[string]*Link{}
	}
	r.links[name] = link
	return link
}

// Known is the link that Link made under that name, nil when it made none.
func (r *Registry) Known(name string) *Link {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.links[name]
}

// Link is what is known of one link beside its toxic: rules, counters, open connections.
type Link struct {
	registry *Registry
	name     string
	number   uint16
	rules    atomic.Pointer[rules.List]
	counters counters

	mutex       sync.Mutex
	connections []*connection // open ones, and one whose second stream is not begun
}

// Rules are the rules in force.
func (l *Link) Rules() rules.List {
	if list := l.rules.Load(); list != nil {
		return *list
	}
	return nil
}

// SetRules puts a list in force. What rules that are not in it held is passed on; the number of
// those frames is returned. Errors are of type *rules.Error.
func (l *Link) SetRules(specs []rules.Spec) (released int, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	old := l.Rules()
	list, err := rules.NewList(specs, old)
	if err != nil {
		return 0, err
	}
	removed := map[*rules.Rule]bool{}
	for _, rule := range old {
		if !slices.Contains(list, rule) {
			rule.Remove()
			removed[rule] = true
		}
	}
	// In this order: what passes by the new list must find what was held on its way already.
	released = l.release(removed)
	l.rules.Store(&list)
	return released, nil
}

// Release passes on what the rule with that id holds now, or what all rules hold where id is empty.
// The rules stay in force. False when there is no such rule.
func (l *Link) Release(id string) (released int, known bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	some := map[*rules.Rule]bool{}
	for _, rule := range l.Rules() {
		if id == "" || rule.Spec.ID == id {
			some[rule] = true
		}
	}
	return l.release(some), len(some) > 0 || id == ""
}

// release needs the mutex.
func (l *Link) release(some map[*rules.Rule]bool) int {
	released := 0
	for _, connection := range l.connections {
		for _, stream := range connection.streams {
			released += stream.release(some)
		}
	}
	return released
}

// CutOff ends what is left of the link's connections, for toxiproxy has closed their sockets. It tells
// its toxics nothing, and a stream with a receiver that did not read would wait for ever.
func (l *Link) CutOff() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, connection := range l.connections {
		for _, stream := range connection.streams {
			stream.cutOff()
		}
	}
}

// stream is the stream of the next connection without a stream of that way: toxiproxy begins a
// connection's two streams one after the other, and connections of a link one after another.
func (l *Link) stream(way int) *flow {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, connection := range l.connections {
		if !connection.begun[way] {
			connection.begun[way] = true
			return connection.streams[way]
		}
	}
	connection := newConnection(l, l.registry.connections.Add(1))
	connection.begun[way] = true
	l.connections = append(l.connections, connection)
	l.counters.connections.Add(1)
	return connection.streams[way]
}

// forget drops a connection whose streams have both ended.
func (l *Link) forget(gone *connection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, connection := range l.connections {
		if connection == gone {
			l.connections = append(l.connections[:i:i], l.connections[i+1:]...)
			return
		}
	}
}
