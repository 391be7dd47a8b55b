package issuer

import (
	"embed"
	"html/template"
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The paths of the pages.
const (
	loginPath  = "/login"
	devicePath = "/device"
	endedPath  = "/ended"
)

//go:embed pages
var pageFiles embed.FS

var pageTemplates = template.Must(template.ParseFS(pageFiles, "pages/page.html"))

// choice is what a page with users to choose from shows.
type choice struct {
	Client   string
	Scopes   []string
	Request  string
	UserCode string
	Users    []User
}

// message is a page that only says something.
type message struct{ Title, Text string }

// question is the page that asks for the code of a device.
type question struct{ UserCode, Problem string }

// pages adds the pages that users see. They work without scripts.
func (p *provider) pages(mux *http.ServeMux) {
	// A form is sent to this issuer, which then leads to where the program waits.
	const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; " +
		"form-action 'self' http://127.0.0.1:* http://localhost:*"
	foreign := http.NewCrossOriginProtection()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET " + loginPath:   p.showLogin,
		"POST " + loginPath:  p.logIn,
		"GET " + devicePath:  p.showDevice,
		"POST " + devicePath: p.decideDevice,
		"GET " + endedPath: func(w http.ResponseWriter, _ *http.Request) {
			show(w, http.StatusOK, "message", message{"Logged out", "The tokens of this login are not valid any more."})
		},
		"GET /style.css": func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, pageFiles, "pages/style.css") },
	} {
		mux.Handle(pattern, foreign.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header := w.Header()
			header.Set("Content-Security-Policy", policy)
			header.Set("X-Content-Type-Options", "nosniff")
			header.Set("Referrer-Policy", "same-origin")
			header.Set("Cache-Control", "no-store")
			handle(w, r)
		})))
	}
}

func show(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplates.ExecuteTemplate(w, name, data) // The browser may be gone.
}

func (p *provider) showLogin(w http.ResponseWriter, r *http.Request) {
	l, err := p.issuer.login(r.FormValue("request"))
	if err != nil || l.Done() {
		lost(w)
		return
	}
	show(w, http.StatusOK, "login", choice{Client: l.asked.ClientID, Scopes: l.asked.Scopes, Request: l.id, Users: p.issuer.Users()})
}

func lost(w http.ResponseWriter) {
	show(w, http.StatusNotFound, "message", message{"Log in", "This login is not known, is over, or took too long. Start it again where it began."})
}

// logIn sends the browser back to the program: by way of the protocol, or with
// the news that the user does not want to.
func (p *provider) logIn(w http.ResponseWriter, r *http.Request) {
	id := r.PostFormValue("request")
	if r.PostFormValue("deny") != "" {
		p.issuer.mu.Lock()
		l, ok := p.issuer.logins.take(id)
		p.issuer.mu.Unlock()
		if !ok {
			lost(w)
			return
		}
		op.AuthRequestError(w, r, l, oidc.ErrAccessDenied(), p)
		return
	}
	if err := p.issuer.chose(id, r.PostFormValue("user")); err != nil {
		lost(w)
		return
	}
	back := op.AuthCallbackURL(p)(op.ContextWithIssuer(r.Context(), p.issuer.url), id)
	http.Redirect(w, r, back, http.StatusSeeOther)
}

func (p *provider) showDevice(w http.ResponseWriter, r *http.Request) {
	userCode := r.FormValue("user_code")
	if userCode == "" {
		show(w, http.StatusOK, "code", question{})
		return
	}
	d, err := p.issuer.Device(userCode)
	if err != nil {
		unknownDevice(w, userCode)
		return
	}
	show(w, http.StatusOK, "device", choice{Client: d.ClientID, Scopes: d.Scopes, UserCode: d.UserCode, Users: p.issuer.Users()})
}

func unknownDevice(w http.ResponseWriter, userCode string) {
	show(w, http.StatusNotFound, "code", question{UserCode: userCode, Problem: "No device waits with this code. It may be mistyped, used already, or too old."})
}

func (p *provider) decideDevice(w http.ResponseWriter, r *http.Request) {
	userCode := r.PostFormValue("user_code")
	if r.PostFormValue("deny") != "" {
		if err := p.issuer.DenyDevice(userCode); err != nil {
			unknownDevice(w, userCode)
			return
		}
		show(w, http.StatusOK, "message", message{"Denied", "The device will not act for you."})
		return
	}
	if err := p.issuer.AllowDevice(userCode, r.PostFormValue("user")); err != nil {
		unknownDevice(w, userCode)
		return
	}
	show(w, http.StatusOK, "message", message{"Connected", "The device goes on by itself. You can close this page."})
}
