import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import type { OAuthConfiguration } from '@uswarm/contract';
import { z } from 'zod';
import { type AccountAnswer, type ClientHabits, createAccountClients } from './accounts/clients.js';
import { type Consent, createAccountGrants, type GrantHabits } from './accounts/grants.js';
import { createAccountMetadata, type MetadataHabits, PATHS, WELL_KNOWN_RESOURCE } from './accounts/metadata.js';

/** Replaces an address's answer: a page, far too many bytes, nothing for a long time, or a bare status. */
export type Fault = 'page' | 'huge' | 'slow' | 'redirect' | 'dropped' | number;
type Place = 'mcp' | 'resourceMetadata' | 'serverMetadata' | 'registration' | 'token' | 'revocation';

export interface AccountServerHabits extends MetadataHabits, ClientHabits, GrantHabits {
  /** False: the MCP endpoint serves requests without a token. */
  needsAccount: boolean;
  /** Scopes that a call of these tools needs in addition. Without them, it is refused. */
  callScopes: Record<string, string>;
  /** `ignoresScopes`: calls with these scopes are refused, too. */
  refusal: { status: 401 | 403; ignoresScopes: boolean };
  faults: Partial<Record<Place, Fault>>;
  /** The MCP server for an account. */
  serve: (account: string) => McpServer;
}

const STANDARD: AccountServerHabits = {
  serve: createTools,
  needsAccount: true,
  callScopes: {},
  refusal: { status: 403, ignoresScopes: false },
  challenge: 'metadata',
  challengeScope: undefined,
  resourceMetadata: 'endpoint',
  resource: 'endpoint',
  serverMetadata: 'inserted',
  issuerPath: '',
  registration: 'open',
  fields: {},
  faults: {},
  clients: [],
  clientAuthentication: ['none', 'client_secret_basic', 'client_secret_post'],
  scopes: ['read', 'write'],
  pkce: true,
  callbackIssuer: false,
  needsResource: false,
  tokenAnswer: 'json',
  tokenErrors: 'standard',
  refreshTokens: 'rotating',
  expiresInS: 3_600,
};

/** As each app's server behaved in autumn 2026. */
export const VENDOR_HABITS = {
  slack: {
    resourceMetadata: 'origin',
    resource: 'origin',
    registration: 'none',
    clientAuthentication: ['client_secret_post'],
    tokenAnswer: 'nested',
    tokenErrors: 'slack',
    expiresInS: 43_200,
  },
  jira: { issuerPath: '/VCeDsk8ZHncY', expiresInS: 28_800 },
  notion: { scopes: ['default'], refreshTokens: 'family' },
  asana: {
    resourceMetadata: 'folder',
    resource: 'folder',
    registration: 'none',
    clientAuthentication: ['client_secret_post', 'client_secret_basic'],
    scopes: ['default'],
    refreshTokens: 'reusable',
  },
  github: {
    issuerPath: '/login/oauth',
    registration: 'none',
    clientAuthentication: ['client_secret_post', 'client_secret_basic'],
    tokenAnswer: 'form',
    tokenErrors: 'github',
    expiresInS: 28_800,
  },
  zoom: { registration: 'none', clientAuthentication: ['client_secret_basic'] },
} satisfies Record<string, Partial<AccountServerHabits>>;

export interface AccountRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const HUGE = JSON.stringify({ text: 'x'.repeat(300 * 1024) });

/**
 * An MCP server whose users connect accounts, with its authorization server, on loopback. Its tool `read_account`
 * returns the token's account.
 */
