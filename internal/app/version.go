package app

import "runtime/debug"

// Version returns the version of the program as the Go toolchain recorded it, or "dev" for a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
