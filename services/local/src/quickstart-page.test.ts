import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CONNECTION_VARIABLES } from '@uswarm/contract/providers';
import { describe, expect, it } from '@jest/globals';
import { LocalError } from '@uswarm/dev-servers';
import { banner } from './banner.js';
import { describeModel } from './local-mode.js';
import { createLocalSearch } from './local-search.js';

const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/quickstart.md'), 'utf8');

const searchWith = (findPython: () => Promise<string>) =>
  createLocalSearch({
    search: { kind: 'searxng' },
    findPython,
    start: () => Promise.reject(new Error('is not started')),
    progress: () => undefined,
  });

describe('docs/quickstart.md', () => {
  it('shows what npm start prints', async () => {
    const url = 'http://127.0.0.1:8080';
    const search = await searchWith(() => Promise.resolve('python3'));
    const printed = banner({
      url,
      issuer: `${url}/dev/issuer`,
      e2eToken: undefined,
      model: describeModel({ modelProvider: 'demo', environment: {} }),
      search: search.describe,
      dataDirectory: '/home/ada/uswarm/.data',
      shared: false,
      environment: {},
    });
    expect(page).toContain(`${printed}\n`);
  });

  it('shows the line of a machine without Python', async () => {
    const problem = 'SearXNG needs Python 3.11 or newer with pip; install python3 and python3-pip.';
    const search = await searchWith(() => Promise.reject(new LocalError(problem)));
    expect(page).toContain(`\n  search    ${search.describe()}\n`);
  });

  it('lists the variables that choose a model', () => {
    for (const name of CONNECTION_VARIABLES) expect(page).toMatch(new RegExp(`^\\|.*\`${name}\``, 'm'));
  });
});
