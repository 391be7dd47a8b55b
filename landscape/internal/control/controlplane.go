package control

import (
	"fmt"
	"net/http"

	"github.com/swell-fleet/swell/landscape/internal/landscape"
	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

// Mutations is what the Provisioner was asked to change.
type Mutations struct {
	Mutations []provisioner.Mutation `json:"mutations"`
	// PerRuntime counts the accepted ones by runtime ID.
	PerRuntime map[string]int `json:"perRuntime"`
}

func (s *Server) provisioner(r *http.Request) (*provisioner.Provisioner, error) {
	fleet, err := s.landscape.Fleet(s.namespace(r))
	if err != nil {
		return nil, err
	}
	return fleet.Provisioner(), nil
}

func (s *Server) listProvisioned(r *http.Request) (any, error) {
	p, err := s.provisioner(r)
	if err != nil {
		return nil, err
	}
	return p.Runtimes(), nil
}

func (s *Server) deleteProvisioned(r *http.Request) (any, error) {
	p, err := s.provisioner(r)
	if err != nil {
		return nil, err
	}
	if id := r.PathValue("id"); !p.Remove(id) {
		return nil, fmt.Errorf("runtime %q: %w", id, landscape.ErrNotFound)
	}
	return nil, nil
}

func (s *Server) getMutations(r *http.Request) (any, error) {
	p, err := s.provisioner(r)
	if err != nil {
		return nil, err
	}
	answer := Mutations{Mutations: p.Mutations(), PerRuntime: map[string]int{}}
	for _, m := range answer.Mutations {
		if m.Accepted {
			answer.PerRuntime[m.RuntimeID]++
		}
	}
	return answer, nil
}

func (s *Server) resetMutations(r *http.Request) (any, error) {
	p, err := s.provisioner(r)
	if err != nil {
		return nil, err
	}
	p.ResetMutations()
	return nil, nil
}

func (s *Server) listKymas(r *http.Request) (any, error) {
	return s.landscape.Kymas(r.Context(), s.namespace(r))
}

func (s *Server) deleteKyma(r *http.Request) (any, error) {
	return nil, s.landscape.DeleteKyma(r.Context(), s.namespace(r), r.PathValue("name"))
}
