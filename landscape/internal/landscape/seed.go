package landscape

import (
	"context"
	"fmt"
	"time"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
)

// seed lays down what all fleets share: CloudProfiles and the extensions.
func (l *Landscape) seed(ctx context.Context) error {
	core := l.server.Core()
	registration, deployment := fleetgen.Extensions()
	_, err := core.CoreV1().ControllerDeployments().Create(ctx, &gardencorev1.ControllerDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: deployment.Name},
		Helm:       &gardencorev1.HelmControllerDeployment{RawChart: []byte("simulated")},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("seed controller deployment: %w", err)
	}
	if _, err := core.CoreV1beta1().ControllerRegistrations().Create(ctx, registration, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("seed controller registration: %w", err)
	}
	for _, profile := range fleetgen.CloudProfiles() {
		versions := profile.Spec.Kubernetes.Versions
		created, err := core.CoreV1beta1().CloudProfiles().Create(ctx, profile, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("seed cloud profile: %w", err)
		}
		// Creating a profile drops versions that have expired; in production they
		// expire while they are in it.
		created.Spec.Kubernetes.Versions = versions
		if _, err := core.CoreV1beta1().CloudProfiles().Update(ctx, created, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("seed expired versions: %w", err)
		}
	}
	return nil
}

// seedProject lays down what admission wants to find for the Shoots of a
// namespace: its project and the credentials for every provider.
func (l *Landscape) seedProject(ctx context.Context, fleet fleetgen.Fleet) error {
	kube := l.server.Kube()
	namespace := fleet.Namespace
	_, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			v1beta1constants.GardenRole:  v1beta1constants.GardenRoleProject,
			v1beta1constants.ProjectName: fleet.Project(),
		}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("seed namespace: %w", err)
	}
	owner := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: fleetUser(namespace)}
	projects := l.server.Core().CoreV1beta1().Projects()
	project, err := projects.Create(ctx, &gardencorev1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: fleet.Project()},
		Spec: gardencorev1beta1.ProjectSpec{
			Namespace: &namespace,
			Owner:     &owner,
			Members: []gardencorev1beta1.ProjectMember{
				{Subject: owner, Role: gardencorev1beta1.ProjectMemberAdmin, Roles: []string{gardencorev1beta1.ProjectMemberOwner}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("seed project: %w", err)
	}
	project.Status.Phase = gardencorev1beta1.ProjectReady
	project.Status.ObservedGeneration = project.Generation
	if _, err := projects.UpdateStatus(ctx, project, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("seed project status: %w", err)
	}
	for _, provider := range fleetgen.ProviderTypes() {
		name := fleetgen.CredentialsName(provider)
		_, err := kube.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("seed secret: %w", err)
		}
		_, err = l.server.Security().SecurityV1alpha1().CredentialsBindings(namespace).Create(ctx, &securityv1alpha1.CredentialsBinding{
			ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: namespace},
			Provider:       securityv1alpha1.CredentialsBindingProvider{Type: provider},
			CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("seed credentials binding: %w", err)
		}
	}
	return nil
}

// removeProject removes what seedProject laid down, as far as it came.
func (l *Landscape) removeProject(ctx context.Context, namespace, project string) error {
	kube := l.server.Kube()
	for _, provider := range fleetgen.ProviderTypes() {
		name := fleetgen.CredentialsName(provider)
		bindings := l.server.Security().SecurityV1alpha1().CredentialsBindings(namespace)
		if err := bindings.Delete(ctx, name, metav1.DeleteOptions{}); unlessGone(err) != nil {
			return fmt.Errorf("remove credentials binding: %w", err)
		}
		if err := kube.CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{}); unlessGone(err) != nil {
			return fmt.Errorf("remove secret: %w", err)
		}
	}
	projects := l.server.Core().CoreV1beta1().Projects()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true",%q:%q}}}`,
		v1beta1constants.ConfirmationDeletion, v1beta1constants.GardenerTimestamp, time.Now().UTC().Format(time.RFC3339))
	if _, err := projects.Patch(ctx, project, mergePatch, []byte(patch), metav1.PatchOptions{}); unlessGone(err) != nil {
		return fmt.Errorf("confirm removal of project: %w", err)
	}
	if err := projects.Delete(ctx, project, metav1.DeleteOptions{}); unlessGone(err) != nil {
		return fmt.Errorf("remove project: %w", err)
	}
	if err := kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); unlessGone(err) != nil {
		return fmt.Errorf("remove namespace: %w", err)
	}
	return nil
}

// unlessGone passes over the error that says that there is nothing to remove.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
