// The entry point `@uswarm/orchestrator/kubernetes-driver` of cluster tests.
export { PlatformUnreachable, type RuntimeObservation, type RuntimeSpec } from '../driver.js';
export { createKubernetesDriver, type KubernetesDriver } from './kubernetes-driver.js';
export type { StoredUserSwarm } from './userswarm.js';
export { FIELD_MANAGER, type UserSwarmSettings } from './userswarm-apply.js';
