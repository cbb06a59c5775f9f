import { isSecureUrl } from '@uswarm/service-kit';
import { z } from 'zod';
import { readOperatorFile } from '../../platform/core/operator-file.js';
import { type ClientSetting, knownServer } from './known-servers.js';
import { isUserServerId, USER_SERVER_PREFIX } from './user-server-id.js';

const MAX_SERVERS = 50;

const SecretName = z.string().regex(/^(?!\.{1,2}$)[-._a-zA-Z0-9]+$/, 'must be the name of a file');

/** Each user connects an account. */
const OAuthSettings = z.strictObject({
  type: z.literal('oauth'),
  /** As registered there. Default: the server registers a client itself (RFC 7591), if it can. */
  client_id: z.string().min(1).optional(),
  /** File in `TOOL_SERVER_SECRETS` with the client's secret. */
  secret: SecretName.optional(),
  /** Apps receive the first one. */
  redirect_urls: z.tuple([z.url()], z.url()),
  /** Default: what the server asks for. */
  scopes: z.array(z.string()).optional(),
});
export type OAuthSettings = z.output<typeof OAuthSettings>;

const Auth = z.discriminatedUnion('type', [
  OAuthSettings,
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({
    type: z.literal('bearer'),
    /** File in `TOOL_SERVER_SECRETS` with the token. It is read for each request, so that tokens can be replaced. */
    secret: SecretName,
  }),
]);

const ToolServer = z.strictObject({
  /** The beginning of its tools' names. Underscores are single, because two separate it from the tool. */
  id: z
    .string()
    .max(24)
    .regex(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, 'must be lower-case letters, digits and single underscores'),
  name: z.string().trim().min(1).max(60),
  description: z.string().trim().max(300).default(''),
  icon_url: z.url({ protocol: /^https$/ }).optional(),
  category_id: z.string().default('development'),
  url: z.url({ protocol: /^https?$/ }),
  auth: Auth.default({ type: 'none' }),
  /** `forced`: all agents have the tools. `on` and `off`: the default, which users can change. */
  availability: z.enum(['forced', 'on', 'off']).default('on'),
  /** Default: all. */
  allowed_tools: z.array(z.string().min(1)).optional(),
  denied_tools: z.array(z.string().min(1)).default([]),
  /** True if a tool that the server describes as read-only runs without an approval. */
  trust_hints: z.boolean().default(false),
  limits: z
    .strictObject({
      /** Seconds without progress. */
      call_timeout_s: z.int().min(1).max(600).default(60),
      /** Concurrent calls per replica. */
      max_concurrent: z.int().min(1).max(64).default(8),
    })
    .prefault({}),
});

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Fills in what is known about a vendor's server. At another address, accounts may be connected in another way. */
function withKnown(entry: unknown): unknown {
  const known = isObject(entry) ? knownServer(entry['id']) : undefined;
  if (known === undefined || !isObject(entry)) return entry;
  const { name, description, category_id, url } = known;
  const auth = entry['auth'] ?? {};
  const withType = entry['url'] === undefined && isObject(auth) ? { auth: { type: 'oauth', ...auth } } : {};
  return { name, description, category_id, url, ...entry, ...withType };
}

/** A Service name, which only the cluster resolves, or this machine. */
const isNear = (url: string): boolean => {
  const { hostname } = new URL(url);
  return (
    !hostname.includes('.') || hostname.endsWith('.svc') || hostname.endsWith('.cluster.local') || isSecureUrl(url)
  );
};

type FileServer = z.output<typeof ToolServer>;

/** An operator's server, or one that a user has added. */
export interface ToolServer extends Omit<FileServer, 'auth'> {
  /** `user_token`: only with a token that is stored already, and no account can be connected. */
  auth: FileServer['auth'] | { type: 'user_token' };
  /** The user who has added it. */
  addedBy?: string;
}

/** True if each user has an own connection and own tools. */
export const isPersonal = ({ auth, addedBy }: ToolServer): boolean => auth.type === 'oauth' || addedBy !== undefined;

/** An address that the server may have although it is not on the internet: operators name their servers. */
export const hostsOf = (servers: readonly ToolServer[]): string[] => servers.map(({ url }) => new URL(url).hostname);

const DEFAULTS = ToolServer.parse({ id: 'defaults', name: 'Defaults', url: 'https://defaults.invalid' });

/** A server that a user has added. The file's rules are for operators: they neither grant it anything nor refuse it. */
export const userServer = (addedBy: string, own: Pick<ToolServer, 'id' | 'name' | 'url' | 'auth'>): ToolServer => ({
  ...DEFAULTS,
  ...own,
  addedBy,
});

const ToolServersFile = z
  .strictObject({ servers: z.array(z.preprocess(withKnown, ToolServer)).max(MAX_SERVERS) })
  .superRefine(({ servers }, context) => {
    for (const [index, { id, url, auth, allowed_tools: allowed = [], denied_tools: denied }] of servers.entries()) {
      const report = (field: string, message: string): void =>
        context.addIssue({ code: 'custom', path: ['servers', index, ...field.split('.')], message });
      for (const setting of missingSettings(id, url, auth))
        report(`auth.${setting}`, `needed for ${id}, see ${knownServer(id)?.documentation}`);
      if (servers.findIndex((server) => server.id === id) < index) report('id', `${id} is used twice`);
      if (isUserServerId(id))
        report('id', `must not begin with ${USER_SERVER_PREFIX}, like the servers that users add`);
      if (auth.type !== 'none' && !isNear(url)) report('url', 'needs https, because the server receives a token');
      const both = allowed.filter((name) => denied.includes(name));
      if (both.length > 0) report('denied_tools', `also allowed: ${both.join(', ')}`);
    }
  });

/** Missing settings without which no account can be connected. */
function missingSettings(id: string, url: string, auth: ToolServer['auth']): ClientSetting[] {
  const known = knownServer(id);
  if (known?.url !== url || auth.type !== 'oauth') return [];
  return known.needs.filter((setting) => auth[setting] === undefined);
}

export const isAllowed = ({ allowed_tools: allowed, denied_tools: denied }: ToolServer, name: string): boolean =>
  (allowed === undefined || allowed.includes(name)) && !denied.includes(name);

/**
 * The operator's tool servers; without a file, none.
 *
 * @throws ConfigError that lists each problem with its place, such as `servers.1.url`
 */
export function loadToolServers(file: string | undefined): ToolServer[] {
  return file === undefined ? [] : readOperatorFile('TOOL_SERVERS_FILE', file, ToolServersFile).servers;
}
