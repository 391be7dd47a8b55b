package control

import (
	"net/http"
	"strconv"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// ShootSummary is a Shoot in short.
type ShootSummary struct {
	Name               string `json:"name"`
	Version            string `json:"version"`
	Generation         int64  `json:"generation"`
	ObservedGeneration int64  `json:"observedGeneration"`
	Operation          string `json:"operation,omitempty"`
	State              string `json:"state,omitempty"`
	Progress           int32  `json:"progress"`
	Deleting           bool   `json:"deleting,omitempty"`
}

func (s *Server) listShoots(r *http.Request) (any, error) {
	shoots, err := s.landscape.Shoots(r.Context(), s.namespace(r))
	if err != nil {
		return nil, err
	}
	list := make([]ShootSummary, 0, len(shoots))
	for _, shoot := range shoots {
		list = append(list, summarize(&shoot))
	}
	return list, nil
}

func summarize(shoot *gardencorev1beta1.Shoot) ShootSummary {
	summary := ShootSummary{
		Name: shoot.Name, Version: shoot.Spec.Kubernetes.Version, Generation: shoot.Generation,
		ObservedGeneration: shoot.Status.ObservedGeneration, Deleting: shoot.DeletionTimestamp != nil,
	}
	if last := shoot.Status.LastOperation; last != nil {
		summary.Operation, summary.State, summary.Progress = string(last.Type), string(last.State), last.Progress
	}
	return summary
}

func (s *Server) getShoot(r *http.Request) (any, error) {
	return s.landscape.Shoot(r.Context(), s.namespace(r), r.PathValue("name"))
}

func (s *Server) deleteShoot(r *http.Request) (any, error) {
	now, _ := strconv.ParseBool(r.URL.Query().Get("now"))
	return nil, s.landscape.DeleteShoot(r.Context(), s.namespace(r), r.PathValue("name"), now)
}

func (s *Server) forceStatus(r *http.Request) (any, error) {
	var status map[string]any
	if err := read(r, &status); err != nil {
		return nil, err
	}
	return s.landscape.ForceStatus(r.Context(), s.namespace(r), r.PathValue("name"), status)
}

func (s *Server) releaseStatus(r *http.Request) (any, error) {
	return nil, s.landscape.ReleaseShoot(s.namespace(r), r.PathValue("name"))
}

func (s *Server) setMetadata(r *http.Request) (any, error) {
	var metadata landscape.Metadata
	if err := read(r, &metadata); err != nil {
		return nil, err
	}
	return s.landscape.SetMetadata(r.Context(), s.namespace(r), r.PathValue("name"), metadata)
}
