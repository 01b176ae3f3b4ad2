// Package endpoint is this program's own part of the REST API, beside toxiproxy's: links that have
// the bookkeeper toxic from their creation, their rules and counters, and the wire log.
//
// Every answer is JSON. An error is {"error", "field", "value", "allowed"}: what is wrong, where, the
// offending value, and what would be right; the last three are absent where they say nothing.
package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/gorilla/mux"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/rules"
)

// mostBytes bounds a request's body.
const mostBytes = 4 << 20

// Endpoint answers for one server's links.
type Endpoint struct {
	links    *toxiproxy.ApiServer
	registry *bookkeeper.Registry
}

// Attach adds the routes to router and returns what answers them.
func Attach(router *mux.Router, links *toxiproxy.ApiServer, registry *bookkeeper.Registry) *Endpoint {
	e := &Endpoint{links, registry}
	router.Use(e.afterCuts)
	for _, route := range []struct {
		method, path string
		act          func(*http.Request) (int, any, error)
	}{
		{"POST", "/fencepost/links", e.createLinks},
		{"GET", "/fencepost/links/{name}/rules", e.getRules},
		{"PUT", "/fencepost/links/{name}/rules", e.putRules},
		{"DELETE", "/fencepost/links/{name}/rules", e.deleteRules},
		{"GET", "/fencepost/links/{name}/counters", e.getCounters},
		{"POST", "/fencepost/links/{name}/release", e.release},
		{"POST", "/fencepost/log", e.openLog},
		{"GET", "/fencepost/log", e.getLog},
	} {
		router.HandleFunc(route.path, answering(route.act)).Methods(route.method).Name("Fencepost")
	}
	return e
}

// failure is an error with its HTTP status and its place.
type failure struct {
	status  int
	Text    string `json:"error"`
	Field   string `json:"field,omitempty"`
	Value   any    `json:"value,omitempty"`
	Allowed string `json:"allowed,omitempty"`
}

func (f *failure) Error() string { return f.Text }

func answering(act func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		status, body, err := act(request)
		if err != nil {
			var known *failure
			if !errors.As(err, &known) {
				known = &failure{status: http.StatusInternalServerError, Text: err.Error()}
			}
			status, body = known.status, known
		}
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		_ = json.NewEncoder(response).Encode(body) // a client that is gone needs no answer
	}
}

// decode reads the whole body into a value; a field that it does not have is an error.
func decode(body io.Reader, into any) error {
	decoder := json.NewDecoder(io.LimitReader(body, mostBytes))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("there is more behind the JSON value")
	}
	if err == nil {
		return nil
	}
	problem := &failure{status: http.StatusBadRequest, Text: "the body is not what is asked for: " + err.Error()}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		problem.Field, problem.Value, problem.Allowed = wrong.Field, wrong.Value, wrong.Type.String()
	}
	return problem
}

func refuse(err error) error {
	var wrong *rules.Error
	if errors.As(err, &wrong) {
		return &failure{http.StatusBadRequest, wrong.Error(), wrong.Field, wrong.Value, wrong.Allowed}
	}
	return err
}

// link is the link of the request's path, which must exist and have the toxic.
func (e *Endpoint) link(request *http.Request) (*bookkeeper.Link, error) {
	name := mux.Vars(request)["name"]
	proxy, err := e.links.Collection.Get(name)
	if err != nil {
		text := fmt.Sprintf("there is no link %q", name)
		return nil, &failure{status: http.StatusNotFound, Text: text, Field: "name", Value: name}
	}
	ours := 0
	for _, toxic := range proxy.Toxics.GetToxicArray() {
		if wrapper, ok := toxic.(*toxicWrapper); ok && wrapper.Type == bookkeeper.Type {
			ours++
		}
	}
	if ours < 2 {
		text := fmt.Sprintf("the link %q has not the toxic %s on both streams", name, bookkeeper.Type)
		return nil, &failure{status: http.StatusConflict, Text: text, Field: "name", Value: name}
	}
	return e.registry.Link(name), nil
}
