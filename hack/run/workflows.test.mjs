import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { actionlint } from '../../packages/testkit/src/go/actionlint.js';
import { describeWith } from '../../packages/testkit/src/parts.js';
import { repositoryRoot } from './environment.mjs';

const workflows = globSync('.github/workflows/*.yml', { cwd: repositoryRoot });
const texts = workflows.map((path) => readFileSync(join(repositoryRoot, path), 'utf8'));

describe('the workflows', () => {
  it('name each action by its commit, with its version', () => {
    const uses = texts.flatMap((text) => [...text.matchAll(/uses: (.+)$/gm)].map(([, action]) => action));
    expect(uses.length).toBeGreaterThan(2);
    const named = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    // A workflow of the same commit needs no name.
    expect(uses.filter((action) => !named.test(action) && !action.startsWith('./'))).toEqual([]);
  });

  it('release only what has passed all tests', () => {
    const { jobs } = parse(readFileSync(join(repositoryRoot, '.github/workflows/release.yml'), 'utf8'));
    expect(jobs).toMatchObject({
      ci: { uses: './.github/workflows/ci.yml', with: { all: true } },
      release: { needs: 'ci' },
    });
  });

  it('may only read the repository', () => {
    const permissions = texts.map((text) => /^permissions:\n((?: +.+\n)+)/m.exec(text)?.[1]);
    expect(permissions).toEqual(workflows.map(() => '  contents: read\n'));
  });
});

describeWith('go', 'the linter of workflows', () => {
  it('finds nothing', async () => {
    const program = await actionlint();
    const output = execFileSync(program, ['-shellcheck=', '-pyflakes=', '-format', '{{json .}}', ...workflows], {
      cwd: repositoryRoot,
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual([]);
  });
});
