//go:build ignore

// This program writes models_gen.go. It calls gqlgen's model generator alone: gqlgen's own command also writes a server, which would
// bring gqlgen's runtime into the product's module.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/plugin"
	"github.com/99designs/gqlgen/plugin/modelgen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate models:", err)
		os.Exit(1)
	}
}

func run() error {
	modfile, err := filepath.Abs("../tools/go.mod")
	if err != nil {
		return fmt.Errorf("find the tools module: %w", err)
	}
	// gqlgen loads its own packages by name; they are required by the tools module only.
	if err := os.Setenv("GOFLAGS", "-mod=readonly -modfile="+modfile); err != nil {
		return fmt.Errorf("set GOFLAGS: %w", err)
	}
	cfg, err := config.LoadConfig("gqlgen.yml")
	if err != nil {
		return fmt.Errorf("load configuration: %w", err)
	}
	if err := cfg.LoadSchema(); err != nil {
		return fmt.Errorf("load schema: %w", err)
	}
	if err := cfg.Init(); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	models, ok := modelgen.New().(plugin.ConfigMutator)
	if !ok {
		return errors.New("gqlgen's model generator has changed")
	}
	if err := models.MutateConfig(cfg); err != nil {
		return fmt.Errorf("write models: %w", err)
	}
	return nil
}
