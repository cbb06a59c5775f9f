import { randomBytes } from 'node:crypto';

export type ClientAuthentication = 'none' | 'client_secret_basic' | 'client_secret_post';

export interface AccountClient {
  clientId: string;
  /** Undefined for a public client. */
  clientSecret?: string;
  redirectUrls: readonly string[];
}

export interface ClientHabits {
  /** Clients that an operator registered. */
  clients: readonly AccountClient[];
  clientAuthentication: readonly ClientAuthentication[];
  registration: 'open' | 'refused' | 'none';
}

export interface FormRequest {
  fields: URLSearchParams;
  authorization: string | undefined;
  accept: string | undefined;
}

export interface AccountAnswer {
  status: number;
  body: Record<string, unknown>;
  isForm?: boolean;
}

export interface AccountClients {
  find(clientId: string): AccountClient | undefined;
  /** Undefined if the request proves no client. */
  authenticated(request: FormRequest): AccountClient | undefined;
  /** The registration endpoint. */
  register(metadata: Record<string, unknown>): AccountAnswer;
}

/** Random, and recognizable in a failed test. */
export const randomText = (kind: string): string => `${kind}-${randomBytes(12).toString('base64url')}`;

export function createAccountClients(habits: ClientHabits): AccountClients {
  const registered: AccountClient[] = [];
  const find = (id: string): AccountClient | undefined =>
    [...habits.clients, ...registered].find(({ clientId }) => clientId === id);

  return {
    find,

    authenticated({ fields, authorization }) {
      const [, encoded] = /^Basic (.*)$/.exec(authorization ?? '') ?? [];
      const basic = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString().split(':');
      const [id, secret] = basic?.map(decodeURIComponent) ?? [fields.get('client_id'), fields.get('client_secret')];
      const inBody = typeof secret === 'string' ? 'client_secret_post' : 'none';
      const method = basic === undefined ? inBody : 'client_secret_basic';
      const client = find(id ?? '');
      const isProven = client !== undefined && (secret ?? undefined) === client.clientSecret;
      return isProven && habits.clientAuthentication.includes(method) ? client : undefined;
    },

    register(metadata) {
      if (habits.registration === 'none') return { status: 404, body: {} };
      if (habits.registration === 'refused') {
        const body = { error: 'invalid_redirect_uri', error_description: 'This redirect URI is not on the list.' };
        return { status: 400, body };
      }
      const { client_name: name, redirect_uris: redirectUrls, token_endpoint_auth_method: method } = metadata;
      // Atlassian does not say that the name is missing.
      if (typeof name !== 'string' || !Array.isArray(redirectUrls)) return { status: 400, body: {} };
      const known = habits.clientAuthentication.find((one) => one === method);
      if (known === undefined) return { status: 400, body: { error: 'invalid_client_metadata' } };
      const client = { clientId: randomText('client'), redirectUrls: redirectUrls.map(String) };
      if (known === 'none') {
        registered.push(client);
        return { status: 201, body: { ...metadata, client_id: client.clientId } };
      }
      const clientSecret = randomText('secret');
      registered.push({ ...client, clientSecret });
      const secret = { client_secret: clientSecret, client_secret_expires_at: 0 };
      return { status: 201, body: { ...metadata, client_id: client.clientId, ...secret } };
    },
  };
}
