import type { IntegrationProvider } from '@uswarm/contract';
import type { OutgoingProxy } from '@uswarm/service-kit/outgoing';
import type { Database } from '../../platform/database/database.js';
import type { AccessTokens } from '../integrations/access-tokens.js';
import type { createProviderClients } from '../integrations/provider-clients.js';
import type { PlatformTool } from '../../turns/tools/platform-tool.js';
import { findReader } from '../../records/users.store.js';
import { createGmailTools } from './gmail-tools.js';
import { createCalendarTools } from './google-calendar-tools.js';
import { createProviderApi, type ProviderApi } from './provider-api.js';

export interface ConnectedAppsDeps {
  clients: ReturnType<typeof createProviderClients>;
  accessTokens: AccessTokens;
  proxy: OutgoingProxy;
  /** For tool calls. */
  database: Database;
}

/** Offers tools for apps that users connect, if the operator has configured the provider. */
export function createConnectedApps({ clients, accessTokens, proxy, database }: ConnectedAppsDeps) {
  const timeZone = async (userId: string): Promise<string> => (await findReader(database, userId))?.time_zone ?? '';
  const apis: ProviderApi[] = [];

  function toolsOf(provider: IntegrationProvider, create: (api: ProviderApi) => PlatformTool[]): PlatformTool[] {
    const baseUrl = clients.get(provider)?.apiUrl;
    if (baseUrl === undefined) return [];
    const api = createProviderApi({
      baseUrl,
      proxy,
      accessToken: (userId, signal) => accessTokens.current(userId, provider, signal),
      replaceToken: (userId, rejected, signal) => accessTokens.replacing(userId, provider, rejected, signal),
    });
    apis.push(api);
    return create(api);
  }

  const tools = [
    ...toolsOf('google_calendar', (api) => createCalendarTools({ api, timeZone })),
    ...toolsOf('gmail', (api) => createGmailTools({ api })),
  ];
  return {
    tools,
    async close(): Promise<void> {
      await Promise.all(apis.map((api) => api.close()));
    },
  };
}
