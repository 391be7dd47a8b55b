package kyma

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Identities decides who a token belongs to and what that user may do.
type Identities interface {
	authenticator.Token
	authorizer.Authorizer
}

// Server is a running API server for Kymas. Stop it with Close.
type Server struct {
	client   dynamic.Interface
	loopback *rest.Config
	handler  http.Handler
	cancel   context.CancelFunc
	done     chan struct{}
	err      error
}

// Start builds the server, runs it, and waits until it serves Kymas or ctx ends.
// Ending ctx does not stop a server that has started.
func Start(ctx context.Context, etcd string, identities Identities) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{done: make(chan struct{})}
	built, err := s.build(listener, etcd, identities)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel, s.handler = cancel, built.Handler
	go func() {
		defer close(s.done)
		s.err = built.PrepareRun().RunWithContext(run)
	}()
	if err := s.define(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) build(listener net.Listener, etcd string, identities Identities) (*genericapiserver.GenericAPIServer, error) {
	generic := genericapiserver.NewRecommendedConfig(apiserver.Codecs)
	generic.EffectiveVersion = utilcompatibility.DefaultBuildEffectiveVersion()
	generic.ExternalAddress = listener.Addr().String()
	generic.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions),
		openapinamer.NewDefinitionNamer(apiserver.Scheme, scheme.Scheme))
	generic.MaxRequestsInFlight, generic.MaxMutatingRequestsInFlight = 0, 0

	secure := genericoptions.NewSecureServingOptions().WithLoopback()
	secure.Listener, secure.ServerCert.CertDirectory = listener, ""
	if err := secure.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	if err := secure.ApplyTo(&generic.SecureServing, &generic.LoopbackClientConfig); err != nil {
		return nil, fmt.Errorf("apply serving options: %w", err)
	}
	storage := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/kyma", apiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)))
	storage.StorageConfig.Transport.ServerList = []string{etcd}
	if err := storage.ApplyTo(&generic.Config); err != nil {
		return nil, fmt.Errorf("apply storage options: %w", err)
	}
	// The wrapper in New of the generic server lets the loopback client in.
	generic.Authentication.Authenticator = bearertoken.New(identities)
	generic.Authorization.Authorizer = identities

	s.loopback = rest.CopyConfig(generic.LoopbackClientConfig)
	s.loopback.QPS = -1
	client, err := dynamic.NewForConfig(s.loopback)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	s.client = client
	config := &apiserver.Config{GenericConfig: generic, ExtraConfig: apiserver.ExtraConfig{
		CRDRESTOptionsGetter: options.NewCRDRESTOptionsGetter(*storage, generic.ResourceTransformers, generic.StorageObjectCountTracker),
		MasterCount:          1,
		ServiceResolver:      noServices{},
		AuthResolverWrapper:  func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return r },
	}}
	completed := config.Complete()
	completed.GenericConfig.EnableDiscovery = true
	built, err := completed.New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("build server for Kymas: %w", err)
	}
	return built.GenericAPIServer, nil
}

// noServices says that there are no services: no webhook is ever configured.
type noServices struct{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (noServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, fmt.Errorf("there is no service %s/%s in a simulator", namespace, name)
}

// define creates the definition of Kymas and waits until they are served.
func (s *Server) define(ctx context.Context) error {
	definitions, err := clientset.NewForConfig(s.loopback)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	created := false
	return s.until(ctx, func() error {
		if !created {
			if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, definition(), metav1.CreateOptions{}); err != nil {
				return err
			}
			created = true
		}
		_, err := s.client.Resource(Resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

// until tries again and again until there is no error.
func (s *Server) until(ctx context.Context, try func() error) error {
	const pause = 20 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		last := try()
		if last == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return fmt.Errorf("server for Kymas ended: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("wait until Kymas are served: %w", errors.Join(ctx.Err(), last))
		}
	}
}

// Client returns a client with all rights.
func (s *Server) Client() dynamic.Interface { return s.client }

// Handler serves the API, authentication included. Doors put it behind listeners
// of their own.
func (s *Server) Handler() http.Handler { return s.handler }

// Close stops the server and waits for it.
func (s *Server) Close() error {
	if client, err := rest.HTTPClientFor(s.loopback); err == nil {
		client.CloseIdleConnections()
	}
	s.cancel()
	<-s.done
	return s.err
}
