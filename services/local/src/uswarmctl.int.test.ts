import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { developmentToken } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { runProgram } from '../test/program.js';

interface Answer {
  status: number;
  body: { code?: string; data?: Record<string, unknown> };
}

describe('npm run ctl beside local mode', () => {
  let local: RunningProgram;
  let company: OidcIssuer;
  let token: string;
  const email = 'ada@example.com';
  beforeAll(async () => {
    company = await startOidcIssuer();
    const rules = [{ claim: 'groups', value: 'sre', rights: ['show', 'audit'] }];
    const issuers = [{ issuer: company.issuer, audience: 'uswarmctl', rules }];
    local = await runLocalMode({ OPERATOR_ISSUERS: JSON.stringify(issuers) });
    token = await developmentToken(local.issuer, email);
    await api('POST', '/v1/auth/sign-up');
  });
  afterAll(() => Promise.all([local?.stop(), company?.close()]));

  async function api(method: string, route: string): Promise<Answer> {
    const response = await fetch(`${local.url}${route}`, { method, headers: { 'x-token': token } });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) };
  }
  async function ctl(args: string[], env: Record<string, string> = {}) {
    const program = runProgram('packages/cli/dist/uswarmctl.js', args, {
      USWARM_DATA_DIR: local.directory,
      USWARM_OPERATOR: 'olivia',
      ...env,
    });
    const code = await program.ended;
    return { code, stdout: program.stdout(), stderr: program.stderr() };
  }
  const json = async (...args: string[]): Promise<never> =>
    JSON.parse((await ctl([...args, '--json'])).stdout) as never;

  it('shows a user without configuration', async () => {
    const { code, stdout } = await ctl(['user', 'show', email]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}e-mail {6}ada@example\.com$/m);
    expect(stdout).toMatch(/^ {2}usage {7}0 of 1,000,000 tokens in \d{4}-\d{2}, 0 model calls$/m);
    expect(stdout).toMatch(/^ {2}workspace {3}[\da-f-]{36} {2}\w+ {2}My workspace$/m);
  });

  it('bans and unbans a user', async () => {
    expect(await ctl(['user', 'ban', email, '--reason', 'spam'])).toEqual({
      code: 0,
      stdout: `${email} is banned.\n`,
      stderr: '',
    });
    expect(await api('GET', '/v1/users/profile')).toMatchObject({ status: 403, body: { code: 'user_banned' } });
    expect((await ctl(['user', 'ban', email])).stdout).toBe(`${email} was already banned.\n`);
    expect((await ctl(['user', 'unban', email])).stdout).toBe(`${email} is no longer banned.\n`);
    expect((await api('GET', '/v1/users/profile')).status).toBe(200);
  });

  it('changes the plan of a user', async () => {
    expect((await ctl(['user', 'plan', email, 'pro', '--until', '2999-01-01'])).stdout).toBe(
      `${email}: plan set to pro (expires at 2999-01-01T00:00:00.000Z).\n`,
    );
    expect((await api('GET', '/v1/users/usage/summary')).body.data).toMatchObject({ plan_id: 'pro' });
    const wrong = await ctl(['user', 'plan', email, 'platinum']);
    expect(wrong).toMatchObject({ code: 1, stderr: 'plan must be one of free, pro\n' });
  });

  it('publishes a legal document from a file', async () => {
    const file = path.join(local.directory, '..', 'terms.md');
    await writeFile(file, '# New terms\n');
    expect((await ctl(['legal', 'publish', 'terms_of_service', '2027-01', file])).stdout).toBe(
      'terms_of_service 2027-01 published. Users must accept it again.\n',
    );
    expect((await api('GET', '/v1/users/legal')).body.data).toMatchObject({
      terms_of_service: '# New terms\n',
      terms_of_service_version: '2027-01',
      has_agreed_with_terms: false,
    });
    const { stdout } = await ctl(['legal', 'list']);
    expect(stdout).toMatch(/^terms_of_service {2}2027-01 .* current$/m);
    const again = await ctl(['legal', 'publish', 'terms_of_service', '2027-01', file]);
    expect([again.code, again.stderr]).toEqual([1, 'version 2027-01 of this document was published before\n']);
  });

  it('shows a workspace', async () => {
    const [user] = (await json('user', 'show', email)) as { workspaces: { id: string }[] }[];
    const id = user?.workspaces[0]?.id ?? '';
    const { stdout } = await ctl(['workspace', 'show', id]);
    expect(stdout).toMatch(/^ {2}turns {7}0 queued, 0 running, 0 failed$/m);
    const none = await ctl(['workspace', 'show', crypto.randomUUID()]);
    expect(none).toMatchObject({ code: 1, stderr: 'Workspace not found.\n' });
  });

  it('lists turns and explains why one cannot be requeued', async () => {
    expect((await ctl(['turns', 'list'])).stdout).toBe('No results.\n');
    const id = crypto.randomUUID();
    expect(await ctl(['turns', 'requeue', id])).toEqual({
      code: 1,
      stdout: `${id}: not requeued: turn not found\n`,
      stderr: '',
    });
  });

  it('writes a data export to an archive, and does not replace a file', async () => {
    const file = path.join(local.directory, '..', 'ada.zip');
    const { code, stdout } = await ctl(['export', email, '--out', file, '--reason', 'asked by letter']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/ada\.zip has the data of .+ \(\d+ bytes\)\.\n$/),
    });
    expect((await readFile(file)).subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004');
    // The user has an export of today, which is used again.
    const again = await ctl(['export', email, '--out', file]);
    expect(again).toMatchObject({ code: 1, stderr: `${file} exists: name another file with --out.\n` });
    const entries = (await json('audit', '--user', email)) as { action: string; details: { reason: string } }[];
    const recorded = entries.filter(({ action }) => action === 'user.export');
    expect(recorded.length).toBeGreaterThanOrEqual(2);
    expect(recorded.some(({ details }) => details.reason === 'asked by letter')).toBe(true);
    const unknown = await ctl(['export', 'nobody@example.com']);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('not found') });
  });

  it('records each action and its actor in the audit log', async () => {
    await ctl(['user', 'ban', email, '--as', 'oscar']);
    const entries = (await json('audit', '--user', email)) as { actor: string; action: string }[];
    expect(entries.find(({ action }) => action === 'user.ban')?.actor).toBe('oscar');
    expect(entries.some(({ actor, action }) => actor === 'olivia' && action === 'user.plan')).toBe(true);
  });

  describe('with the token of an issuer', () => {
    const person = { email: 'olivia@example.com', name: 'Olivia', subject: 'olivia-at-work', audience: 'uswarmctl' };
    const sre = (more: object = {}) => company.issueToken({ ...person, claims: { groups: ['sre'] }, ...more });
    async function asPerson(args: string[], env: Record<string, string> = {}) {
      const info = JSON.parse(await readFile(path.join(local.directory, 'admin.json'), 'utf8')) as { url: string };
      return ctl([...args, '--url', info.url], env);
    }

    it('acts as the person, with the rights of the person', async () => {
      const env = { USWARM_TOKEN: await sre() };
      const { code, stdout } = await asPerson(['audit', '--json', '--limit', '1'], env);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toHaveLength(1);
      const [newest] = (await json('audit', '--limit', '1')) as { actor: string; action: string }[];
      expect(newest).toMatchObject({ actor: `${company.issuer}#olivia-at-work`, action: 'audit.list' });
      expect(await asPerson(['user', 'ban', email], env)).toMatchObject({
        code: 1,
        stderr: 'The operator is not permitted to perform this action.\n',
      });
    });

    it('gets the token from a command', async () => {
      const file = path.join(local.directory, '..', 'token.json');
      await writeFile(file, JSON.stringify({ kind: 'ExecCredential', status: { token: await sre() } }));
      const { stdout } = await asPerson(['user', 'show', email, '--token-command', `cat '${file}'`]);
      expect(stdout).toMatch(/^ {2}e-mail {6}ada@example\.com$/m);
    });

    it('explains in one sentence why the token is refused', async () => {
      const expired = { USWARM_TOKEN: await sre({ expiresInSeconds: -60 }) };
      expect((await asPerson(['turns', 'list'], expired)).stderr).toBe('The token has expired: sign in again.\n');
      const other = { USWARM_TOKEN: await sre({ audience: 'grafana' }) };
      expect((await asPerson(['turns', 'list'], other)).stderr).toMatch(/^Authentication failed: token rejected\./);
    });
  });

  it.each<[string, string[], Record<string, string>, RegExp]>([
    ['an unknown user', ['user', 'show', 'unknown@example.com'], {}, /^User unknown@example\.com not found\./],
    [
      'another key',
      ['turns', 'list', '--url', 'INTERNAL'],
      { USWARM_ADMIN_KEY: `k:${'x'.repeat(32)}` },
      /^Authentication failed: key rejected\./,
    ],
    [
      'an unreachable URL',
      ['turns', 'list', '--url', 'http://127.0.0.1:1'],
      { USWARM_ADMIN_KEY: `k:${'x'.repeat(32)}` },
      /^http:\/\/127\.0\.0\.1:1 refused the connection\./,
    ],
    ['a URL without a key', ['turns', 'list', '--url', 'http://127.0.0.1:1'], {}, /^The key is missing/],
    ['no local mode', ['turns', 'list'], { USWARM_DATA_DIR: '/nonexistent' }, /^uswarm is not running here\./],
    ['an invalid turn id', ['turns', 'requeue', 'x'], {}, /^turn_ids\.0: /],
  ])('explains in one sentence an error due to %s', async (_what, args, env, sentence) => {
    const info = JSON.parse(await readFile(path.join(local.directory, 'admin.json'), 'utf8')) as { url: string };
    const { code, stdout, stderr } = await ctl(
      args.map((arg) => (arg === 'INTERNAL' ? info.url : arg)),
      env,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
  });
});
