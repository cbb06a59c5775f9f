import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openSearchEngine } from '../support/found-by-search.js';
import { GENERATED_SECRET, NAMESPACE, openSession, secretValue, type Session } from '../support/index.js';
import {
  AWAKE,
  createRollingRelease,
  ONE_BY_ONE,
  podNamesOf,
  type RollingRelease,
} from '../support/rolling-release.js';
import { isUpToDate, mostStopped, type RuntimeUser } from '../support/rolling-swarms.js';

const SWARMS = 3;
const SECRET = 'e2e-rotated-keys';
const VALUES = {
  runtime: AWAKE,
  rollout: ONE_BY_ONE,
  // The release of the other tests has the page instead.
  signature: { mode: 'required' },
  web: { enabled: false },
};

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
  let findsWithSearch: (user: RuntimeUser) => Promise<void>;

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
    findsWithSearch = await openSearchEngine(session);
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

  /** A search uses both keys: the call key for the runtime, the signing key for the tool server. */
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
