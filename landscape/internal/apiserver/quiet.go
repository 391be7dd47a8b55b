package apiserver

import (
	"io"
	"sync"

	"github.com/gardener/gardener/pkg/apiserver/features"
	"github.com/go-logr/logr"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// registerFeatureGates makes Gardener's feature gates known, which its
// validation expects. The registry is global, so once per process.
var registerFeatureGates = sync.OnceFunc(features.RegisterFeatureGates)

// Quiet silences the process-wide loggers of the Kubernetes and gRPC libraries,
// which would otherwise write to standard error. Call it first thing in main.
func Quiet() {
	klog.SetLogger(logr.Discard())
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}
