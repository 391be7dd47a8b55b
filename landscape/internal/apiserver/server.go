// Package apiserver runs Gardener's own API server inside this process, on an
// etcd that is given to it, with Gardener's admission in front of the storage.
// There is no Kubernetes API server behind it: an in-memory client stands for
// the Secrets and Namespaces that admission reads.
package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gardener/gardener/cmd/gardener-apiserver/app"
	"github.com/gardener/gardener/pkg/api"
	"github.com/gardener/gardener/pkg/apiserver"
	admissioninitializer "github.com/gardener/gardener/pkg/apiserver/admission/initializer"
	coreclientset "github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	coreinformers "github.com/gardener/gardener/pkg/client/core/informers/externalversions"
	securityclientset "github.com/gardener/gardener/pkg/client/security/clientset/versioned"
	securityinformers "github.com/gardener/gardener/pkg/client/security/informers/externalversions"
	seedclientset "github.com/gardener/gardener/pkg/client/seedmanagement/clientset/versioned"
	seedinformers "github.com/gardener/gardener/pkg/client/seedmanagement/informers/externalversions"
	"github.com/gardener/gardener/pkg/features"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// unusedAdmission are the plugins that ask a Kubernetes API server for objects
// that do not exist here. All others run.
var unusedAdmission = []string{
	"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ResourceQuota",
}

// closeGrace is how long a stopping server waits for its clients to go away.
const closeGrace = 500 * time.Millisecond

// Options says how to run the server. All fields are required, except where noted.
type Options struct {
	// EtcdEndpoint is the address of the etcd member.
	EtcdEndpoint string
	// Listener is where the server itself listens; fleets have doors of their own.
	// It is closed with the server, and when that cannot be started.
	Listener net.Listener
	// Identities decides who a token belongs to and what that user may do.
	Identities *Identities
	// Audit receives what AuditPolicy asks for.
	Audit audit.Backend
	// AuditPolicy says which requests are recorded and with which bodies.
	AuditPolicy audit.PolicyRuleEvaluator
}

// Server is a running API server. Stop it with Close.
type Server struct {
	certificate *Certificate
	loopback    *rest.Config
	core        coreclientset.Interface
	security    securityclientset.Interface
	kube        kubernetes.Interface
	factory     coreinformers.SharedInformerFactory
	handler     http.Handler

	listener      *trackingListener
	stopInformers context.CancelFunc
	shutInformers func()
	cancel        context.CancelFunc
	done          chan struct{}
	err           error
}

