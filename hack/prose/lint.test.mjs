import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { vale } from '../../packages/testkit/src/go/vale.js';
import { describeWith } from '../../packages/testkit/src/parts.js';
import { lintedFiles, lintFiles, readExceptions } from './lint.mjs';

/** Rule → sentences that break it, and sentences that are correct. */
const SENTENCES = {
  Words: {
    wrong: ['The list is read anew.', 'Whoever calls is asked.', 'Nobody reads it.', 'The proxy mends the connection.'],
    right: ['The list is read again.', 'No other client reads it.', 'The amendment is applied.'],
  },
  Idioms: {
    wrong: ['It stops at once.', 'It waits for ever.', 'A fault of ours.', 'It belongs into the values.'],
    right: ['It stops immediately.', 'It waits forever.', 'An internal error.', 'It belongs in the values.'],
  },
  WordOrder: {
    wrong: ['This is no list.', 'It must be none of them and is none of these.', 'Undefined where it is unset.'],
    right: ['This is not a list.', 'There is no limit.', 'It is no longer used.', 'set x = null where id = 1'],
  },
  Per: { wrong: ['One a workspace.', 'Allows 20 a user.'], right: ['One per workspace.', '20 requests a second.'] },
  Speaking: {
    wrong: ['The status says why.', 'The pod hears of it.'],
    right: ['The status states why.', 'Users say hello.'],
  },
  Looking: {
    wrong: ['Each look costs a query.', 'The controller looks after pods.'],
    right: ['Each check costs a query.', 'It looks like a list.'],
  },
  Gone: {
    wrong: ['The pod is gone.', 'Valkey is away.', 'The row goes when the runtime ends.'],
    right: ['The pod is deleted.', 'Valkey is unavailable.', 'The request goes to the gateway.'],
  },
  Nominal: {
    wrong: ['It describes what it is.', 'The log has what was said.'],
    right: ['It has a description.', 'The log has the message.'],
  },
  Quantity: {
    wrong: ['At most so many pods.', 'It has as many workspaces as allowed.', 'A folder of its own.'],
    right: ['Up to N pods.', 'The workspace limit is reached.', 'Its own folder.'],
  },
};

describeWith('go', 'the rules of prose', () => {
  let program;
  beforeAll(async () => {
    program = await vale();
  });

  async function rulesBrokenBy(sentences, name = 'text.md') {
    const root = mkdtempSync(join(tmpdir(), 'uswarm-prose-test-'));
    try {
      writeFileSync(join(root, name), `${sentences.join('\n\n')}\n`);
      return await lintFiles({ vale: program, root, files: [name] });
    } finally {
      rmSync(root, { recursive: true });
    }
  }

  it('have an example for each rule', () => {
    const rules = readdirSync(join(import.meta.dirname, 'styles/Uswarm')).map((file) => file.replace('.yml', ''));
    expect(Object.keys(SENTENCES).toSorted()).toEqual(rules.toSorted());
  });

  it.each(Object.keys(SENTENCES))('report each wrong sentence of %s in its line', async (rule) => {
    const { wrong } = SENTENCES[rule];
    const found = await rulesBrokenBy(wrong);
    const lines = found.filter((finding) => finding.rule === rule).map(({ line }) => line);
    expect([...new Set(lines)]).toEqual(wrong.map((_, index) => index * 2 + 1));
  });

  it.each(Object.keys(SENTENCES))('accept the correct sentences of %s', async (rule) => {
    expect(await rulesBrokenBy(SENTENCES[rule].right)).toEqual([]);
  });

  it('find a phrase that continues in the next line of a comment', async () => {
    const lines = ['const nobody = 1;', '// The loop stops at', '// once when it is told to.'];
    const found = await rulesBrokenBy([lines.join('\n')], 'code.ts');
    expect(found).toEqual([
      { path: 'code.ts', line: 2, rule: 'Idioms', match: 'at once', message: expect.stringContaining('immediately') },
    ]);
  });
});

describe('the files that are linted', () => {
  it('are the tracked files without an exception', () => {
    const root = mkdtempSync(join(tmpdir(), 'uswarm-prose-test-'));
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    for (const name of ['a.ts', 'b.md', 'generated.md', 'image.svg', 'untracked.md'])
      writeFileSync(join(root, name), '');
    execFileSync('git', ['add', 'a.ts', 'b.md', 'generated.md', 'image.svg'], { cwd: root });
    const ignored = [{ path: '^generated', reason: 'Generated.' }];
    expect(lintedFiles(root, { ignored })).toEqual(['a.ts', 'b.md']);
    rmSync(root, { recursive: true });
  });

  it('are excluded only with a reason', () => {
    const { ignored, allowed } = readExceptions();
    const reasons = [...ignored, ...allowed].map(({ reason }) => reason);
    expect(reasons.filter((reason) => typeof reason !== 'string' || reason === '')).toEqual([]);
  });
});
