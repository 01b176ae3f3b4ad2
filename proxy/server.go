package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/endpoint"
)

// requestTimeout bounds one REST request, so that an idle or stuck client keeps no connection.
const requestTimeout = 30 * time.Second

// endTimeout bounds the ordered end; after it the process ends with what is left open.
const endTimeout = 2 * time.Second

// serve makes the links of the list first, if there is one, and answers the REST API on listener until ctx
// is done; then it closes every link.
func serve(ctx context.Context, listener net.Listener, list io.Reader, logger zerolog.Logger) error {
	links := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), logger)
	router, own := newRouter(links)
	if list != nil {
		if _, err := own.Create(list); err != nil {
			return fmt.Errorf("the list of links: %w", err)
		}
	}
	api := &http.Server{
		Handler:      router,
		ReadTimeout:  requestTimeout,
		WriteTimeout: requestTimeout,
	}
	logger.Info().Stringer("address", listener.Addr()).Msg("serving")

	failed := make(chan error, 1)
	go func() { failed <- api.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("the REST API ended: %w", err)
	case <-ctx.Done():
		return end(api, links)
	}
}

// newRouter has toxiproxy's routes and ours.
func newRouter(links *toxiproxy.ApiServer) (*mux.Router, *endpoint.Endpoint) {
	router := links.Routes()
	return router, endpoint.Attach(router, links, &bookkeeper.Process)
}

// end closes the REST API, then all links, giving up after endTimeout, and then the wire log.
func end(api *http.Server, links *toxiproxy.ApiServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	stopped := api.Shutdown(ctx)
	cleared := make(chan error, 1)
	go func() { cleared <- links.Collection.Clear() }()
	select {
	case err := <-cleared:
		return errors.Join(stopped, err, bookkeeper.Process.Log.Close())
	case <-ctx.Done():
		return errors.Join(stopped, errors.New("links were still open at the end"), bookkeeper.Process.Log.Close())
	}
}
