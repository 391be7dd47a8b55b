package orchestration

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/internal/quantity"
)

// Preview says what an upgrade would do if it were started at the moment At. The fleet may change until it is; the targets of an upgrade with a later
// start are resolved when it starts.
type Preview struct {
	Type Type `json:"type"`
	// At is when the targets were resolved for the preview.
	At time.Time `json:"at"`
	// Revision is the same for two previews that have the same rows in the same order. Pages with different revisions do not belong together.
	Revision string `json:"revision"`
	// Executor is the backend that would carry the upgrade out, such as "gardener", "provisioner" or "kyma".
	Executor string `json:"executor"`
	// Parameters are those of the request with the defaults of the server filled in, as the orchestration would have them.
	Parameters Parameters `json:"parameters"`
	// StartsAt is the time before which the orchestration would not start; nil when that is at once.
	StartsAt *time.Time `json:"startsAt,omitempty"`
	// FirstWindowBegin and LastWindowBegin are the earliest and the latest begin of a maintenance window that a runtime would wait for, over all
	// pages; nil when none would. A window that is open at the start may have begun before.
	FirstWindowBegin *time.Time `json:"firstWindowBegin,omitempty"`
	LastWindowBegin  *time.Time `json:"lastWindowBegin,omitempty"`
	// Skipped is how many of the runtimes would be skipped, over all pages.
	Skipped int `json:"skipped"`
	// Runtimes are those that the targets select.
	Runtimes PreviewRuntimeList `json:"runtimes"`
	// LeftOut are those that the targets match and that would be left out.
	LeftOut LeftOutList `json:"leftOut"`
	// LeftOutReasons counts by reason what would be left out, over all pages.
	LeftOutReasons map[LeftOutReason]int `json:"leftOutReasons"`
	// Unmatched lists the indexes of the include entries that match no Shoot at all, not even one that would be left out: often a typing mistake.
	Unmatched []int `json:"unmatched"`
}

// PreviewRuntimeList is one page of the runtimes that an upgrade would select, in the order in which they would start if there were a worker for
// each; those that would be skipped come last.
type PreviewRuntimeList struct {
	Data       []PreviewRuntime `json:"data"`
	Count      int              `json:"count"`
	TotalCount int              `json:"totalCount"`
}

// PreviewRuntime is a runtime that an upgrade would select.
type PreviewRuntime struct {
	ShootName       string `json:"shootName"`
	RuntimeID       string `json:"runtimeID"`
	InstanceID      string `json:"instanceID"`
	GlobalAccountID string `json:"globalAccountID"`
	SubAccountID    string `json:"subAccountID"`
	// Region is the region of the provider.
	Region          string `json:"region"`
	ServicePlanID   string `json:"servicePlanID"`
	ServicePlanName string `json:"servicePlanName"`
	// KubernetesVersion is the present version of the cluster; empty when it is not known.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// KymaVersion is the present version of Kyma. It is told in previews of an upgrade of Kyma only, and empty when it is not known.
	KymaVersion string `json:"kymaVersion,omitempty"`
	// MaintenanceWindowBegin and MaintenanceWindowEnd are the window that the upgrade would wait for or start in; nil when it would use none.
	MaintenanceWindowBegin *time.Time `json:"maintenanceWindowBegin,omitempty"`
	MaintenanceWindowEnd   *time.Time `json:"maintenanceWindowEnd,omitempty"`
	// Skipped says why the runtime would be skipped; empty when it would not.
	Skipped string `json:"skipped,omitempty"`
	// BusyWith is the orchestration that is changing the runtime at the moment; the upgrade would wait for it. Empty when none is.
	BusyWith string `json:"busyWith,omitempty"`
}

// maxPreviewTries is how often a preview of several pages is begun because the fleet changed between two of them.
const maxPreviewTries = 5

// errPreviewChanged means that two pages belong to different previews.
var errPreviewChanged = errors.New("the fleet changes too fast: no two pages of the preview belonged together")

