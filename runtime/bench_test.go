package runtime

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkListRuntimes10000 walks through 10,000 runtimes over a loopback connection, in pages of 100 and of 1,000. The server answers
// with pages that were encoded before, so time and allocations are the client's (and net/http's).
func BenchmarkListRuntimes10000(b *testing.B) {
	all := fleet(10_000)
	for _, size := range []int{100, 1000} {
		b.Run("page="+strconv.Itoa(size), func(b *testing.B) {
			pages := [][]byte{}
			for begin := 0; begin <= len(all); begin += size {
				rows := all[begin:min(begin+size, len(all))]
				page, err := json.Marshal(RuntimesPage{Data: rows, Count: len(rows), TotalCount: len(all)})
				require.NoError(b, err)
				pages = append(pages, page)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write(pages[intOr(r.URL.Query().Get("page"), 1)-1])
			}))
			b.Cleanup(server.Close)
			client := NewClient(server.URL, server.Client())
			b.ReportAllocs()
			for b.Loop() {
				page, err := client.ListRuntimes(ListParameters{PageSize: size})
				require.NoError(b, err)
				require.Len(b, page.Data, len(all))
			}
			b.ReportMetric(float64(len(all))*float64(b.N)/b.Elapsed().Seconds(), "runtimes/s")
		})
	}
}

func BenchmarkLastOperation(b *testing.B) {
	rt := fleet(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		if rt.LastOperation().Type != UpgradeCluster {
			b.Fatal("wrong operation")
		}
	}
}
