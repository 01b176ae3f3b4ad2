package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/frames"
	"fencepost/proxy/rules"
)

type toxicWrapper = toxics.ToxicWrapper

// streams are toxiproxy's names of the ways, by number.
var streams = []string{"upstream", "downstream"}

type ruleList struct {
	Rules []rules.Spec `json:"rules"`
}

type wanted struct {
	Name     string `json:"name"`
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
	Enabled  *bool  `json:"enabled,omitempty"`
}

// createLinks is toxiproxy's populate with the toxic on both streams before the first connection.
// All links are created, or the first error names the link that was not; links before it stay.
func (e *Endpoint) createLinks(request *http.Request) (int, any, error) {
	made, err := e.Create(request.Body)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"proxies": made}, nil
}

// Create makes the links of a list in JSON, like the route that gets the list in its body.
func (e *Endpoint) Create(body io.Reader) ([]*toxiproxy.Proxy, error) {
	var list []wanted
	if err := decode(body, &list); err != nil {
		return nil, err
	}
	for i, link := range list {
		if link.Name == "" || link.Upstream == "" {
			text := fmt.Sprintf("link %d has no name or no upstream", i)
			return nil, &failure{status: http.StatusBadRequest, Text: text, Field: fmt.Sprintf("[%d]", i), Value: link}
		}
	}
	made := []*toxiproxy.Proxy{}
	for i, link := range list {
		proxy, err := e.createLink(link)
		if err != nil {
			text := fmt.Sprintf("link %s was not made: %v", link.Name, err)
			return nil, &failure{status: http.StatusConflict, Text: text, Field: fmt.Sprintf("[%d]", i), Value: link}
		}
		made = append(made, proxy)
	}
	return made, nil
}

func (e *Endpoint) createLink(link wanted) (*toxiproxy.Proxy, error) {
	proxy := toxiproxy.NewProxy(e.links, link.Name, link.Listen, link.Upstream)
	for way, stream := range streams {
		attributes := bookkeeper.Toxic{Link: link.Name, Way: frames.Ways[way]}
		toxic, err := json.Marshal(map[string]any{
			"name": bookkeeper.Type + "-" + attributes.Way, "type": bookkeeper.Type, "stream": stream,
			"attributes": attributes,
		})
		if err != nil {
			return nil, err
		}
		if _, err := proxy.Toxics.AddToxicJson(bytes.NewReader(toxic)); err != nil {
			return nil, err
		}
	}
	if err := e.links.Collection.Add(proxy, link.Enabled == nil || *link.Enabled); err != nil {
		return nil, err
	}
	e.registry.Link(link.Name)
	return proxy, nil
}

func (e *Endpoint) getRules(request *http.Request) (int, any, error) {
	link, err := e.link(request)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, described(link, 0), nil
}

// described is the rules in force, each with its number in the log.
func described(link *bookkeeper.Link, released int) any {
	type numbered struct {
		rules.Spec
		Number uint32 `json:"number"`
	}
	list := []numbered{}
	for _, rule := range link.Rules() {
		list = append(list, numbered{rule.Spec, rule.Number})
	}
	return map[string]any{"rules": list, "released": released}
}

func (e *Endpoint) putRules(request *http.Request) (int, any, error) {
	link, err := e.link(request)
	if err != nil {
		return 0, nil, err
	}
	var list ruleList
	if err := decode(request.Body, &list); err != nil {
		return 0, nil, err
	}
	released, err := link.SetRules(list.Rules)
	if err != nil {
		return 0, nil, refuse(err)
	}
	return http.StatusOK, described(link, released), nil
}

func (e *Endpoint) deleteRules(request *http.Request) (int, any, error) {
	link, err := e.link(request)
	if err != nil {
		return 0, nil, err
	}
	released, err := link.SetRules(nil)
	if err != nil {
		return 0, nil, refuse(err)
	}
	return http.StatusOK, described(link, released), nil
}

func (e *Endpoint) getCounters(request *http.Request) (int, any, error) {
	link, err := e.link(request)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, link.Counters(), nil
}

// release takes {"rule": id}, or {} for all rules of the link.
func (e *Endpoint) release(request *http.Request) (int, any, error) {
	link, err := e.link(request)
	if err != nil {
		return 0, nil, err
	}
	var order struct {
		Rule string `json:"rule"`
	}
	if err := decode(request.Body, &order); err != nil {
		return 0, nil, err
	}
	released, known := link.Release(order.Rule)
	if !known {
		text := fmt.Sprintf("the link has no rule %q", order.Rule)
		return 0, nil, &failure{status: http.StatusNotFound, Text: text, Field: "rule", Value: order.Rule}
	}
	return http.StatusOK, map[string]int{"released": released}, nil
}
