import {
  CONNECTED_PROVIDERS,
  type ConnectedProvider,
  type ModelProtocol,
  PROVIDER_CONNECTIONS,
  type ProviderConnection,
} from '@uswarm/contract/providers';
import { anthropic } from './protocols/anthropic.js';
import { openai } from './protocols/openai.js';
import type { Protocol } from './protocols/protocol.js';

const PROTOCOLS: Record<ModelProtocol, Protocol> = { openai, anthropic };

/** A provider that the gateway can call. */
export interface Provider {
  name: ConnectedProvider;
  /** The route at the gateway. */
  route: string;
  protocol: Protocol;
  connection: ProviderConnection;
}

export const PROVIDERS: readonly Provider[] = CONNECTED_PROVIDERS.map((name) => {
  const connection = PROVIDER_CONNECTIONS[name];
  const protocol = PROTOCOLS[connection.protocol];
  return { name, route: `/${name}/v1${protocol.path}`, protocol, connection };
});
