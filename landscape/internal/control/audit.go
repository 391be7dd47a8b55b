package control

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/audit"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// AuditRecords is what the audit log holds about a fleet.
type AuditRecords struct {
	// Requests are the writing requests, refused ones included.
	Requests []audit.Request `json:"requests"`
	// Commits are the changes that were stored, whether or not the answer to
	// their request arrived.
	Commits []audit.Commit `json:"commits"`
}

func (s *Server) getAudit(r *http.Request) (any, error) {
	filter, err := s.filter(r)
	if err != nil {
		return nil, err
	}
	log := s.landscape.Audit()
	return AuditRecords{Requests: log.Requests(filter), Commits: log.Commits(filter)}, nil
}

func (s *Server) getUpgrades(r *http.Request) (any, error) {
	filter, err := s.filter(r)
	if err != nil {
		return nil, err
	}
	return s.landscape.Audit().Upgrades(filter), nil
}

func (s *Server) resetAudit(r *http.Request) (any, error) {
	if err := s.landscape.Sync(r.Context()); err != nil {
		return nil, err
	}
	s.landscape.Audit().Reset(s.namespace(r))
	return nil, nil
}

// filter reads the query and waits until the log is complete.
func (s *Server) filter(r *http.Request) (audit.Filter, error) {
	fleet, err := s.landscape.Fleet(s.namespace(r))
	if err != nil {
		return audit.Filter{}, err
	}
	filter, err := parseFilter(r.URL.Query())
	if err != nil {
		return audit.Filter{}, fmt.Errorf("%w: %w", landscape.ErrInvalid, err)
	}
	filter.Namespace = fleet.Namespace
	return filter, s.landscape.Sync(r.Context())
}

func parseFilter(query url.Values) (audit.Filter, error) {
	var (
		filter   audit.Filter
		problems []error
	)
	for key, values := range query {
		value := values[len(values)-1]
		var err error
		switch key {
		case "name":
			filter.Name = value
		case "user":
			filter.User = value
		case "verb":
			filter.Verb = value
		case "since":
			filter.Since, err = time.Parse(time.RFC3339Nano, value)
		case "dryRun":
			var dry bool
			dry, err = strconv.ParseBool(value)
			filter.DryRun = &dry
		case "accepted":
			filter.Accepted, err = strconv.ParseBool(value)
		case "versionChanged":
			filter.VersionChanged, err = strconv.ParseBool(value)
		default:
			err = errors.New("unknown parameter")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", key, err))
		}
	}
	return filter, errors.Join(problems...)
}
