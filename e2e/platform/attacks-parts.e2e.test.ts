import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName } from '@uswarm/contract/userswarm';
import { parseSigningKey, type SigningKey, signMcpToken } from '@uswarm/service-kit';
import { attackTitle, type CompromisedPart, tryConnection, waitForOutcome } from '../support/attack.js';
import {
  type Connection,
  CONNECTIONS,
  FORGED_REQUESTS,
  type ForgedRequest,
  type KeyName,
  type Keys,
} from '../support/attacks/parts.js';
import {
  evaluateInPod,
  GENERATED_SECRET,
  NAMESPACE,
  openSession,
  RELEASE,
  runningContainer,
  secretValue,
  type Session,
} from '../support/index.js';
import type { PodPlace } from '../support/pods.js';
import { signUp } from '../support/sign-up.js';

// The tests run code in each compromised pod, with the keys that it has.

const KEYS: KeyName[] = ['internal-api-key', 'model-calls-key', 'mcp-signing-key', 'model-token-signing-key'];

let session: Session;
let keys: Keys;
let workspaceId: string;
let runtime: string;

beforeAll(async () => {
  session = await openSession();
  ({ workspaceId } = await signUp(session));
  // Not the workspace's runtime, which is suspended when it is idle.
  runtime = await session.create();
  await session.ready(runtime);
  const parsed = await Promise.all(
    KEYS.map(async (name) => [name, parseSigningKey(await secretValue(session.api, GENERATED_SECRET, name))] as const),
  );
  const known = Object.fromEntries(parsed) as Record<KeyName, SigningKey>;
  const own = { id: known['model-token-signing-key'].id, secret: new TextEncoder().encode('own '.repeat(12)) };
  keys = { ...known, own };
});
afterAll(() => session?.close());

async function podOf(component: string): Promise<PodPlace> {
  if (component === 'runtime') return runningContainer(session, runtime);
  const labelSelector = `app.kubernetes.io/instance=${RELEASE},app.kubernetes.io/component=${component}`;
  const pods = await session.api.list('Pod', { namespace: NAMESPACE.release, labelSelector });
  const pod = pods.find(
    ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running',
  );
  if (pod === undefined) throw new Error(`no pod of ${component} runs`);
  return { namespace: NAMESPACE.release, pod: pod.metadata!.name!, container: pod.spec!.containers[0]!.name };
}
const partOf = (by: CompromisedPart): Promise<PodPlace> => podOf(by.replace(' ', '-'));

const hostOf = ({ to }: Connection): string =>
  to === 'API server'
    ? 'kubernetes.default.svc.cluster.local'
    : to === 'runtime'
      ? `${childName(runtime)}.${NAMESPACE.runtime}.svc.cluster.local`
      : `${RELEASE}-${to}.${NAMESPACE.release}.svc.cluster.local`;

/** Sends a request from a pod, to the address that its part uses. @returns the status and the body */
async function send(
  from: PodPlace,
  { at, path, method }: Omit<ForgedRequest, 'token'>,
  token: string,
): Promise<string> {
  return evaluateInPod(
    session.tools,
    from,
    async (request: { at: string; path: string; method: string; token: string }): Promise<string> => {
      const response = await fetch(`${process.env[request.at]}${request.path}`, {
        method: request.method,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${request.token}`,
        },
        body: JSON.stringify({ model: 'flash', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
      });
      return `HTTP ${response.status} ${await response.text()}`;
    },
    { at, path, method, token },
  );
}

describe('an attack', () => {
  it.each(CONNECTIONS.map((row) => [attackTitle(row), row] as const))('%s', async (_title, { by, attempt, error }) => {
    const to = { host: hostOf(attempt), port: attempt.port };
    // The target is up, so that only a policy can keep the attacker away.
    await expect(waitForOutcome(session, await podOf(attempt.control), to, 'open')).resolves.toBe('open');
    expect(await tryConnection(session, await partOf(by), to)).toMatch(error);
  });

  it.each(FORGED_REQUESTS.map((row) => [attackTitle(row), row] as const))(
    '%s',
    async (_title, { by, attempt, error }) => {
      const token = await attempt.token(keys, workspaceId);
      expect(await send(await partOf(by), attempt, token)).toMatch(error);
    },
  );
});

it('a runtime with the token of its turn is not refused by the search tool', async () => {
  const turn = { workspaceId, agentId: workspaceId, turnId: workspaceId };
  const token = await signMcpToken(keys['mcp-signing-key'], turn, { query: 'weather' });
  const answer = await send(await podOf('runtime'), { at: 'SVC_MCP_ENDPOINT', path: '', method: 'POST' }, token);
  expect(answer).not.toMatch(/^HTTP 40[13] /);
});
