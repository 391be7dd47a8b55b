// Package control serves the simulator's own HTTP interface on a loopback
// address: fleets, faults, the simulated clock, the audit log, single Shoots, and
// OpenID Connect providers.
// It knows no users; whoever reaches the address may do everything.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// maxBody bounds what is read of a request.
const maxBody = 8 << 20

// Info is what the simulator says about itself.
type Info struct {
	Simulator string `json:"simulator"`
	Gardener  string `json:"gardener"`
	Ready     bool   `json:"ready"`
	PID       int    `json:"pid"`
	Control   string `json:"control"`
	Dir       string `json:"dir"`
	// AdminKubeconfig leads past every door, with all rights.
	AdminKubeconfig string `json:"adminKubeconfig"`
	AuditLog        string `json:"auditLog"`
	// UpgradeTarget is the version that every Shoot of a plain fleet can go to.
	UpgradeTarget      string   `json:"upgradeTarget"`
	KubernetesVersions []string `json:"kubernetesVersions"`
	// FleetInfo and IssuerInfo are about those that the simulator was started with.
	FleetInfo
	IssuerInfo

	Fleets []FleetInfo `json:"fleets,omitempty"`
}

// FleetInfo says where a fleet is.
type FleetInfo struct {
	Namespace  string `json:"namespace"`
	Shoots     int    `json:"shoots"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Runtimes   string `json:"runtimes"`
	// Provisioner is the address of its GraphQL endpoint.
	Provisioner string `json:"provisioner"`
	// KymaServer and KymaKubeconfig lead to the Kymas, which are in the namespace of
	// the same name. Empty: the fleet was made without.
	KymaServer     string `json:"kymaServer,omitempty"`
	KymaKubeconfig string `json:"kymaKubeconfig,omitempty"`
}

// Server serves the interface over a landscape.
type Server struct {
	landscape *landscape.Landscape
	info      func() Info
	main      string
}

// New returns the handler. The routes without a namespace speak about the main
// fleet.
func New(l *landscape.Landscape, main string, info func() Info) http.Handler {
	s := &Server{landscape: l, info: info, main: main}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, http.StatusOK, s.fullInfo()) })
	mux.HandleFunc("GET /fleets", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, http.StatusOK, s.fullInfo().Fleets) })
	mux.Handle("POST /fleets", s.route(s.createFleet))
	s.addIssuers(mux)
	mux.Handle("GET /fleets/{namespace}", s.route(s.getFleet))
	mux.Handle("DELETE /fleets/{namespace}", s.route(s.deleteFleet))
	routes := map[string]func(*http.Request) (any, error){
		"POST %s/reset":                  s.reset,
		"GET %s/faults":                  s.getFaults,
		"POST %s/faults":                 s.setFaults,
		"DELETE %s/faults":               s.clearFaults,
		"GET %s/clock":                   s.getClock,
		"POST %s/clock":                  s.setClock,
		"GET %s/audit":                   s.getAudit,
		"GET %s/audit/upgrades":          s.getUpgrades,
		"POST %s/audit/reset":            s.resetAudit,
		"GET %s/shoots":                  s.listShoots,
		"POST %s/shoots":                 s.growFleet,
		"GET %s/shoots/{name}":           s.getShoot,
		"DELETE %s/shoots/{name}":        s.deleteShoot,
		"PUT %s/shoots/{name}/status":    s.forceStatus,
		"DELETE %s/shoots/{name}/status": s.releaseStatus,
		"PUT %s/shoots/{name}/metadata":  s.setMetadata,

		"GET %s/provisioner/runtimes":         s.listProvisioned,
		"DELETE %s/provisioner/runtimes/{id}": s.deleteProvisioned,
		"GET %s/provisioner/audit":            s.getMutations,
		"POST %s/provisioner/audit/reset":     s.resetMutations,
		"GET %s/kymas":                        s.listKymas,
		"DELETE %s/kymas/{name}":              s.deleteKyma,
	}
	for pattern, handle := range routes {
		mux.Handle(fmt.Sprintf(pattern, ""), s.route(handle))
		mux.Handle(fmt.Sprintf(pattern, "/fleets/{namespace}"), s.route(handle))
	}
	// A page in somebody's browser must not be able to drive the simulator.
	return http.NewCrossOriginProtection().Handler(mux)
}

// route turns what a handler returns into an answer: 200 with a body, 204
// without, or the status that fits the error.
func (s *Server) route(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		result, err := handle(r)
		switch {
		case err != nil:
			s.answer(w, statusOf(err), map[string]string{"error": err.Error()})
		case result == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			s.answer(w, http.StatusOK, result)
		}
	})
}

func statusOf(err error) int {
	var kubernetes apierrors.APIStatus
	switch {
	case errors.Is(err, landscape.ErrInvalid), errors.Is(err, issuer.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, landscape.ErrNotFound), errors.Is(err, issuer.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, landscape.ErrExists):
		return http.StatusConflict
	case errors.As(err, &kubernetes) && kubernetes.Status().Code >= http.StatusBadRequest:
		return int(kubernetes.Status().Code)
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (s *Server) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // The client may be gone.
}

func (s *Server) namespace(r *http.Request) string {
	if namespace := r.PathValue("namespace"); namespace != "" {
		return namespace
	}
	return s.main
}

// read decodes a JSON body strictly. No body leaves into as it is.
func read(r *http.Request, into any) error { return decode(r.Body, into) }

func decode(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("%w: read body: %w", landscape.ErrInvalid, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: read body: something stands behind the document", landscape.ErrInvalid)
	}
	return nil
}
