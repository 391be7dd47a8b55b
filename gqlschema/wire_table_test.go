package gqlschema

// wire lists every type that the Provisioner reads or writes for upgrades: the name of the field on the wire, its name in Go, and its
// GraphQL type. It is a copy of its own on purpose: a change of the schema has to be made here too.
const wire = `
type KymaConfigInput
	version Version: String!
	profile Profile: KymaProfile
	components Components: [ComponentConfigurationInput!]!
	configuration Configuration: [ConfigEntryInput!]
	conflictStrategy ConflictStrategy: ConflictStrategy
type ComponentConfigurationInput
	component Component: String!
	namespace Namespace: String!
	configuration Configuration: [ConfigEntryInput!]
	sourceURL SourceURL: String
	conflictStrategy ConflictStrategy: ConflictStrategy
type ConfigEntryInput
	key Key: String!
	value Value: String!
	secret Secret: Boolean
type GardenerConfigInput
	name Name: String!
	kubernetesVersion KubernetesVersion: String!
	provider Provider: String!
	targetSecret TargetSecret: String!
	region Region: String!
	machineType MachineType: String!
	machineImage MachineImage: String
	machineImageVersion MachineImageVersion: String
	diskType DiskType: String
	volumeSizeGB VolumeSizeGb: Int
	workerCidr WorkerCidr: String!
	podsCidr PodsCidr: String
	servicesCidr ServicesCidr: String
	autoScalerMin AutoScalerMin: Int!
	autoScalerMax AutoScalerMax: Int!
	maxSurge MaxSurge: Int!
	maxUnavailable MaxUnavailable: Int!
	purpose Purpose: String
	licenceType LicenceType: String
	enableKubernetesVersionAutoUpdate EnableKubernetesVersionAutoUpdate: Boolean
	enableMachineImageVersionAutoUpdate EnableMachineImageVersionAutoUpdate: Boolean
	providerSpecificConfig ProviderSpecificConfig: ProviderSpecificInput!
	dnsConfig DNSConfig: DNSConfigInput
	seed Seed: String
	oidcConfig OidcConfig: OIDCConfigInput
	exposureClassName ExposureClassName: String
	shootNetworkingFilterDisabled ShootNetworkingFilterDisabled: Boolean
	controlPlaneFailureTolerance ControlPlaneFailureTolerance: String
	euAccess EuAccess: Boolean
	shootAndSeedSameRegion ShootAndSeedSameRegion: Boolean
type ProviderSpecificInput
	gcpConfig GcpConfig: GCPProviderConfigInput
	azureConfig AzureConfig: AzureProviderConfigInput
	awsConfig AwsConfig: AWSProviderConfigInput
	openStackConfig OpenStackConfig: OpenStackProviderConfigInput
type AWSProviderConfigInput
	vpcCidr VpcCidr: String!
	awsZones AwsZones: [AWSZoneInput!]!
	enableIMDSv2 EnableIMDSv2: Boolean
type AWSZoneInput
	name Name: String!
	publicCidr PublicCidr: String!
	internalCidr InternalCidr: String!
	workerCidr WorkerCidr: String!
type AzureProviderConfigInput
	vnetCidr VnetCidr: String!
	zones Zones: [String!]
	azureZones AzureZones: [AzureZoneInput!]
	enableNatGateway EnableNatGateway: Boolean
	idleConnectionTimeoutMinutes IdleConnectionTimeoutMinutes: Int
type AzureZoneInput
	name Name: Int!
	cidr Cidr: String!
type GCPProviderConfigInput
	zones Zones: [String!]!
type OpenStackProviderConfigInput
	zones Zones: [String!]!
	floatingPoolName FloatingPoolName: String
	cloudProfileName CloudProfileName: String
	loadBalancerProvider LoadBalancerProvider: String!
type DNSConfigInput
	domain Domain: String!
	providers Providers: [DNSProviderInput!]
type DNSProviderInput
	domainsInclude DomainsInclude: [String!]!
	primary Primary: Boolean!
	secretName SecretName: String!
	type Type: String!
type OIDCConfigInput
	clientID ClientID: String!
	groupsClaim GroupsClaim: String!
	issuerURL IssuerURL: String!
	signingAlgs SigningAlgs: [String!]!
	usernameClaim UsernameClaim: String!
	usernamePrefix UsernamePrefix: String!
type UpgradeRuntimeInput
	kymaConfig KymaConfig: KymaConfigInput!
type UpgradeShootInput
	gardenerConfig GardenerConfig: GardenerUpgradeInput!
	administrators Administrators: [String!]
type GardenerUpgradeInput
	kubernetesVersion KubernetesVersion: String
	machineType MachineType: String
	diskType DiskType: String
	volumeSizeGB VolumeSizeGb: Int
	autoScalerMin AutoScalerMin: Int
	autoScalerMax AutoScalerMax: Int
	machineImage MachineImage: String
	machineImageVersion MachineImageVersion: String
	maxSurge MaxSurge: Int
	maxUnavailable MaxUnavailable: Int
	purpose Purpose: String
	enableKubernetesVersionAutoUpdate EnableKubernetesVersionAutoUpdate: Boolean
	enableMachineImageVersionAutoUpdate EnableMachineImageVersionAutoUpdate: Boolean
	providerSpecificConfig ProviderSpecificConfig: ProviderSpecificInput
	oidcConfig OidcConfig: OIDCConfigInput
	exposureClassName ExposureClassName: String
	shootNetworkingFilterDisabled ShootNetworkingFilterDisabled: Boolean
type OperationStatus
	id ID: String
	operation Operation: OperationType!
	state State: OperationState!
	message Message: String
	runtimeID RuntimeID: String
	compassRuntimeID CompassRuntimeID: String
	lastError LastError: LastError
type LastError
	errMessage ErrMessage: String!
	reason Reason: String!
	component Component: String!
type RuntimeStatus
	lastOperationStatus LastOperationStatus: OperationStatus
	runtimeConfiguration RuntimeConfiguration: RuntimeConfig
	hibernationStatus HibernationStatus: HibernationStatus
type RuntimeConfig
	clusterConfig ClusterConfig: GardenerConfig
	kymaConfig KymaConfig: KymaConfig
`
