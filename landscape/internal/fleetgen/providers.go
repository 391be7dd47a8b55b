package fleetgen

// plan is a service plan of the broker.
type plan struct {
	name string
	id   string
	// weight is how often runtimes of the provider have the plan.
	weight int
}

// region is a provider's region and the platform region of the sub-accounts
// whose runtimes live there.
type region struct {
	name     string
	platform string
	zones    []string
}

// provider is an infrastructure on which Shoots run.
type provider struct {
	name     string
	weight   int
	plans    []plan
	regions  []region
	machines []machine
	volumes  []string
	// infrastructure is the provider's own configuration of a Shoot's network.
	infrastructure string
}

type machine struct {
	name, cpu, memory string
}

// The names and ids of the plans are those of the public Kyma Environment Broker.
var (
	planAWS       = plan{"aws", "361c511f-f939-4621-b228-d0fb79a1fe15", 10}
	planAzure     = plan{"azure", "4deee563-e5ec-4731-b9b1-53b42d855f0c", 10}
	planAzureLite = plan{"azure_lite", "8cb22518-aa26-44c5-91a0-e669ec9bf443", 2}
	planGCP       = plan{"gcp", "ca6e5357-707f-4565-bbbd-b3ab732597c6", 10}
	planConverged = plan{"sap-converged-cloud", "03b812ac-c991-4528-b5bd-08b303523a63", 10}
	planFree      = plan{"free", "b1a5764e-2ea1-4f95-94c0-2b4538b37b55", 2}
	planTrial     = plan{"trial", "7d55d31d-35ae-4438-bf13-6ffdfa107d9f", 3}
)

const (
	serviceClassID   = "47c9dcbf-ff30-448e-ab36-d3bad66ba281"
	serviceClassName = "kymaruntime"

	networkType      = "calico"
	imageName        = "gardenlinux"
	imageVersion     = "1877.3.0"
	oldImageVersion  = "1592.9.0"
	deploymentName   = "simulated-extensions"
	registrationName = "simulated-extensions"
)

var providers = []provider{
	{
		name: "aws", weight: 45, plans: []plan{planAWS, planFree, planTrial},
		regions: []region{
			{"eu-central-1", "cf-eu10", []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}},
			{"us-east-1", "cf-us10", []string{"us-east-1a", "us-east-1b", "us-east-1c"}},
			{"ap-southeast-2", "cf-ap10", []string{"ap-southeast-2a", "ap-southeast-2b", "ap-southeast-2c"}},
			{"sa-east-1", "cf-br10", []string{"sa-east-1a", "sa-east-1b", "sa-east-1c"}},
			{"ap-northeast-1", "cf-jp10", []string{"ap-northeast-1a", "ap-northeast-1c", "ap-northeast-1d"}},
		},
		machines:       []machine{{"m6i.large", "2", "8Gi"}, {"m6i.xlarge", "4", "16Gi"}, {"m6i.4xlarge", "16", "64Gi"}},
		volumes:        []string{"gp3", "gp2"},
		infrastructure: `{"apiVersion":"aws.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig","networks":{"vpc":{"cidr":"10.250.0.0/16"}}}`,
	},
	{
		name: "azure", weight: 30, plans: []plan{planAzure, planAzureLite, planTrial},
		regions: []region{
			{"westeurope", "cf-eu20", []string{"1", "2", "3"}},
			{"eastus", "cf-us21", []string{"1", "2", "3"}},
			{"japaneast", "cf-jp20", []string{"1", "2", "3"}},
		},
		machines:       []machine{{"Standard_D2s_v5", "2", "8Gi"}, {"Standard_D4s_v5", "4", "16Gi"}, {"Standard_D16s_v5", "16", "64Gi"}},
		volumes:        []string{"StandardSSD_LRS"},
		infrastructure: `{"apiVersion":"azure.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig","zoned":true,"networks":{"vnet":{"cidr":"10.250.0.0/16"},"workers":"10.250.0.0/19"}}`,
	},
	{
		name: "gcp", weight: 18, plans: []plan{planGCP},
		regions: []region{
			{"europe-west3", "cf-eu30", []string{"europe-west3-a", "europe-west3-b", "europe-west3-c"}},
			{"us-central1", "cf-us30", []string{"us-central1-a", "us-central1-b", "us-central1-c"}},
			{"asia-south1", "cf-in30", []string{"asia-south1-a", "asia-south1-b", "asia-south1-c"}},
		},
		machines:       []machine{{"n2-standard-2", "2", "8Gi"}, {"n2-standard-4", "4", "16Gi"}, {"n2-standard-16", "16", "64Gi"}},
		volumes:        []string{"pd-balanced"},
		infrastructure: `{"apiVersion":"gcp.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig","networks":{"workers":"10.250.0.0/19"}}`,
	},
	{
		name: "openstack", weight: 7, plans: []plan{planConverged},
		regions: []region{
			{"eu-de-1", "cf-eu20", []string{"eu-de-1a", "eu-de-1b", "eu-de-1d"}},
			{"ap-au-1", "cf-ap20", []string{"ap-au-1a", "ap-au-1b"}},
		},
		machines:       []machine{{"g_c2_m8", "2", "8Gi"}, {"g_c4_m16", "4", "16Gi"}, {"g_c16_m64", "16", "64Gi"}},
		volumes:        []string{"default"},
		infrastructure: `{"apiVersion":"openstack.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureConfig","floatingPoolName":"external","networks":{"workers":"10.250.0.0/19"}}`,
	},
}