// PreviewKyma implements ExtendedClient.
func (c *client) PreviewKyma(params Parameters, page ListParameters) (Preview, error) {
	return c.preview("kyma", params, page)
}

// PreviewCluster implements ExtendedClient.
func (c *client) PreviewCluster(params Parameters, page ListParameters) (Preview, error) {
	return c.preview("cluster", params, page)
}

func (c *client) preview(what string, params Parameters, page ListParameters) (preview Preview, err error) {
	switch {
	case page.Page < 0 || page.PageSize < 0:
		err = fmt.Errorf("page %d and page size %d must not be negative", page.Page, page.PageSize)
	case page.Page > 0 && page.PageSize > 0:
		preview, err = c.previewPage(what, params, page.Page, page.PageSize)
	default:
		for range maxPreviewTries {
			if preview, err = c.wholePreview(what, params, page.PageSize); !errors.Is(err, errPreviewChanged) {
				break
			}
		}
	}
	if err != nil {
		return Preview{}, fmt.Errorf("preview the upgrade of %s: %w", what, err)
	}
	return preview, nil
}

// wholePreview puts all pages together.
func (c *client) wholePreview(what string, params Parameters, size int) (Preview, error) {
	whole, err := c.previewPage(what, params, 1, size)
	if err != nil {
		return Preview{}, err
	}
	for number := 2; len(whole.Runtimes.Data) < whole.Runtimes.TotalCount || len(whole.LeftOut.Data) < whole.LeftOut.TotalCount; number++ {
		next, err := c.previewPage(what, params, number, size)
		switch {
		case err != nil:
			return Preview{}, err
		case next.Revision != whole.Revision:
			return Preview{}, errPreviewChanged
		case len(next.Runtimes.Data)+len(next.LeftOut.Data) == 0:
			return Preview{}, fmt.Errorf("page %d is empty although %d of %d runtimes and %d of %d left out ones were read",
				number, len(whole.Runtimes.Data), whole.Runtimes.TotalCount, len(whole.LeftOut.Data), whole.LeftOut.TotalCount)
		}
		whole.Runtimes.Data = append(whole.Runtimes.Data, next.Runtimes.Data...)
		whole.LeftOut.Data = append(whole.LeftOut.Data, next.LeftOut.Data...)
	}
	if len(whole.Runtimes.Data) != whole.Runtimes.TotalCount || len(whole.LeftOut.Data) != whole.LeftOut.TotalCount {
		return Preview{}, fmt.Errorf("the pages hold %s and %d left out instead of %d and %d",
			quantity.Of(len(whole.Runtimes.Data), "runtime"), len(whole.LeftOut.Data), whole.Runtimes.TotalCount, whole.LeftOut.TotalCount)
	}
	whole.Runtimes.Count, whole.LeftOut.Count = len(whole.Runtimes.Data), len(whole.LeftOut.Data)
	return whole, nil
}

// previewPage reads one page. A size of 0 leaves the size to the server.
func (c *client) previewPage(what string, params Parameters, number, size int) (Preview, error) {
	query := url.Values{"page": {strconv.Itoa(number)}}
	if size > 0 {
		query.Set("page_size", strconv.Itoa(size))
	}
	preview, err := apiclient.Send[Preview](c.ctx, c.api, apiclient.Request{
		Method: http.MethodPost,
		Path:   []string{"upgrade", what, "preview"},
		Query:  query,
		JSON:   params,
		Safe:   true,
	})
	if err != nil {
		return Preview{}, err
	}
	if preview.Revision == "" {
		return Preview{}, errors.New("the answer is no preview: it has no revision")
	}
	if preview.Runtimes.Data == nil {
		preview.Runtimes.Data = []PreviewRuntime{}
	}
	if preview.LeftOut.Data == nil {
		preview.LeftOut.Data = []LeftOut{}
	}
	return preview, nil
}
