import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorBody, LegalStatus, UserProfile } from '@uswarm/contract';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { publishDocument, installDocuments } from './legal.store.js';

const LEGAL = '/v1/users/legal';
const ACCEPT = '/v1/users/legal/accept';

describe('legal documents', () => {
  let uswarm: TestOrchestrator;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'uswarm-legal-'));
    await writeFile(path.join(directory, 'terms_of_service.md'), '# Terms of the tests\n');
    await writeFile(path.join(directory, 'privacy_policy.md'), '# Privacy in the tests\n');
    uswarm = await startTestOrchestrator({
      environment: { LEGAL_DIRECTORY: directory, LEGAL_VERSION: '1', LEGAL_PRIVACY_VERSION: 'p-1' },
    });
  });
  afterAll(async () => {
    await uswarm.close();
    await rm(directory, { recursive: true });
  });

  const legal = async (user: TestUser) => (await user.get<{ data: LegalStatus }>(LEGAL)).body.data;
  const agreed = async (user: TestUser) => {
    const { has_agreed_with_terms, has_agreed_with_privacy_policy } = await legal(user);
    return [has_agreed_with_terms, has_agreed_with_privacy_policy];
  };
  const currentVersions = async () => {
    const { terms_of_service_version, privacy_policy_version } = (
      await uswarm.anonymous.get<{ data: LegalStatus }>('/v1/legal')
    ).body.data;
    return { terms_of_service_version, privacy_policy_version };
  };
  const acceptances = async ({ email }: TestUser) => {
    const rows = await uswarm.database
      .selectFrom('legal_acceptances')
      .innerJoin('users', 'users.id', 'legal_acceptances.user_id')
      .select(['document', 'version', 'accepted_at'])
      .where('email', '=', email)
      .orderBy('accepted_at')
      .orderBy('document')
      .execute();
    return rows.map(({ document, version, accepted_at }) => ({ document, version, accepted_at }));
  };

  it('are read from files, with the configured versions', async () => {
    expect(await legal(await uswarm.user())).toMatchObject({
      terms_of_service: '# Terms of the tests\n',
      privacy_policy: '# Privacy in the tests\n',
      terms_of_service_version: '1',
      privacy_policy_version: 'p-1',
    });
  });

  it('REST-012 GET /v1/users/legal returns the result of the public route with the acceptance of the caller', async () => {
    const user = await uswarm.user();
    const open = (await uswarm.anonymous.get<{ data: LegalStatus }>('/v1/legal')).body.data;
    expect(await legal(user)).toEqual(open);
    await user.post(ACCEPT, await currentVersions(), 204);
    expect(await legal(user)).toEqual({ ...open, has_agreed_with_terms: true, has_agreed_with_privacy_policy: true });
    expect((await user.get<{ data: LegalStatus }>('/v1/legal')).body.data).toEqual(open);
  });

  it('REST-013 POST /v1/users/legal/accept takes both versions and returns 204', async () => {
    const user = await uswarm.user();
    expect((await user.post(ACCEPT, await currentVersions(), 204)).body).toBeUndefined();
    expect(await agreed(user)).toEqual([true, true]);
  });

  it.each([
    ['RES-010 REST-013 VER-004 terms_of_service_version', 'terms_of_service_version', [true, false]],
    ['RES-011 REST-013 VER-004 privacy_policy_version', 'privacy_policy_version', [false, true]],
  ] as const)('%s accepts only that document', async (_row, field, flags) => {
    const user = await uswarm.user();
    expect(await agreed(user)).toEqual([false, false]);
    await user.post(ACCEPT, { [field]: (await currentVersions())[field] }, 204);
    expect(await agreed(user)).toEqual(flags);
    const { has_agreed_with_terms, has_agreed_with_privacy_policy } = (
      await user.get<{ data: UserProfile }>('/v1/users/profile')
    ).body.data;
    expect({ has_agreed_with_terms, has_agreed_with_privacy_policy }).toEqual({
      has_agreed_with_terms: flags[0],
      has_agreed_with_privacy_policy: flags[1],
    });
  });

  it('accepted by one user are not accepted by others', async () => {
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    await one.post(ACCEPT, await currentVersions(), 204);
    expect(await agreed(other)).toEqual([false, false]);
  });

  it('are not accepted by an empty object', async () => {
    const user = await uswarm.user();
    await user.post(ACCEPT, {}, 204);
    expect(await agreed(user)).toEqual([false, false]);
  });

  it.each([
    ['an unknown version', { terms_of_service_version: '0' }],
    ['the version of the other document', { privacy_policy_version: '1' }],
    ['an empty version', { terms_of_service_version: '' }],
    [
      'a current version together with an unknown one',
      { terms_of_service_version: '1', privacy_policy_version: 'p-0' },
    ],
  ])(
    'VER-004 are not accepted with %s: the error has the current versions, and nothing is stored',
    async (_what, body) => {
      const user = await uswarm.user();
      const before = await allRows(uswarm.database);
      const answer = await user.raw<ErrorBody>({
        method: 'POST',
        path: ACCEPT,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer).toMatchObject({
        status: 400,
        body: {
          code: 'legal_version_unknown',
          extra: { terms_of_service_version: '1', privacy_policy_version: 'p-1' },
        },
      });
      expect(await allRows(uswarm.database)).toEqual(before);
    },
  );

  it.each([[{ terms_of_service_version: 1 }], [[]]])('are not accepted by the body %j', async (body) => {
    expect(await (await uswarm.user()).refusal('POST', ACCEPT, body)).toBe('validation_failed');
  });

  it('keep the time of their first acceptance', async () => {
    const user = await uswarm.user();
    await user.post(ACCEPT, await currentVersions(), 204);
    const first = await acceptances(user);
    await user.post(ACCEPT, await currentVersions(), 204);
    expect(await acceptances(user)).toEqual(first);
    expect(first.map(({ document, version }) => [document, version])).toEqual([
      ['privacy_policy', 'p-1'],
      ['terms_of_service', '1'],
    ]);
  });

  it('accepted concurrently are stored once', async () => {
    const user = await uswarm.user();
    const versions = await currentVersions();
    await Promise.all(Array.from({ length: 10 }, () => user.post(ACCEPT, versions, 204)));
    expect(await acceptances(user)).toHaveLength(2);
  });

  // These tests are last: they change the current versions.
  describe('in a new version', () => {
    it('RES-010 VER-004 have to be accepted again; the history keeps both', async () => {
      const user = await uswarm.user();
      const old = await currentVersions();
      await user.post(ACCEPT, old, 204);
      await publishDocument(uswarm.database, { document: 'terms_of_service', version: '2', content: 'New terms' });
      expect(await legal(user)).toMatchObject({
        terms_of_service: 'New terms',
        terms_of_service_version: '2',
        has_agreed_with_terms: false,
        has_agreed_with_privacy_policy: true,
      });
      expect(await user.refusal('POST', ACCEPT, old)).toBe('legal_version_unknown');
      await user.post(ACCEPT, { terms_of_service_version: '2' }, 204);
      expect(await agreed(user)).toEqual([true, true]);
      const terms = (await acceptances(user)).filter(({ document }) => document === 'terms_of_service');
      expect(terms.map(({ version }) => version)).toEqual(['1', '2']);
    });

    it('are published at start-up, and a restart with an older version changes nothing', async () => {
      const files = { document: 'privacy_policy', version: 'p-2', content: 'New privacy' } as const;
      await installDocuments(uswarm.database, [files]);
      expect((await currentVersions()).privacy_policy_version).toBe('p-2');
      await installDocuments(uswarm.database, [{ ...files, version: 'p-1', content: 'Old privacy' }]);
      expect((await currentVersions()).privacy_policy_version).toBe('p-2');
    });

    it('are updated if the text changes under the same version', async () => {
      const files = { document: 'privacy_policy', version: 'p-2', content: 'Better privacy' } as const;
      await installDocuments(uswarm.database, [files]);
      expect((await uswarm.anonymous.get<{ data: LegalStatus }>('/v1/legal')).body.data).toMatchObject({
        privacy_policy: 'Better privacy',
        privacy_policy_version: 'p-2',
      });
    });
  });
});
