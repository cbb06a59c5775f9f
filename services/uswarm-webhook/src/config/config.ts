import { MODEL_PROVIDERS } from '@uswarm/contract/providers';
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
  .pipe(z.array(z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'needs slugs, comma-separated')));

const schema = z.object({
  /** What the controller shows as its bearer token. */
  SYNC_TOKEN: secret(headerSecret(1).refine((token) => Buffer.byteLength(token) >= 32, 'needs at least 32 bytes')),
  /** Accepted besides SYNC_TOKEN while it is rotated; the controller shows one only. */
  SYNC_TOKEN_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `/sync` and `/healthz`. */
  HTTP_PORT: port.default(8080),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
  /** The folder that the ConfigMap `uswarm-policy` is mounted at. */
  POLICY_DIRECTORY: z.string().default('/etc/uswarm/policy'),
  /** Only with a controller that gives go-aheads: without one nothing would ever be rolled out. */
  ROLLOUT_GATE: flag.default(false),
  RUNTIME_PODS: json(runtimePods).prefault('{}'),
  /** Not secret, but it comes out of the Secret of the private key. */
  USWARM_CALL_PUBLIC_KEY: secret(callPublicKey),
  SVC_AGENT_RUNTIME_IMAGE: z
    .string()
    .max(512)
    .regex(/^[a-zA-Z0-9][^\s]*$/, 'needs the name of an image'),
  /** Slugs, comma-separated: the model providers of SVC_AGENT_RUNTIME_IMAGE, if it is not our own image. */
  RUNTIME_PROVIDERS: providers.default([...MODEL_PROVIDERS]),
  SVC_ORCHESTRATOR_ENDPOINT: plainUrl,
  SVC_MCP_ENDPOINT: plainUrl,
  ...storeVariables,
});

export interface WebhookConfig {
  syncToken: string;
  /** Accepted besides. */
  previousSyncTokens: readonly string[];
  port: number;
  opsPort: number;
  /** What the background probe asks, when pods are given a database. */
  database: Database | undefined;
  settings: RenderSettings;
}

/**
 * The environment and the policy's folder, read once. spec: supporting §2.4
 *
 * @throws ConfigError that names each setting at fault and no value.
 */
export async function loadWebhookConfig(env: Record<string, string | undefined>): Promise<WebhookConfig> {
  const values = loadConfig(schema, env);
  const { stores, database } = readStores(values);
  const settings: TemplateSettings = {
    image: values.SVC_AGENT_RUNTIME_IMAGE,
    orchestratorEndpoint: values.SVC_ORCHESTRATOR_ENDPOINT,
    mcpEndpoint: values.SVC_MCP_ENDPOINT,
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
