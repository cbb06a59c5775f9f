import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadModelGatewayConfig } from '@uswarm/model-gateway';
import { modelLines } from '../test/models-page.js';
import { MODEL_EXAMPLES } from './model-examples.js';
import { readSettings, USAGE } from './settings.js';

const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/models.md'), 'utf8');
const quickstart = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');
const lines = modelLines(page);
const GATEWAY_SECRETS = {
  MODEL_TOKEN_SIGNING_KEY: `m1:${'m'.repeat(32)}`,
  INTERNAL_API_URL: 'http://127.0.0.1:8082',
  MODEL_CALLS_KEY: `k1:${'s'.repeat(32)}`,
};

describe('docs/models.md', () => {
  it('has the same lines as npm start -- --help', () => {
    expect(lines.map(({ line }) => line)).toEqual(MODEL_EXAMPLES.map(({ environment }) => `${environment} npm start`));
    expect(lines.filter(({ line }) => !USAGE.includes(`\n  ${line}`))).toEqual([]);
  });

  it.each(lines)('has a valid line: $line', ({ environment }) => {
    const expected = Object.keys(environment).some((name) => name.startsWith('ANTHROPIC_')) ? 'anthropic' : 'openai';
    expect(readSettings([], environment)).toMatchObject({ modelProvider: expected, environment });
  });

  it.each(lines)('leads the model gateway to its server, with the key and its model: $line', ({ environment }) => {
    const [prefix, defaultBaseUrl] = Object.keys(environment).some((name) => name.startsWith('ANTHROPIC_'))
      ? ['ANTHROPIC', 'https://api.anthropic.com/v1']
      : ['OPENAI', 'https://api.openai.com/v1'];
    // The gateway refuses the page's placeholder.
    const key = `${prefix}_API_KEY` in environment ? { [`${prefix}_API_KEY`]: 'key-of-this-test' } : {};
    const { providers } = loadModelGatewayConfig({ ...environment, ...key, ...GATEWAY_SECRETS });
    expect(providers).toMatchObject({
      [prefix.toLowerCase()]: {
        baseUrl: environment[`${prefix}_BASE_URL`] ?? defaultBaseUrl,
        apiKey: key[`${prefix}_API_KEY`],
        models: { fallback: environment[`${prefix}_MODEL`] },
      },
    });
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
