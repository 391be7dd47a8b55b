package auth

// ReadGroups is readGroups, for tests.
var ReadGroups = readGroups
