package orchestration

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/runtime"
)

// maxImportBody is the size in bytes up to which runtimes are put into one request. Servers refuse bodies over 1 MiB.
const maxImportBody = 900 << 10

// ImportRuntimes implements ExtendedClient.
func (c *client) ImportRuntimes(page runtime.RuntimesPage) (ImportResponse, error) {
	parts, err := importParts(page.Data, maxImportBody)
	if err != nil {
		return ImportResponse{}, fmt.Errorf("import runtimes: %w", err)
	}
	var sum ImportResponse
	for i, part := range parts {
		response, err := apiclient.Send[ImportResponse](c.ctx, c.api, apiclient.Request{
			Method:         http.MethodPost,
			Path:           []string{"runtimes", "import"},
			JSON:           runtime.RuntimesPage{Data: part, Count: len(part), TotalCount: len(page.Data)},
			IdempotencyKey: apiclient.NewIdempotencyKey(),
		})
		if err != nil {
			return ImportResponse{}, fmt.Errorf("import runtimes: part %d of %d: %w", i+1, len(parts), err)
		}
		sum.Imported += response.Imported
		sum.Updated += response.Updated
		sum.Unchanged += response.Unchanged
	}
	return sum, nil
}

// importParts splits runtimes into parts whose JSON has at most limit bytes. A runtime that is longer is a part by itself. There is
// one part at least, so that also an empty page is put to the server.
func importParts(runtimes []runtime.RuntimeDTO, limit int) ([][]runtime.RuntimeDTO, error) {
	var parts [][]runtime.RuntimeDTO
	begin, size := 0, 0
	for i := range runtimes {
		encoded, err := json.Marshal(&runtimes[i])
		if err != nil {
			return nil, fmt.Errorf("encode runtime %q: %w", runtimes[i].RuntimeID, err)
		}
		// The comma between two runtimes counts too; what is around the list fits into the reserve below 1 MiB.
		if size += len(encoded) + 1; size > limit && i > begin {
			parts = append(parts, runtimes[begin:i:i])
			begin, size = i, len(encoded)+1
		}
	}
	if rest := runtimes[begin:]; len(rest) > 0 || len(parts) == 0 {
		parts = append(parts, append([]runtime.RuntimeDTO{}, rest...))
	}
	return parts, nil
}
