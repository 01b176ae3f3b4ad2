package endpoint

import (
	"net/http"

	"github.com/gorilla/mux"
)

// afterCuts tells a link's streams when toxiproxy has closed their sockets. Toxiproxy tells its toxics
// nothing then: a stream that waited for its receiver would wait for ever, and keep what it holds.
func (e *Endpoint) afterCuts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		next.ServeHTTP(response, request)
		name := mux.Vars(request)["proxy"] // in toxiproxy's routes of one link only
		if name == "" || request.Method == http.MethodGet {
			return
		}
		if link := e.registry.Known(name); link != nil && !e.serves(name) {
			link.CutOff()
		}
	})
}

// serves is true while the link is there and takes connections.
func (e *Endpoint) serves(name string) bool {
	proxy, err := e.links.Collection.Get(name)
	if err != nil {
		return false
	}
	proxy.Lock()
	defer proxy.Unlock()
	return proxy.Enabled
}
