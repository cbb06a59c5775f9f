import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AgentTool,
  type IntegrationCatalog,
  IntegrationProvider,
  type OAuthConfiguration,
} from '@uswarm/contract';
import { type AccountServer, consentTo, startAccountServer, VENDOR_HABITS } from '@uswarm/testkit/account-server';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { KNOWN_SERVERS } from './known-servers.js';

type Vendor = keyof typeof KNOWN_SERVERS;
const VENDORS = Object.keys(KNOWN_SERVERS) as Vendor[];
const redirectOf = (vendor: string): string => `https://app.example.com/connected/${vendor}`;
/** Vendors that register no clients themselves. */
const clientOf = (vendor: Vendor) => ({
  clientId: `client-${vendor}`,
  clientSecret: `secret-${vendor}`,
  redirectUrls: [redirectOf(vendor)],
});
const hasClient = (vendor: Vendor): boolean => KNOWN_SERVERS[vendor].needs.length > 0;

describe('accounts of tool servers with the habits of vendors', () => {
  const servers = {} as Record<Vendor, AccountServer>;
  let folder: string;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-vendors-'));
    for (const vendor of VENDORS) {
      servers[vendor] = await startAccountServer({ ...VENDOR_HABITS[vendor], clients: [clientOf(vendor)] });
      await writeFile(join(folder, vendor), `${clientOf(vendor).clientSecret}\n`);
    }
    const listed = VENDORS.map((vendor) => ({
      id: vendor,
      url: servers[vendor].url,
      trust_hints: true,
      auth: {
        type: 'oauth',
        redirect_urls: [redirectOf(vendor)],
        ...(hasClient(vendor) ? { client_id: clientOf(vendor).clientId, secret: vendor } : {}),
      },
    }));
    await writeFile(join(folder, 'tool-servers.json'), JSON.stringify({ servers: listed }));
    uswarm = await startTestOrchestrator({
      environment: {
        TOOL_SERVERS_FILE: join(folder, 'tool-servers.json'),
        TOOL_SERVER_SECRETS: folder,
        INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}`,
        UPKEEP_WORKERS: '2',
      },
    });
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(async () => {
    await uswarm?.close();
    for (const server of Object.values(servers)) await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function connect(vendor: Vendor): Promise<void> {
    const provider = IntegrationProvider.parse(vendor);
    const { body } = await user.post<OAuthConfiguration>('/v1/integrations/connect', { provider }, 200);
    await user.post('/v1/integrations/callback', { provider, ...consentTo(servers[vendor], body) }, 204);
  }

  const itemOf = async (vendor: Vendor) => {
    const { items } = (await user.get<{ data: IntegrationCatalog }>('/v1/integrations')).body.data;
    return items.filter(({ provider }) => provider === vendor);
  };

  const toolsOf = async (vendor: Vendor): Promise<string[]> => {
    const { body } = await user.get<{ data: AgentTool[] }>(`/v1/agents/${home.agents[0]?.id}/tools`);
    return body.data.flatMap(({ name }) => (name.startsWith(`${vendor}__`) ? [name] : []));
  };

  const connected = async (vendor: Vendor): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      SELECT count(*)::int AS count FROM integrations WHERE provider = ${`mcp:${vendor}`}`.execute(uswarm.database);
    return rows[0]?.count ?? 0;
  };

  /** Makes the renewal of the token due. */
  const renew = (vendor: Vendor) =>
    sql`WITH due AS (
      UPDATE integrations SET refresh_at = now(), expires_at = now() WHERE provider = ${`mcp:${vendor}`} RETURNING id
    ) UPDATE work SET run_at = now() WHERE kind = 'integration-refresh' AND subject_id IN (SELECT id FROM due)`.execute(
      uswarm.database,
    );

  describe.each(VENDORS)('%s', (vendor) => {
    it('are offered as the catalogue of known servers describes them', async () => {
      const { name, description, category_id, icon: icon_url } = KNOWN_SERVERS[vendor];
      const shown = { name, description, category_id, icon_url };
      expect(await itemOf(vendor)).toEqual([
        { type: 'app', provider: vendor, server: vendor, enabled: false, ...shown },
      ]);
    });

    it('are connected by the routes for integrations, and list their tools', async () => {
      await connect(vendor);
      expect(await itemOf(vendor)).toMatchObject([{ enabled: true }]);
      expect(await eventually(() => toolsOf(vendor), { until: (names) => names.length > 0 })).toEqual([
        `${vendor}__read_account`,
      ]);
    });

    it('are renewed, once per refresh token', async () => {
      const before = servers[vendor].tokens.length;
      await renew(vendor);
      await eventually(() => servers[vendor].tokens.length, { until: (count) => count > before });
      expect(servers[vendor].tokens.filter(({ grant }) => grant.revoked)).toEqual([]);
      expect(await connected(vendor)).toBe(1);
    });

    it('are disconnected here if they were revoked there', async () => {
      servers[vendor].revoke();
      // The worker that has just renewed the token may still have to release its job.
      const left = async (): Promise<number> => {
        await renew(vendor);
        return connected(vendor);
      };
      expect(await eventually(left, { until: (count) => count === 0 })).toBe(0);
    });

    it('are disconnected by the user', async () => {
      await connect(vendor);
      await user.delete(`/v1/integrations/${vendor}`, undefined, 204);
      expect(await connected(vendor)).toBe(0);
    });
  });
});
