package audit

import "time"

// Filter chooses records. Empty fields choose all.
type Filter struct {
	Namespace string
	Name      string
	User      string
	Verb      string
	// Since chooses records at or after that time.
	Since time.Time
	// DryRun chooses requests that are, or are not, dry runs.
	DryRun *bool
	// Accepted chooses requests that were accepted and stored.
	Accepted bool
	// VersionChanged chooses changes of the Kubernetes version of a Shoot.
	VersionChanged bool
}

func (f Filter) matchRequest(r Request) bool {
	return matches(f.Namespace, r.Namespace) && matches(f.Name, r.Name) && matches(f.User, r.User) && matches(f.Verb, r.Verb) &&
		!r.Time.Before(f.Since) && (f.DryRun == nil || *f.DryRun == r.DryRun) && (!f.Accepted || r.Accepted())
}

func (f Filter) matchCommit(c Commit) bool {
	return matches(f.Namespace, c.Namespace) && matches(f.Name, c.Name) && matches(f.User, c.User) &&
		!c.Time.Before(f.Since) && (!f.VersionChanged || c.VersionChanged())
}

func matches(want, got string) bool { return want == "" || want == got }

// Upgrades counts the accepted writes that changed the Kubernetes version of an
// existing Shoot, also those whose answer was lost.
type Upgrades struct {
	Total    int            `json:"total"`
	PerShoot map[string]int `json:"perShoot"`
	Writes   []Commit       `json:"writes"`
}

// Upgrades returns the upgrades that match the filter.
func (l *Log) Upgrades(filter Filter) Upgrades {
	filter.VersionChanged = true
	upgrades := Upgrades{PerShoot: map[string]int{}, Writes: l.Commits(filter)}
	for _, c := range upgrades.Writes {
		upgrades.PerShoot[c.Name]++
	}
	upgrades.Total = len(upgrades.Writes)
	return upgrades
}
