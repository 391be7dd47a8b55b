module github.com/swell-fleet/swell/scripts/verifymodule

go 1.26.5

require golang.org/x/mod v0.42.0
