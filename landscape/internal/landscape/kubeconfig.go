package landscape

import (
	"fmt"
	"path/filepath"

	coreclientset "github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig whose every name says that this is a simulator.
func (l *Landscape) writeKubeconfig(path, address, user, token, namespace string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[Name] = &clientcmdapi.Cluster{
		Server:                   "https://" + address,
		CertificateAuthorityData: l.server.CertificateAuthority(),
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[Name] = &clientcmdapi.Context{Cluster: Name, AuthInfo: user, Namespace: namespace}
	config.CurrentContext = Name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// writeAdminKubeconfig gives all rights, past every door and its faults.
func (l *Landscape) writeAdminKubeconfig(address string) error {
	token := newToken()
	l.identities.AddAdmin(token, "landscape:admin")
	return l.writeKubeconfig(filepath.Join(l.dir, AdminKubeconfigFile), address, "landscape:admin", token, "")
}

// clientFor returns a client with all rights for a part of the simulator.
func (l *Landscape) clientFor(address, user string) (coreclientset.Interface, error) {
	token := newToken()
	l.identities.AddAdmin(token, user)
	client, err := coreclientset.NewForConfig(&rest.Config{
		Host:            "https://" + address,
		TLSClientConfig: rest.TLSClientConfig{CAData: l.server.CertificateAuthority()},
		BearerToken:     token,
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
		QPS: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", user, err)
	}
	return client, nil
}
