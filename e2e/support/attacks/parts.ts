import { type AdminCall, adminPath, INTERNAL_PATHS, MODEL_CALLS_PATH } from '@uswarm/contract';
import {
  signAdminToken,
  type SigningKey,
  signInternalToken,
  signMcpToken,
  signModelCallsToken,
  signModelToken,
} from '@uswarm/service-kit';
import type { Attack, CompromisedPart } from '../attack.js';

// Requests that a compromised platform pod, or a runtime, sends from its network.

/** A release component, as in its pods' label. */
export type Component =
  | 'controller'
  | 'model-gateway'
  | 'orchestrator'
  | 'postgres'
  | 'realtime-gateway'
  | 'searxng-client'
  | 'valkey'
  | 'webhook';

/** A connection, which `control` can open. */
export interface Connection {
  to: Component | 'runtime' | 'API server';
  port: number;
  control: Component | 'runtime';
}

const INTERNAL: Connection = { to: 'orchestrator', port: 8082, control: 'realtime-gateway' };
const POSTGRES: Connection = { to: 'postgres', port: 5432, control: 'orchestrator' };
const VALKEY: Connection = { to: 'valkey', port: 6379, control: 'orchestrator' };
const SYNC: Connection = { to: 'webhook', port: 8080, control: 'controller' };
const RUNTIME: Connection = { to: 'runtime', port: 42_618, control: 'orchestrator' };
const SEARCH: Connection = { to: 'searxng-client', port: 8080, control: 'runtime' };
const API_SERVER: Connection = { to: 'API server', port: 443, control: 'controller' };

const connections = (
  by: CompromisedPart,
  rows: readonly (readonly [what: string, attempt: Connection])[],
): Attack<Connection>[] =>
  rows.map(([what, attempt]) => ({
    by,
    tries: `connects to ${what}`,
    refusedBy: 'network policies',
    attempt,
    error: /^silence$/,
  }));

const STORES = [
  ['Postgres', POSTGRES],
  ['/sync of the webhook', SYNC],
  ['a runtime', RUNTIME],
  ['the search tool', SEARCH],
  ['the Kubernetes API', API_SERVER],
] as const;

export const CONNECTIONS: Attack<Connection>[] = [
  ...connections('model gateway', [...STORES, ['Valkey', VALKEY]]),
  ...connections('realtime gateway', STORES),
  ...connections('webhook', [
    ['Valkey', VALKEY],
    ['a runtime', RUNTIME],
    ['the internal API of the orchestrator', INTERNAL],
    ['the Kubernetes API', API_SERVER],
  ]),
  ...connections('controller', [
    ['Postgres', POSTGRES],
    ['the internal API of the orchestrator', INTERNAL],
    ['a runtime', RUNTIME],
  ]),
];

/** From another workspace's pod. The target's and the caller's policies both block them. */
export const RUNTIME_CONNECTIONS = connections('runtime', [
  ['another runtime', RUNTIME],
  ['/sync of the webhook', SYNC],
  ['the internal API of the orchestrator', INTERNAL],
  ['Postgres', POSTGRES],
  ['Valkey', VALKEY],
]);

/** The release's keys that sign tokens. */
export type KeyName = 'internal-api-key' | 'model-calls-key' | 'mcp-signing-key' | 'model-token-signing-key';
export type Keys = Record<KeyName, SigningKey> & {
  /** The attacker's own, with an id from the release. */
  own: SigningKey;
};

/** A request from one of the compromised part's pods. */
export interface ForgedRequest {
  method: 'POST' | 'PUT';
  /** The pod's variable with the address. */
  at: 'INTERNAL_API_URL' | 'MODEL_GATEWAY_URL' | 'SVC_MCP_ENDPOINT';
  path: string;
  token(keys: Keys, workspaceId: string): Promise<string>;
}

type Row = readonly [tries: string, attempt: ForgedRequest];
const forged = (
  by: CompromisedPart,
  refusedBy: string,
  rows: readonly Row[],
  error = /^HTTP 401 /,
): Attack<ForgedRequest>[] => rows.map(([tries, attempt]) => ({ by, tries, refusedBy, attempt, error }));

const internal = (path: string, token: ForgedRequest['token'], method: 'POST' | 'PUT' = 'POST'): ForgedRequest => ({
  method,
  at: 'INTERNAL_API_URL',
  path,
  token,
});
const USER = '0197a000-0000-7000-8000-000000000001';
/** Operator calls that would do the most harm. */
const ADMIN: AdminCall[] = ['user.show', 'user.ban', 'user.plan', 'workspace.show', 'turns.list'];
/** A release without a key for operators has no such routes. */
const adminAttacks = (by: CompromisedPart, key: KeyName): Attack<ForgedRequest>[] =>
  forged(
    by,
    'the keys of the internal API',
    ADMIN.map((call) => [
      `acts as an operator with its key: ${call}`,
      internal(adminPath(call), (keys) => signAdminToken(keys[key], 'olivia')),
    ]),
    /^HTTP (401|404) /,
  );

