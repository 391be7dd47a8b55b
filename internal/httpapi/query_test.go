package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// lists are the routes that answer page by page.
var lists = []string{
	"/runtimes", "/orchestrations", "/orchestrations/o-1/operations", "/orchestrations/o-1/leftout", "/orchestrations/o-1/events", "/events",
}

func TestMalformedAndRepeatedPageParametersAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Pending})
	for _, list := range lists {
		for _, name := range []string{"page", "page_size"} {
			for _, value := range []string{"", "0", "-1", "+1", "1.0", "1e1", "x", " 1", "0x1", "99999999999999999999", "٣"} {
				problem(t, f.get(list+"?"+name+"="+url.QueryEscape(value)), http.StatusBadRequest, name)
			}
			problem(t, f.get(list+"?"+name+"=1&"+name+"=1"), http.StatusBadRequest, name)
		}
		problem(t, f.get(list+"?page_size=1001"), http.StatusBadRequest, "page_size")
		problem(t, f.get(list+"?page=1;page_size=1"), http.StatusBadRequest, "")
		problem(t, f.get(list+"?page=%zz"), http.StatusBadRequest, "")
		problem(t, f.get(list+"?Page=1"), http.StatusBadRequest, "Page")
		r := f.get(list + "?page=2147483647&page_size=1000")
		require.Equal(t, http.StatusOK, r.status, r.text)
		require.Contains(t, r.text, "[]")
		require.NotContains(t, r.text, "null")
	}
}

func TestPageSizesAreConfigured(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.PageSize, o.MaxPageSize = 2, 3 })
	f.addRuntimes(document("rt-1", "c-1"), document("rt-2", "c-2"), document("rt-3", "c-3"), document("rt-4", "c-4"))
	for query, want := range map[string]int{"": 2, "?page_size=3": 3, "?page=2": 2, "?page=2&page_size=3": 1, "?page=3": 0} {
		page := read[runtime.RuntimesPage](t, f.get("/runtimes"+query))
		require.Len(t, page.Data, want, query)
		require.Equal(t, want, page.Count)
		require.Equal(t, 4, page.TotalCount)
	}
	problem(t, f.get("/runtimes?page_size=4"), http.StatusBadRequest, "page_size")
}

func TestFlagsAreTrueOrFalse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"expired", "kyma_config", "cluster_config"} {
		for _, value := range []string{"true", "false", "True", "FALSE"} {
			require.Equal(t, http.StatusOK, f.get("/runtimes?"+name+"="+value).status)
		}
		for _, value := range []string{"", "yes", "1", "0", "t"} {
			problem(t, f.get("/runtimes?"+name+"="+value), http.StatusBadRequest, name)
		}
		problem(t, f.get("/runtimes?"+name+"=true&"+name+"=false"), http.StatusBadRequest, name)
	}
}

func TestExpiredAndConfigurationsAreAnsweredOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	full := everyField(t)
	f.addRuntimes(full, document("rt-2", "c-2"))
	expired := read[runtime.RuntimesPage](t, f.get("/runtimes?state=all&expired=true"))
	require.Len(t, expired.Data, 1)
	require.Equal(t, full.InstanceID, expired.Data[0].InstanceID)
	require.Nil(t, expired.Data[0].KymaConfig)
	require.Nil(t, expired.Data[0].ClusterConfig)
	require.Len(t, read[runtime.RuntimesPage](t, f.get("/runtimes?state=all&expired=false")).Data, 2)
	kyma := read[runtime.RuntimesPage](t, f.get("/runtimes?state=all&expired=true&kyma_config=true"))
	require.Equal(t, full.KymaConfig, kyma.Data[0].KymaConfig)
	require.Nil(t, kyma.Data[0].ClusterConfig)
	cluster := read[runtime.RuntimesPage](t, f.get("/runtimes?state=all&expired=true&cluster_config=true"))
	require.Equal(t, full.ClusterConfig, cluster.Data[0].ClusterConfig)
	require.Nil(t, cluster.Data[0].KymaConfig)
}

func TestStatesOfOrchestrationsAreKnownWordsInAnyLetterCase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Pending})
	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.InProgress, Type: orchestration.UpgradeKymaOrchestration})
	f.addOrchestration(fleet.Orchestration{ID: "o-3", State: fleet.Canceling})
	for query, want := range map[string]int{
		"": 3, "?state=pending": 1, "?state=retrying": 1, "?state=Retrying": 1, "?state=In%20Progress": 1, "?state=in+progress&state=pending": 2,
		"?state=canceling": 1, "?state=failed": 0, "?type=upgradeKyma": 1, "?type=upgradeKyma&type=upgradeCluster": 3, "?type=upgradeKyma&state=pending": 0,
	} {
		list := read[orchestration.StatusResponseList](t, f.get("/orchestrations"+query))
		require.Equal(t, want, list.TotalCount, query)
		require.Len(t, list.Data, want)
	}
	for _, path := range []string{"/orchestrations", "/orchestrations/o-1/operations"} {
		for _, word := range []string{"", "inprogress", "in_progress", "all", "succeded", "pending,failed"} {
			p := problem(t, f.get(path+"?state="+word), http.StatusBadRequest, "state")
			require.Contains(t, p.Detail, fmt.Sprintf("%q", word))
		}
	}
	problem(t, f.get("/orchestrations?type=upgradekyma"), http.StatusBadRequest, "type")
}

func TestTextThatNoRecordCanHoldIsRefusedInFiltersAndNamesNothingInPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.Pending})
	for _, text := range []string{"%00", "%ff", "a%00b"} {
		problem(t, f.get("/runtimes?shoot="+text), http.StatusBadRequest, "shoot")
		problem(t, f.get("/events?instance_ids="+text), http.StatusBadRequest, "instance_ids")
		problem(t, f.get("/orchestrations/"+text), http.StatusNotFound, "")
		problem(t, f.get("/orchestrations/o-1/operations/"+text), http.StatusNotFound, "")
	}
	for _, id := range []string{"%27%20OR%201=1--", "a%2Fb", "%F0%9F%98%80", strings.Repeat("x", 300), "?"} {
		require.NotEqual(t, http.StatusInternalServerError, f.get("/orchestrations/"+id).status)
	}
	problem(t, f.get("/runtimes?"+strings.Repeat("shoot=x&", 2001)), http.StatusBadRequest, "shoot")
	require.Equal(t, http.StatusOK, f.get("/runtimes?"+strings.Repeat("shoot=x&", 2000)).status)
}
