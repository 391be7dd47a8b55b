package login

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
)

// style is how the page looks. Its hash lets the browser use it, and no other.
const style = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center}
main{max-width:28rem;padding:2rem;border-top:.3rem solid #1a7f4b}
main.wrong{border-color:#b3261e}
h1{font-size:1.4rem;margin:0 0 .5rem}
p{margin:0}
small{display:block;margin-top:1.5rem;opacity:.7}`

var pages = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}} - Swell</title>
<link rel="icon" href="data:,"><style>` + style + `</style></head>
<body><main{{if .Wrong}} class="wrong"{{end}}><h1>{{.Title}}</h1><p>{{.Text}}</p><small>Swell</small></main></body>
</html>
`))

// policy lets the page do nothing but look like itself.
var policy = func() string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}()

// show writes a page with a title and a sentence, which are ours: nothing of what the browser brought is on it.
func show(w http.ResponseWriter, status int, title, text string) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A browser that went away misses a sentence only.
	_ = pages.Execute(w, struct {
		Title, Text string
		Wrong       bool
	}{title, text, status != http.StatusOK})
}
