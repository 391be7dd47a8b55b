// Package runtime describes managed Kyma runtimes and lists them over the REST API of a broker.
//
// A runtime is one managed Kubernetes cluster with its Kyma installation. [RuntimeDTO] is what a broker tells about one: its IDs, its
// Shoot, its plan, its [State], and the operations that it went through, from the provisioning to the newest upgrade.
//
// # Listing runtimes
//
// [NewClient] makes a client from the base URL of the broker and an HTTP client that adds the user's ID token, for example one of
// golang.org/x/oauth2:
//
//	tokens := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: idToken})
//	client := runtime.NewClient("https://keb.example", oauth2.NewClient(ctx, tokens))
//	page, err := client.ListRuntimes(runtime.ListParameters{Regions: []string{"eu-demo-1"}})
//
// Without Page and PageSize the client reads all pages and returns every runtime once. Different filters are joined by AND, the values
// of one filter by OR, and all values are exact. Runtimes that are suspended or deprovisioned are left out unless a state filter asks
// for them; [AllState] asks for everything.
//
// # What a runtime is doing
//
// [RuntimeStatus].State says what a runtime is now. [RuntimeDTO.LastOperation] returns the newest operation of any kind, which is what
// decides whether a runtime may be upgraded.
//
// # When something goes wrong
//
// Reads are tried again after connection errors and after the statuses 429, 502, 503 and 504, with growing pauses or those that the
// server asks for. What remains is returned: an answer with another status than the expected one as an [*Error], with method, address,
// status and the server's reason. Servers may send keys that this version does not know; they are ignored.
package runtime
