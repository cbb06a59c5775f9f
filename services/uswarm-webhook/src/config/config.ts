import { MODEL_PROVIDERS } from '@uswarm/contract/providers';
import { DNS_LABEL, DnsLabel } from '@uswarm/contract/userswarm';
import { flag, headerSecret, json, loadConfig, port, previousSecrets, secret } from '@uswarm/service-kit';
import { z } from 'zod';
import { platformRevision } from '../render/platform-revision.js';
import type { RenderSettings, TemplateSettings } from '../render/settings.js';
import { callPublicKey } from './call-public-key.js';
import { loadPolicy } from './policy.js';
import { runtimePods } from './runtime-pods.js';
import { type Database, plainUrl, readStores, storeVariables } from './stores.js';

const providers = z
  .string()
  .transform((text) => text.split(',').map((slug) => slug.trim()))
  .pipe(z.array(z.string().regex(DNS_LABEL, 'needs slugs, comma-separated')));

const schema = z.object({
  /** The controller's bearer token. */
  SYNC_TOKEN: secret(headerSecret(1).refine((token) => Buffer.byteLength(token) >= 32, 'needs at least 32 bytes')),
  /** Also accepted during the rotation of SYNC_TOKEN. */
  SYNC_TOKEN_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `/sync` and `/healthz`. */
  HTTP_PORT: port.default(8080),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
  /** Mount path for the ConfigMap `uswarm-policy`. */
  POLICY_DIRECTORY: z.string().default('/etc/uswarm/policy'),
  /** Requires a controller that grants rollouts; without one, no revision would be rolled out. */
  ROLLOUT_GATE: flag.default(false),
  RUNTIME_PODS: json(runtimePods).prefault('{}'),
  /** Not secret, but stored in the private key's Secret. */
  USWARM_CALL_PUBLIC_KEY: secret(callPublicKey),
  SVC_AGENT_RUNTIME_IMAGE: z
    .string()
    .max(512)
    .regex(/^[a-zA-Z0-9][^\s]*$/, 'needs the name of an image'),
  /** Comma-separated slugs of the model providers in SVC_AGENT_RUNTIME_IMAGE. Default: our own image's */
  RUNTIME_PROVIDERS: providers.default([...MODEL_PROVIDERS]),
  SVC_ORCHESTRATOR_ENDPOINT: plainUrl,
  SVC_MCP_ENDPOINT: plainUrl,
  /** Model gateway origin. Runtimes whose UserSwarm names no Secret then get no provider key. */
  MODEL_GATEWAY_URL: plainUrl.optional(),
  /** Slug of the provider that runtimes with the gateway use by default. */
  MODEL_PROVIDER: DnsLabel.optional(),
  ...storeVariables,
});

export interface WebhookConfig {
  syncToken: string;
  /** Also accepted. */
  previousSyncTokens: readonly string[];
  port: number;
  opsPort: number;
  /** The database to probe, if runtimes have one. */
  database: Database | undefined;
  settings: RenderSettings;
}

/**
 * Loads the configuration from the environment and the policy directory.
 *
 * @throws ConfigError with the name of each invalid setting, without values
 */
export async function loadWebhookConfig(env: Record<string, string | undefined>): Promise<WebhookConfig> {
  const values = loadConfig(schema, env);
  const { stores, database } = readStores(values);
  const settings: TemplateSettings = {
    image: values.SVC_AGENT_RUNTIME_IMAGE,
    orchestratorEndpoint: values.SVC_ORCHESTRATOR_ENDPOINT,
    mcpEndpoint: values.SVC_MCP_ENDPOINT,
    modelGateway:
      values.MODEL_GATEWAY_URL === undefined
        ? undefined
        : { url: values.MODEL_GATEWAY_URL, provider: values.MODEL_PROVIDER },
    callPublicKey: values.USWARM_CALL_PUBLIC_KEY,
    stores,
    pods: values.RUNTIME_PODS,
    policy: await loadPolicy(values.POLICY_DIRECTORY),
  };
  return {
    syncToken: values.SYNC_TOKEN,
    previousSyncTokens: values.SYNC_TOKEN_PREVIOUS,
    port: values.HTTP_PORT,
    opsPort: values.OPS_PORT,
    database,
    settings: {
      ...settings,
      platformRevision: platformRevision(settings),
      rolloutGate: values.ROLLOUT_GATE,
      providers: new Set(values.RUNTIME_PROVIDERS),
    },
  };
}
