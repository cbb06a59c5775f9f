import { RUNTIME_STORES_SECRET, type UserSwarm, type UserSwarmSpec, workspaceIdOf } from '@uswarm/contract/userswarm';
import { outboundVariables } from './outbound.js';
import { modelGatewayOf } from './model-gateway.js';
import type { TemplateSettings } from './settings.js';

export type EnvironmentVariable =
  | { name: string; value?: string }
  | { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } };

/** Escapes `$`, because the kubelet expands `$(NAME)` also in user input. */
const literal = (name: string, value: string): EnvironmentVariable => ({ name, value: value.replaceAll('$', '$$$$') });

/** A runtime's environment in a fixed order. It has no credentials: those come with each turn or from a Secret. */
export function renderEnvironment(
  parent: UserSwarm,
  spec: UserSwarmSpec,
  settings: TemplateSettings,
): EnvironmentVariable[] {
  const gateway = modelGatewayOf(spec, settings);
  const { stores, pods } = settings;
  // The operator's variable takes precedence, because names must be unique.
  const hasOwnGateway = pods.extraEnv.some(({ name }) => name === 'MODEL_GATEWAY_URL');
  const { defaultModel, defaultProvider = gateway?.provider } = spec.config;
  return [
    literal('USWARM_WORKSPACE_ID', workspaceIdOf(parent.metadata.name)),
    literal('USWARM_USER_ID', spec.userId),
    literal('USWARM_RUNTIME_PORT', String(spec.runtime.port)),
    literal('USWARM_CALL_PUBLIC_KEY', settings.callPublicKey),
    ...(defaultProvider === undefined ? [] : [literal('USWARM_DEFAULT_PROVIDER', defaultProvider)]),
    ...(defaultModel === undefined ? [] : [literal('USWARM_DEFAULT_MODEL', defaultModel)]),
    literal('SVC_ORCHESTRATOR_ENDPOINT', settings.orchestratorEndpoint),
    literal('SVC_MCP_ENDPOINT', settings.mcpEndpoint),
    ...(gateway === undefined || hasOwnGateway ? [] : [literal('MODEL_GATEWAY_URL', gateway.url)]),
    ...stores.map(({ name, value }) => (value === undefined ? fromStoresSecret(name) : literal(name, value))),
    // Tells the runtime how long a running turn may take to finish.
    literal('USWARM_TERMINATION_GRACE_S', String(pods.terminationGracePeriodSeconds)),
    ...outboundVariables(pods).map(({ name, value }) => literal(name, value)),
    // The API server drops an empty value, and the sent object must equal the stored one.
    ...pods.extraEnv.map(({ name, value }) => (value === '' ? { name } : { name, value })),
  ];
}

const fromStoresSecret = (name: string): EnvironmentVariable => ({
  name,
  valueFrom: { secretKeyRef: { name: RUNTIME_STORES_SECRET, key: name } },
});
