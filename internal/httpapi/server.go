package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server whose limits keep slow and oversized requests from holding connections: 10 s for the headers, 60 s for a
// whole request, 64 KiB of headers, 2 min for an idle connection. The caller listens, serves and shuts down.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      120 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		// "OPTIONS *" goes to the handler too, which knows no such route.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
