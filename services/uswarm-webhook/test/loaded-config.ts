import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCallKeys } from '@uswarm/service-kit';
import { loadWebhookConfig, type WebhookConfig } from '../src/config/config.js';

export const SYNC_TOKEN = 'token-'.repeat(8);
const { publicKey } = generateCallKeys();

/** The webhook's own configuration, for namespace `userswarms`. */
export async function webhookConfig(environment: Record<string, string> = {}): Promise<WebhookConfig> {
  const policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
  const config = await loadWebhookConfig({
    SYNC_TOKEN,
    POLICY_DIRECTORY: policy,
    USWARM_CALL_PUBLIC_KEY: publicKey,
    SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
    SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator:8082',
    SVC_MCP_ENDPOINT: 'http://search:8080/mcp',
    ...environment,
  });
  await rm(policy, { recursive: true });
  return config;
}
