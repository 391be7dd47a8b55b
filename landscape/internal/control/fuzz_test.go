package control

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/landscape/internal/audit"
	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// FuzzFleetRequest reads all kinds of requests for a fleet. One that is not
// refused is one document, says the same when it is written and read again, and
// what it leaves open has a value.
func FuzzFleetRequest(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{}{}`, `{"namespace":"garden-t1","colour":1}`, `{"namespace":"garden-t1"} x`, `{"steps":101}`, `{"speed":-1,"reconcileTime":"25h"}`,
		`{"namespace":"garden-t1","shoots":20,"seed":3,"mix":"varied","kubernetesVersion":"1.33.9","window":"220000+0100/020000+0100","confined":true,` +
			`"reconcileTime":"200ms","steps":2,"offset":"0s","speed":1,"kymas":true,"faults":{"gardenlet":{"fail":0.5},"provisioner":{"slow":1}}}`,
		`{"faults":{"api":[{"action":"refuse","after":"5s"}],"provisioner":{"api":[{"action":"refuse"}]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var request FleetRequest
		if err := decode(bytes.NewReader(body), &request); err != nil {
			require.ErrorIs(t, err, landscape.ErrInvalid)
			return
		}
		require.True(t, len(bytes.TrimSpace(body)) == 0 || json.Valid(body))
		text, err := json.Marshal(request)
		require.NoError(t, err)
		var again FleetRequest
		require.NoError(t, decode(bytes.NewReader(text), &again))
		options := request.options()
		require.Equal(t, options.Settings.Validate() == nil, again.options().Settings.Validate() == nil)
		require.Equal(t, options.Generate, again.options().Generate)
		require.True(t, request.Steps != nil || options.Settings.Steps == DefaultSteps)
		require.True(t, request.ReconcileTime != nil || options.Settings.ReconcileTime == DefaultReconcileTime)
		if options.Settings.Validate() == nil {
			plan, err := json.Marshal(options.Settings.Plan)
			require.NoError(t, err)
			_, err = faults.Parse(plan)
			require.NoError(t, err)
		}
	})
}

// FuzzFilter reads all kinds of queries about the audit log. What is not
// understood is refused by its name.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		"", "name=c-1&user=x&verb=patch", "since=2026-11-01T12:00:00.5Z", "since=today&dryRun=maybe", "dryRun=false&accepted=true&versionChanged=1", "colour=red", "name=a&name=b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		filter, err := parseFilter(query)
		known := map[string]bool{"name": true, "user": true, "verb": true, "since": true, "dryRun": true, "accepted": true, "versionChanged": true}
		for key := range query {
			if !known[key] {
				require.ErrorContains(t, err, key)
			}
		}
		if len(query) == 0 {
			require.NoError(t, err)
			require.Equal(t, audit.Filter{}, filter)
		}
		if err == nil && query.Has("since") {
			_, err := filter.Since.MarshalText()
			require.NoError(t, err, filter.Since.Format(time.RFC3339Nano))
		}
	})
}
