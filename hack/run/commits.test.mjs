import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commitsStep, newCommits, subjectProblem } from './commits.mjs';

describe('the check of commit subjects', () => {
  it.each([
    'feat(chart): add a value for the timeout',
    'fix: reject empty tokens',
    'refactor(orchestrator, gateway)!: rename the job table',
    'docs: OIDC keys are cached',
    'Merge branch main',
  ])('accepts "%s"', (subject) => {
    expect(subjectProblem(subject)).toBeUndefined();
  });

  it.each([
    ['Reject empty tokens', 'must be "type(scope): description"'],
    ['feature: reject empty tokens', 'must be "type(scope): description"'],
    ['fix(Chart): reject empty tokens', 'must be "type(scope): description"'],
    ['fix: reject empty tokens.', 'full stop'],
    ['fix: Reject empty tokens', 'lower-case'],
    [`fix: reject ${'x'.repeat(100)}`, 'longer than 100'],
  ])('rejects "%s"', (subject, problem) => {
    expect(subjectProblem(subject)).toContain(problem);
  });
});

describe('the commits that are checked', () => {
  let root;
  const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root });
  const commit = (subject) => git('commit', '--quiet', '--allow-empty', '-m', subject);
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uswarm-commits-'));
    git('init', '--quiet');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('newCommits returns the commits after the one that adds the check', async () => {
    commit('An old subject');
    mkdirSync(join(root, 'hack/run'), { recursive: true });
    writeFileSync(join(root, 'hack/run/commits.mjs'), '');
    git('add', '.');
    commit('test: add the check');
    commit('fix: reject empty tokens');
    commit('A new subject');
    expect(newCommits(root).map(({ subject }) => subject)).toEqual(['A new subject', 'fix: reject empty tokens']);
    const { ok, output } = await commitsStep(root).run();
    expect({ ok, output }).toEqual({
      ok: false,
      output: expect.stringContaining('"A new subject": the subject must be'),
    });
  });

  it('newCommits returns none in a clone without the commit that adds the check', async () => {
    commit('Some subject');
    expect(newCommits(root)).toEqual([]);
    expect(await commitsStep(root).run()).toEqual({ ok: true, output: '' });
  });

  it('newCommits returns none outside a repository', () => {
    expect(newCommits(join(root, 'missing'))).toEqual([]);
  });
});

describe('the hook of lefthook', () => {
  const check = (message) => {
    const folder = mkdtempSync(join(tmpdir(), 'uswarm-message-'));
    const file = join(folder, 'COMMIT_EDITMSG');
    writeFileSync(file, message);
    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'commits.mjs'), file], {
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    return { status, stderr };
  };

  it('rejects a message with a wrong subject and prints the problem', () => {
    expect(check('# a comment\nReject empty tokens\n\nWhy.\n')).toEqual({
      status: 1,
      stderr: expect.stringContaining('"Reject empty tokens": the subject must be'),
    });
  });

  it.each(['fix: reject empty tokens\n', 'fixup! A new subject\n', '\n# An empty message\n'])(
    'accepts %j',
    (message) => {
      expect(check(message)).toEqual({ status: 0, stderr: '' });
    },
  );
});
