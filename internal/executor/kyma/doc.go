// Package kyma upgrades Kyma by moving the Kyma resource of a runtime, in the control plane cluster, to another release channel.
//
// Lifecycle Manager is declarative: an upgrade is one conditional patch of spec.channel, and what follows is watching the status. So looking first is
// cheap and always right: a Kyma that names the wanted channel already is followed and never written again, and a write that meets somebody
// else's is refused by the API server and leads back to looking.
//
// Ready alone proves nothing: the status may be older than the write, speak about another channel, or leave modules behind. What counts as
// success is listed in docs/adr/0040-success-of-a-kyma-upgrade.md.
package kyma
