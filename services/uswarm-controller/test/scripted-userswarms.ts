import { type Condition, UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';

export const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
export const DEPLOYMENTS = '/apis/apps/v1/namespaces/userswarms/deployments';

export const userSwarm = (name: string): KubernetesObject => ({
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name },
  spec: UserSwarmSpec.parse({ userId: 'user-1' }),
});
export const childOf = (name: string): string => `agent-runtime-${name}`;

/** A scripted API server with the namespace `userswarms`. */
export async function startApiWithNamespace(): Promise<ScriptedApi> {
  const api = await startScriptedApi();
  api.put('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'userswarms' } });
  return api;
}

export const statusOf = (api: ScriptedApi, name: string): { phase?: string; conditions?: Condition[] } =>
  api.get(USER_SWARMS, name)?.['status'] ?? {};

/** Returns true if the controller has created a Deployment for each UserSwarm. */
export const hasChildren = (api: ScriptedApi, names: readonly string[]): boolean =>
  names.every((name) => api.get(DEPLOYMENTS, childOf(name)) !== undefined);

/** Writes a Deployment's status like its own controller. */
export function setReadyReplicas(api: ScriptedApi, name: string, readyReplicas: number): void {
  const status = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas };
  api.put(DEPLOYMENTS, { ...api.get(DEPLOYMENTS, childOf(name))!, status });
}
