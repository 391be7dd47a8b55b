package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newKube returns an in-memory stand-in for the Kubernetes API that Gardener's
// API server expects behind it. It holds the few Secrets and Namespaces that
// admission looks at; every namespace that is asked for by name exists.
func newKube() *fake.Clientset {
	kube := fake.NewSimpleClientset()
	kube.PrependReactor("get", "namespaces", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get, ok := action.(clienttesting.GetAction)
		if !ok {
			return false, nil, nil
		}
		stored, err := kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("namespaces"), "", get.GetName())
		if err == nil {
			return true, stored, nil
		}
		if !apierrors.IsNotFound(err) {
			return true, nil, err
		}
		return true, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: get.GetName()},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		}, nil
	})
	// Admission tries out changed Secrets as dry runs, which the fake would store.
	kube.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateActionImpl)
		if !ok || len(create.CreateOptions.DryRun) == 0 {
			return false, nil, nil
		}
		return true, create.Object, nil
	})
	return kube
}