// Start builds the server, runs it, and waits until it is ready or ctx ends.
// Ending ctx does not stop a server that has started.
func Start(ctx context.Context, options Options) (*Server, error) {
	registerFeatureGates()
	certificate, err := newCertificate()
	if err != nil {
		return nil, errors.Join(err, options.Listener.Close())
	}
	s := &Server{
		certificate: certificate,
		kube:        newKube(),
		listener:    newTrackingListener(options.Listener),
		done:        make(chan struct{}),
	}
	built, start, err := s.build(options)
	if err != nil {
		return nil, errors.Join(err, options.Listener.Close())
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.handler = built.Handler
	go func() {
		defer close(s.done)
		s.err = built.PrepareRun().RunWithContext(run)
	}()
	informers, stopInformers := context.WithCancel(run)
	s.stopInformers = stopInformers
	start(informers.Done())
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// build assembles the server the way Gardener's own command does, with the
// parts that need a Kubernetes API server left out. The returned function
// starts the informers that admission reads from.
func (s *Server) build(options Options) (*genericapiserver.GenericAPIServer, func(stop <-chan struct{}), error) {
	opts := app.NewOptions()
	recommended := opts.Recommended
	recommended.Authentication = nil
	recommended.Authorization = nil
	recommended.CoreAPI = nil
	recommended.Features.EnablePriorityAndFairness = false
	recommended.Features.EnableProfiling = false
	recommended.SecureServing.Listener = s.listener
	recommended.SecureServing.ServerCert.CertDirectory = ""
	recommended.SecureServing.ServerCert.GeneratedCert = s.certificate.provider
	recommended.Etcd.StorageConfig.Transport.ServerList = []string{options.EtcdEndpoint}
	recommended.Etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	// Admission lists the ManagedSeeds of the namespace whenever a Shoot changes.
	// From the watch cache that takes up to 100 ms after every write, the period in
	// which the cache asks etcd how far it is; there are none, so asking etcd is fast.
	recommended.Etcd.WatchCacheSizes = []string{"managedseeds.seedmanagement.gardener.cloud#0"}
	recommended.Admission.DisablePlugins = unusedAdmission
	opts.ServerRunOptions.MaxRequestsInFlight = 0
	opts.ServerRunOptions.MaxMutatingRequestsInFlight = 0
	opts.ExtraOptions.ClusterIdentity = "swell-landscape-simulator"
	opts.ExtraOptions.AdminKubeconfigMaxExpiration = 24 * time.Hour
	opts.ExtraOptions.ViewerKubeconfigMaxExpiration = 24 * time.Hour
	opts.ExtraOptions.CredentialsRotationInterval = 90 * 24 * time.Hour
	opts.ExtraOptions.WorkloadIdentityTokenMinExpiration = time.Hour
	opts.ExtraOptions.WorkloadIdentityTokenMaxExpiration = 48 * time.Hour

	kubeFactory := kubeinformers.NewSharedInformerFactory(s.kube, 0)
	config := &apiserver.Config{
		GenericConfig:       genericapiserver.NewRecommendedConfig(api.Codecs),
		KubeInformerFactory: kubeFactory,
	}
	if err := opts.ApplyTo(config, s.kube); err != nil {
		return nil, nil, fmt.Errorf("apply options: %w", err)
	}
	server := config.GenericConfig
	server.Authentication.Authenticator = bearertoken.New(options.Identities)
	server.Authorization.Authorizer = options.Identities
	server.SharedInformerFactory = kubeFactory
	server.AuditBackend = options.Audit
	server.AuditPolicyRuleEvaluator = options.AuditPolicy
	config.SubjectAccessReviewer = s.kube.AuthorizationV1().SubjectAccessReviews()

	s.loopback = rest.CopyConfig(server.LoopbackClientConfig)
	s.loopback.ContentType = runtime.ContentTypeProtobuf
	s.loopback.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	s.loopback.QPS = -1

	coreClient, err := coreclientset.NewForConfig(s.loopback)
	if err != nil {
		return nil, nil, fmt.Errorf("make core client: %w", err)
	}
	seedClient, err := seedclientset.NewForConfig(s.loopback)
	if err != nil {
		return nil, nil, fmt.Errorf("make seed management client: %w", err)
	}
	securityClient, err := securityclientset.NewForConfig(s.loopback)
	if err != nil {
		return nil, nil, fmt.Errorf("make security client: %w", err)
	}
	s.core, s.security = coreClient, securityClient
	s.factory = coreinformers.NewSharedInformerFactory(coreClient, 0)
	seedFactory := seedinformers.NewSharedInformerFactory(seedClient, 0)
	securityFactory := securityinformers.NewSharedInformerFactory(securityClient, 0)
	config.CoreInformerFactory = s.factory

	dynamicClient := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	initializer := admissioninitializer.New(s.factory, coreClient, seedFactory, seedClient, securityFactory, securityClient,
		kubeFactory, s.kube, dynamicClient, server.Authorization.Authorizer, generic.NewConfiguration(nil, nil))
	if err := recommended.Admission.ApplyTo(&server.Config, kubeFactory, s.kube, dynamicClient,
		features.DefaultFeatureGate, server.EffectiveVersion, initializer); err != nil {
		return nil, nil, fmt.Errorf("apply admission: %w", err)
	}
	built, err := config.Complete().New()
	if err != nil {
		return nil, nil, fmt.Errorf("build server: %w", err)
	}
	start := func(stop <-chan struct{}) {
		kubeFactory.Start(stop)
		s.factory.Start(stop)
		seedFactory.Start(stop)
		securityFactory.Start(stop)
	}
	s.shutInformers = func() {
		kubeFactory.Shutdown()
		s.factory.Shutdown()
		seedFactory.Shutdown()
		securityFactory.Shutdown()
	}
	return built.GenericAPIServer, start, nil
}

func (s *Server) waitReady(ctx context.Context) error {
	const pause = 20 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var last error
	for {
		if last = s.core.CoreV1beta1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return fmt.Errorf("API server ended: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("wait until API server is ready: %w", errors.Join(ctx.Err(), last))
		}
	}
}

// Core returns a client for Gardener's core API with all rights.
func (s *Server) Core() coreclientset.Interface { return s.core }

// Security returns a client for Gardener's security API with all rights.
func (s *Server) Security() securityclientset.Interface { return s.security }

// Kube returns the in-memory client that stands for the Kubernetes API.
func (s *Server) Kube() kubernetes.Interface { return s.kube }

// Informers returns the running informers of the core API, which admission
// shares. Informers that are asked for first by the caller must be started.
func (s *Server) Informers() coreinformers.SharedInformerFactory { return s.factory }

// Handler serves the whole API, authentication and admission included. Doors
// put it behind listeners of their own.
func (s *Server) Handler() http.Handler { return s.handler }

// TLSConfig returns what a listener needs to serve Handler with the server's
// certificate over HTTP/2.
func (s *Server) TLSConfig() *tls.Config { return s.certificate.tlsConfig() }

// CertificateAuthority returns the PEM bundle that clients verify the server with.
func (s *Server) CertificateAuthority() []byte { return s.certificate.authority }

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close stops the server and waits for it. Connections whose clients stay are
// cut after closeGrace.
func (s *Server) Close() error {
	s.stopInformers()
	s.shutInformers()
	if client, err := rest.HTTPClientFor(s.loopback); err == nil {
		client.CloseIdleConnections()
	}
	s.cancel()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-s.done:
	case <-grace.C:
		s.listener.cut()
		<-s.done
	}
	return s.err
}
