import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCallKeys } from '@uswarm/service-kit';

export const SYNC_TOKEN = 'token-'.repeat(8);
const { publicKey } = generateCallKeys();

/** Loads a webhook configuration for the namespace `userswarms`. @param load the webhook's `loadWebhookConfig` */
export async function webhookConfig<Config>(
  load: (environment: Record<string, string>) => Promise<Config>,
  environment: Record<string, string> = {},
): Promise<Config> {
  const policy = await mkdtemp(join(tmpdir(), 'uswarm-policy-'));
  try {
    await writeFile(join(policy, 'runtimeNamespaces'), 'userswarms\n');
    return await load({
      SYNC_TOKEN,
      POLICY_DIRECTORY: policy,
      USWARM_CALL_PUBLIC_KEY: publicKey,
      SVC_AGENT_RUNTIME_IMAGE: 'registry.test/runtime:1',
      SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator:8082',
      SVC_MCP_ENDPOINT: 'http://search:8080/mcp',
      ...environment,
    });
  } finally {
    await rm(policy, { recursive: true });
  }
}
