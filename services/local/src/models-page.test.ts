import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { modelLines } from '../test/models-page.js';
import { MODEL_EXAMPLES } from './model-examples.js';
import { readSettings, USAGE } from './settings.js';

const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/models.md'), 'utf8');
const quickstart = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');
const lines = modelLines(page);

describe('docs/models.md', () => {
  it('has the same lines as npm start -- --help', () => {
    expect(lines.map(({ line }) => line)).toEqual(MODEL_EXAMPLES.map(({ environment }) => `${environment} npm start`));
    expect(lines.filter(({ line }) => !USAGE.includes(`\n  ${line}`))).toEqual([]);
  });

  it.each(lines)('has a valid line: $line', ({ environment }) => {
    const expected = Object.keys(environment).some((name) => name.startsWith('ANTHROPIC_')) ? 'anthropic' : 'openai';
    expect(readSettings([], environment)).toMatchObject({ modelProvider: expected, environment });
  });

  it.each(lines)('uses only variables that npm start -- --help names: $line', ({ environment }) => {
    expect(Object.keys(environment).filter((name) => !USAGE.includes(name))).toEqual([]);
  });

  it('has the lines of docs/quickstart.md', () => {
    const known = lines.map(({ line }) => line);
    expect(modelLines(quickstart)).toHaveLength(1);
    expect(known).toEqual(expect.arrayContaining(modelLines(quickstart).map(({ line }) => line)));
  });
});
