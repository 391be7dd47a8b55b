package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server whose limits keep slow and oversized requests from holding connections: 10 s for the headers, timeout for a whole
// request and twice that for its answer, 64 KiB of headers, 2 min for an idle connection. A connection of HTTP/2 on which nothing whole arrives for 10 s is
// asked whether it lives, and closed after 10 s more. The timeout should be that of the Options; a handler that answers for longer, such as a stream,
// moves its own deadline. The caller listens, serves and shuts down.
func NewServer(handler http.Handler, logger *slog.Logger, timeout time.Duration) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       timeout,
		WriteTimeout:      2 * timeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// HTTP/2 knows no time limit for headers. Who is in the middle of them cannot answer, though.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second},
		// "OPTIONS *" goes to the handler too, which knows no such route.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
