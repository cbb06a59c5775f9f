import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forwardPort, GENERATED_SECRET, NAMESPACE, openSession, secretValue, type Session } from '../support/index.js';
import {
  AWAKE,
  createRollingRelease,
  ONE_BY_ONE,
  podNamesOf,
  type RollingRelease,
} from '../support/rolling-release.js';
import { answerWith, isUpToDate, mostStopped, type RuntimeUser, send } from '../support/rolling-swarms.js';

const SWARMS = 3;
const SECRET = 'e2e-rotated-keys';
const VALUES = { runtime: AWAKE, rollout: ONE_BY_ONE };

let session: Session;
let release: RollingRelease;
let users: RuntimeUser[];
beforeAll(async () => {
  session = await openSession();
  release = createRollingRelease(session);
  await release.upgrade(VALUES);
  users = await release.signUp(SWARMS);
});
afterAll(() => session?.close());

describe('a rotation of call key and signing key', () => {
  let rotatedAt: number;
  let former: (string | undefined)[];
  let engine: string;

  beforeAll(async () => {
    const pair = generateKeyPairSync('ed25519');
    const pem = { type: 'pkcs8', format: 'pem' } as const;
    const stringData = {
      'call-private-key': pair.privateKey.export(pem).toString(),
      'call-public-key': pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      'previous-private-key': await secretValue(session.api, GENERATED_SECRET, 'call-private-key'),
      'mcp-signing-key': `rotated:${randomBytes(32).toString('hex')}`,
      'previous-key': await secretValue(session.api, GENERATED_SECRET, 'mcp-signing-key'),
    };
    const place = { name: SECRET, namespace: NAMESPACE.release };
    await session.api.delete('Secret', place);
    await session.api.create('Secret', { metadata: place, stringData });
    session.onClose(() => session.api.delete('Secret', place));
    await openSearchEngine();
    former = users.map(({ name }) => session.swarms.current(name)?.status?.revision);
    rotatedAt = Date.now();
    await release.upgrade({
      ...VALUES,
      secrets: {
        callKey: { existingSecret: SECRET, previousPrivateKey: 'previous-private-key' },
        mcpSigning: { existingSecret: SECRET, previousKey: 'previous-key' },
      },
    });
  });

  async function openSearchEngine(): Promise<void> {
    const forwarded = await forwardPort(session.tools, NAMESPACE.search, 'deployment/upstream', 8080);
    session.onClose(() => forwarded.close());
    engine = `http://127.0.0.1:${forwarded.port}`;
  }
  /** A search uses both keys: the call key for the runtime, the signing key for the tool server. */
  async function findsWithSearch(user: RuntimeUser): Promise<void> {
    const nonce = randomUUID();
    const url = `https://example.com/${randomUUID()}`;
    const response = await fetch(`${engine}/results?q=${nonce}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ title: 'Found', url, content: 'Found' }]),
    });
    if (!response.ok) throw new Error(`the search upstream returned ${response.status}`);
    await send(user, `Search the web for ${nonce} and answer with sources`);
    await answerWith(user, url, 120_000);
  }
  const everyUserFinds = async (): Promise<void> => void (await Promise.all(users.map(findsWithSearch)));

  it('reaches runtimes one at a time, while runtimes with old and new keys keep answering', async () => {
    await everyUserFinds();
    // Each runtime gets the new keys at its next resync.
    await Promise.all(
      users.map(({ name }, at) =>
        session.swarms.until(
          name,
          'up to date with the new keys',
          (swarm) => isUpToDate(swarm) && swarm?.status?.revision !== former[at],
          240_000,
        ),
      ),
    );
    expect(mostStopped(session, users, rotatedAt)).toBeLessThanOrEqual(ONE_BY_ONE.maxConcurrent);
    await everyUserFinds();
  });

  it('leaves no runtime that needs the previous keys', async () => {
    const secrets = { callKey: { existingSecret: SECRET }, mcpSigning: { existingSecret: SECRET } };
    const pods = await podNamesOf(session, users);
    await release.upgrade({ ...VALUES, secrets });
    await everyUserFinds();
    expect(await podNamesOf(session, users)).toEqual(pods);
  });
});