const OF_MODEL_GATEWAY = forged('model gateway', 'the keys of the internal API', [
  ...Object.values(INTERNAL_PATHS).map((path): Row => [
    `acts as a user with its key: ${path}`,
    internal(path, (keys) => signInternalToken(keys['model-calls-key'], USER)),
  ]),
  [
    'sends as a user with the token of its calls',
    internal(INTERNAL_PATHS.send, (keys) => signModelCallsToken(keys['model-calls-key'], USER)),
  ],
  [
    'sends as a user with the key of model tokens',
    internal(INTERNAL_PATHS.send, (keys) => signInternalToken(keys['model-token-signing-key'], USER)),
  ],
]);

const OF_REALTIME_GATEWAY = forged('realtime gateway', 'the keys of the internal API', [
  [
    'reserves a model call with its key',
    internal(MODEL_CALLS_PATH, (keys) => signModelCallsToken(keys['internal-api-key'], 'model-gateway')),
  ],
  [
    'reserves a model call with the token of its calls',
    internal(MODEL_CALLS_PATH, (keys) => signInternalToken(keys['internal-api-key'], USER)),
  ],
  [
    'settles a model call with its key',
    internal(
      `${MODEL_CALLS_PATH}/${USER}`,
      (keys) => signModelCallsToken(keys['internal-api-key'], 'model-gateway'),
      'PUT',
    ),
  ],
]);

const turnOf = (workspaceId: string) => ({ workspaceId, agentId: USER, turnId: USER });
const model = (token: ForgedRequest['token']): ForgedRequest => ({
  method: 'POST',
  at: 'MODEL_GATEWAY_URL',
  path: '/openai/v1/chat/completions',
  token,
});
const search = (token: ForgedRequest['token']): ForgedRequest => ({
  method: 'POST',
  at: 'SVC_MCP_ENDPOINT',
  path: '',
  token,
});
const signModel = (key: SigningKey, workspaceId: string): Promise<string> =>
  signModelToken(key, { ...turnOf(workspaceId), purpose: 'turn' });

/** The token with another workspace and the old signature. */
function forWorkspace(token: string, workspaceId: string): string {
  const [head, claims = '', signature] = token.split('.');
  const changed = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), sub: workspaceId };
  return [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
}
/** The token without a signature. */
function unsigned(token: string): string {
  const head = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
  return `${head}.${token.split('.')[1]}.`;
}

const OF_RUNTIME = [
  ...forged('runtime', 'the token of each turn', [
    ['calls a model with a token that it signs', model((keys, own) => signModel(keys.own, own))],
    [
      'calls a model with the workspace of another user in its token',
      model(async (keys, own) => forWorkspace(await signModel(keys['model-token-signing-key'], own), USER)),
    ],
    [
      'calls a model with a token without a signature',
      model(async (keys, own) => unsigned(await signModel(keys['model-token-signing-key'], own))),
    ],
    [
      'calls a model with its tool token',
      model((keys, own) => signMcpToken(keys['mcp-signing-key'], turnOf(own), { query: 'weather' })),
    ],
    [
      'searches with a token that it signs',
      search((keys, own) => signMcpToken(keys.own, turnOf(own), { query: 'weather' })),
    ],
    [
      'searches with the workspace of another user in its token',
      search(async (keys, own) =>
        forWorkspace(await signMcpToken(keys['mcp-signing-key'], turnOf(own), { query: 'weather' }), USER),
      ),
    ],
    ['searches with its model token', search((keys, own) => signModel(keys['model-token-signing-key'], own))],
  ]),
  ...forged(
    'runtime',
    'the reservation of each model call',
    [
      [
        'calls a model for a turn that does not run',
        model((keys, own) => signModel(keys['model-token-signing-key'], own)),
      ],
      [
        'calls a model for a workspace that does not exist',
        model((keys) => signModel(keys['model-token-signing-key'], USER)),
      ],
    ],
    /^HTTP 403 /,
  ),
];

export const FORGED_REQUESTS = [
  ...OF_MODEL_GATEWAY,
  ...adminAttacks('model gateway', 'model-calls-key'),
  ...OF_REALTIME_GATEWAY,
  ...adminAttacks('realtime gateway', 'internal-api-key'),
  ...OF_RUNTIME,
];
