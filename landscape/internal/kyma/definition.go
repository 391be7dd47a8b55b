package kyma

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is what Kymas are in the API.
var Resource = schema.GroupVersionResource{Group: "operator.kyma-project.io", Version: "v1beta2", Resource: "kymas"}

// Channels are the channels that there are modules in.
func Channels() []string { return []string{"regular", "fast", "experimental"} }

type props = apiextensionsv1.JSONSchemaProps

func object(fields map[string]props, required ...string) props {
	return props{Type: "object", Properties: fields, Required: required}
}

func list(of props, key string) props {
	p := props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
	if key != "" {
		kind := "map"
		p.XListType, p.XListMapKeys = &kind, []string{key}
	}
	return p
}

func text() props { return props{Type: "string"} }

func instant() props { return props{Type: "string", Format: "date-time"} }

// state is one of the states of Kymas and modules.
func state() props {
	p := text()
	for _, s := range []string{"Processing", "Deleting", "Ready", "Error", "", "Warning", "Unmanaged"} {
		p.Enum = append(p.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + s + `"`)})
	}
	return p
}

// channel is the name of a channel.
func channel() props {
	shortest, longest := int64(3), int64(32)
	return props{Type: "string", Pattern: "^[a-z]+$", MinLength: &shortest, MaxLength: &longest}
}

// definition defines Kymas with the part of their fields that upgrades need.
func definition() *apiextensionsv1.CustomResourceDefinition {
	module := object(map[string]props{
		"name": text(), "channel": channel(), "controller": text(),
		"customResourcePolicy": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"CreateAndDelete"`)}},
		"managed":              {Type: "boolean", Default: &apiextensionsv1.JSON{Raw: []byte("true")}},
	}, "name", "managed")
	spec := object(map[string]props{"channel": channel(), "skipMaintenanceWindows": {Type: "boolean"}, "modules": list(module, "name")}, "channel")
	condition := object(map[string]props{
		"type": text(), "status": text(), "reason": text(), "message": text(),
		"observedGeneration": {Type: "integer", Format: "int64"}, "lastTransitionTime": instant(),
	}, "type", "status", "reason", "message", "lastTransitionTime")
	status := object(map[string]props{
		"state": state(), "activeChannel": text(), "conditions": list(condition, "type"),
		"modules": list(object(map[string]props{
			"name": text(), "fqdn": text(), "channel": text(), "version": text(), "state": state(), "message": text(),
		}, "name", "state"), ""),
		"lastOperation": object(map[string]props{"operation": text(), "lastUpdateTime": instant()}, "operation"),
	})
	whole := object(map[string]props{"apiVersion": text(), "kind": text(), "metadata": {Type: "object"}, "spec": spec, "status": status})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: Resource.Resource + "." + Resource.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Resource.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Kyma", ListKind: "KymaList", Plural: Resource.Resource, Singular: "kyma"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: Resource.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