export async function startAccountServer(changes: Partial<AccountServerHabits> = {}) {
  const habits: AccountServerHabits = { ...STANDARD, ...changes };
  const requests: AccountRequest[] = [];
  const registrations: Record<string, unknown>[] = [];
  let origin = '';
  const metadata = createAccountMetadata(habits, () => origin);
  const clients = createAccountClients(habits);
  const grants = createAccountGrants(habits, clients, metadata);

  async function serveMcp(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const grant = grants.grantOf(request.headers.authorization?.replace('Bearer ', '') ?? '');
    const account = grant?.account;
    if (account === undefined && habits.needsAccount) {
      const header = metadata.challenge();
      response.writeHead(401, header === undefined ? {} : { 'www-authenticate': header }).end();
      return;
    }
    const needed = neededScope(habits, body);
    if (needed !== undefined && (habits.refusal.ignoresScopes || grant?.scopes.includes(needed) === false)) {
      const header = `Bearer error="insufficient_scope", scope="${needed}", error_description="needs more"`;
      response.writeHead(habits.refusal.status, { 'www-authenticate': header }).end();
      return;
    }
    const { method = 'GET', url = '' } = request;
    const handle = toNodeHandler(createMcpHandler(() => habits.serve(account ?? 'none')));
    await handle(Object.assign(request, { method, url }), response, body === '' ? undefined : JSON.parse(body));
  }

  function register(body: string): AccountAnswer {
    const client = JSON.parse(body) as Record<string, unknown>;
    registrations.push(client);
    const answer = clients.register(client);
    return answer.status === 201 ? { ...answer, body: { ...answer.body, ...habits.fields.registration } } : answer;
  }

  function consent(query: URLSearchParams, response: ServerResponse): void {
    try {
      response.writeHead(302, { location: grants.authorize(query).href }).end();
    } catch (error) {
      response.writeHead(400, { 'content-type': 'text/plain' }).end((error as Error).message);
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', origin);
    const route = `${request.method} ${pathname}`;
    const fails = (place: Place): boolean => answerFault(habits.faults[place], response);
    const { authorization, accept } = request.headers;
    const form = () => ({ fields: new URLSearchParams(body), authorization, accept });
    if (pathname === PATHS.endpoint) return fails('mcp') ? undefined : serveMcp(request, response, body);
    if (route === 'GET /authorize') return consent(searchParams, response);
    if (pathname.startsWith(WELL_KNOWN_RESOURCE)) {
      if (!fails('resourceMetadata')) send(response, metadata.ofResource(pathname));
    } else if (pathname.includes('/.well-known/')) {
      if (!fails('serverMetadata')) send(response, metadata.ofServer(pathname));
    } else if (route === 'POST /register') {
      if (!fails('registration')) sendAnswer(response, register(body));
    } else if (route === 'POST /token') {
      if (fails('token')) return;
      const answer = grants.token(form());
      const replaced = answer.status === 200 ? habits.fields.token : {};
      sendAnswer(response, { ...answer, body: { ...answer.body, ...replaced } });
    } else if (route === 'POST /revoke') {
      if (!fails('revocation')) sendAnswer(response, grants.revokeToken(form()));
    } else send(response, undefined);
  }

  const server = createServer((request, response) => {
    text(request)
      .then((body) => {
        const { method = '', url: path = '', headers } = request;
        requests.push({ method, path, headers, body });
        return serve(request, response, body);
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** The MCP endpoint. */
    url: `${origin}${PATHS.endpoint}`,
    origin,
    /** May be changed at any time. */
    habits,
    /** All issued tokens, the newest last. */
    tokens: grants.tokens,
    /** The user ends an account's grants, or all, in the vendor's settings. */
    revoke: grants.revoke,
    /** Registration bodies. */
    registrations: registrations as readonly Record<string, unknown>[],
    requests: requests as readonly AccountRequest[],
    /**
     * Signs in and decides as a user would, without a browser.
     *
     * @param parameters as in the authorization request
     * @returns where the browser is sent: with `code` or `error`, `state` and `iss`
     */
    authorize(parameters: URLSearchParams | Record<string, string>, decision?: Consent): string {
      return grants.authorize(new URLSearchParams(parameters), decision).href;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export type AccountServer = Awaited<ReturnType<typeof startAccountServer>>;

/** A callback's body, as an app sends it. */
export interface ServerCallback {
  authorization_code: string;
  code_verifier: string;
  redirect_url: string;
  state?: string;
  iss?: string;
}

/** Runs the flow in the browser as an app does, and gives the user's consent. */
export function consentTo(
  accounts: Pick<AccountServer, 'authorize'>,
  { additional_parameters: additional, client_id, redirect_url, scopes }: OAuthConfiguration,
  decision?: Consent,
): ServerCallback {
  const verifier = randomBytes(32).toString('base64url');
  const parameters = {
    ...additional,
    response_type: 'code',
    client_id,
    redirect_uri: redirect_url,
    scope: scopes.join(' '),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  };
  const { code = '', state, iss } = Object.fromEntries(new URL(accounts.authorize(parameters, decision)).searchParams);
  return {
    authorization_code: code,
    code_verifier: verifier,
    redirect_url,
    ...(state === undefined ? {} : { state }),
    ...(iss === undefined ? {} : { iss }),
  };
}

function createTools(account: string): McpServer {
  const server = new McpServer({ name: 'accounts', version: '1.0.0' });
  const annotations = { readOnlyHint: true };
  server.registerTool('read_account', { inputSchema: z.object({}), annotations }, () => ({
    content: [{ type: 'text', text: account }],
  }));
  return server;
}

const Call = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) });

function neededScope({ callScopes }: AccountServerHabits, body: string): string | undefined {
  const { data } = Call.safeParse(body === '' ? undefined : JSON.parse(body));
  return data === undefined ? undefined : callScopes[data.params.name];
}

function send(response: ServerResponse, document: object | undefined): void {
  response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(document === undefined ? { error: 'not_found' } : document));
}

function sendAnswer(response: ServerResponse, { status, body, isForm = false }: AccountAnswer): void {
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(isForm ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body));
}

/** False without a fault. */
function answerFault(fault: Fault | undefined, response: ServerResponse): boolean {
  if (fault === undefined) return false;
  if (typeof fault === 'number') response.writeHead(fault).end();
  else if (fault === 'page') response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Hello');
  else if (fault === 'huge') response.writeHead(200, { 'content-type': 'application/json' }).end(HUGE);
  else if (fault === 'redirect') response.writeHead(302, { location: '/elsewhere' }).end();
  else if (fault === 'dropped') response.destroy();
  // `slow`: the response begins and never ends.
  else response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  return true;
}
