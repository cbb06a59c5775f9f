import { RUNTIME_STORES_SECRET, type UserSwarm, type UserSwarmSpec, workspaceIdOf } from '@uswarm/contract/userswarm';
import { outboundVariables } from './outbound.js';
import type { TemplateSettings } from './settings.js';

export type EnvironmentVariable =
  | { name: string; value?: string }
  | { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } };

/** Kubelets expand `$(NAME)`, also in what users wrote; doubled, a dollar stands for itself. */
const literal = (name: string, value: string): EnvironmentVariable => ({ name, value: value.replaceAll('$', '$$$$') });

/** The environment of a runtime, always in the same order. It has no credential: those come with each turn, or from a Secret. */
export function renderEnvironment(
  parent: UserSwarm,
  spec: UserSwarmSpec,
  settings: TemplateSettings,
): EnvironmentVariable[] {
  const { defaultProvider, defaultModel } = spec.config;
  return [
    literal('USWARM_WORKSPACE_ID', workspaceIdOf(parent.metadata.name)),
    literal('USWARM_USER_ID', spec.userId),
    literal('USWARM_RUNTIME_PORT', String(spec.runtime.port)),
    literal('USWARM_CALL_PUBLIC_KEY', settings.callPublicKey),
    ...(defaultProvider === undefined ? [] : [literal('USWARM_DEFAULT_PROVIDER', defaultProvider)]),
    ...(defaultModel === undefined ? [] : [literal('USWARM_DEFAULT_MODEL', defaultModel)]),
    literal('SVC_ORCHESTRATOR_ENDPOINT', settings.orchestratorEndpoint),
    literal('SVC_MCP_ENDPOINT', settings.mcpEndpoint),
    ...settings.stores.map(({ name, value }) => (value === undefined ? fromStoresSecret(name) : literal(name, value))),
    // By it the program knows how long a running turn may take to finish.
    literal('USWARM_TERMINATION_GRACE_S', String(settings.pods.terminationGracePeriodSeconds)),
    ...outboundVariables(settings.pods).map(({ name, value }) => literal(name, value)),
    // An empty value is stored as none, and what is sent must equal what is stored.
    ...settings.pods.extraEnv.map(({ name, value }) => (value === '' ? { name } : { name, value })),
  ];
}

const fromStoresSecret = (name: string): EnvironmentVariable => ({
  name,
  valueFrom: { secretKeyRef: { name: RUNTIME_STORES_SECRET, key: name } },
});
