import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkGrammar, countGrammar } from './grammar.mjs';

/** Pattern → sentences that count once, and sentences that do not count. */
const SENTENCES = {
  of: {
    wrong: ['It deletes tokens of the turn.', 'It is closed by the end of a lease.'],
    right: ['It deletes turn tokens.', 'It consists of three parts.'],
  },
  plurals: {
    wrong: ['It lists names of agents.', 'It lists ids of stored messages.'],
    right: ['It lists agent names.', 'It consists of parts.', 'The class of this is open.', 'It has rows of one type.'],
  },
  clauses: {
    wrong: ['What a turn stores that a runtime gets.', 'Whether the pod is ready.', 'It ends. When it was created.'],
    right: [
      'When a lease ends, another process takes the job.',
      'What is it that fails here?',
      'Whatever is left stays.',
    ],
  },
  those: {
    wrong: ['It keeps those that are new.', 'It reads that of the user.'],
    right: ['It keeps new ones.', 'It is the one.'],
  },
};
const countsOf = (path, text) =>
  Object.fromEntries(Object.entries(countGrammar(path, text).lines).map(([name, lines]) => [name, lines.length]));

describe('the counter of grammar', () => {
  it.each(Object.keys(SENTENCES))('counts each wrong sentence of "%s" once and no right one', (name) => {
    const { wrong, right } = SENTENCES[name];
    expect(wrong.map((sentence) => countsOf('a.ts', `// ${sentence}`)[name])).toEqual(wrong.map(() => 1));
    expect(right.map((sentence) => countsOf('a.ts', `// ${sentence}`)[name])).toEqual(right.map(() => 0));
  });

  it('finds a phrase that continues in the next line of a comment, and names its first line', () => {
    const text = "const a = 1;\n/**\n * It reads the tokens\n * of the turn.\n */\nconst b = '';";
    expect(countGrammar('a.ts', text)).toMatchObject({ words: 7, lines: { of: [4] } });
  });

  it('skips strings of scripts and fenced code of pages', () => {
    const text = "const a = 'The end of the turn.'; // A comment of four words.";
    expect(countsOf('a.ts', text).of).toBe(0);
    expect(countsOf('a.md', '```ts\nThe end of the turn.\n```\n\nThe end of the lease.').of).toBe(1);
  });
});

describe('the baseline of grammar', () => {
  const check = (text, counts) => {
    const root = mkdtempSync(join(tmpdir(), 'uswarm-grammar-test-'));
    writeFileSync(join(root, 'a.ts'), text);
    try {
      return checkGrammar({ root, files: ['a.ts'], baseline: counts === undefined ? {} : { 'a.ts': counts } });
    } finally {
      rmSync(root, { recursive: true });
    }
  };
  const comment = '// The id of the user and the name of the agent.\n\n// The end of the turn.\n';

  it('fails a file that has more than its entry, with the lines', () => {
    expect(check(comment, { of: 2 }).findings).toEqual([
      { path: 'a.ts', line: 1, rule: 'Grammar.of', match: '', message: expect.stringContaining('lines 1, 1, 3') },
    ]);
  });

  it('accepts what an entry allows, and one "of the" in a new short file', () => {
    expect(check(comment, { of: 3 }).findings).toEqual([]);
    expect(check('// The end of the turn.').findings).toEqual([]);
  });

  it('allows a long file the usual rate', () => {
    expect(check(`${'// One comment with six words here.\n\n'.repeat(60)}${comment}`).findings).toEqual([]);
  });

  it('shrinks to what a file has, and does not grow', () => {
    expect(check(comment, { of: 5 }).baseline).toEqual({ 'a.ts': { of: 3 } });
    expect(check(comment, { of: 2 }).baseline).toEqual({ 'a.ts': { of: 2 } });
    expect(check('// A comment of four words.', { of: 5, those: 1 }).baseline).toEqual({});
  });
});
