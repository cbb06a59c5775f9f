import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { defaultBase } from './base.mjs';
import { chosenServices } from './service-images.mjs';
import { services } from './services.mjs';
import { officialDefaults } from './test-images.mjs';

describe('the images of the services', () => {
  it('images exist for every service except local mode', () => {
    const folder = join(repositoryRoot, 'services');
    const found = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'src/main.ts')));
    expect(services.map(({ name }) => name).toSorted()).toEqual(found.filter((name) => name !== 'local').toSorted());
  });

  it('chosenServices selects services by name', () => {
    expect(chosenServices(['agent-runtime']).map(({ name }) => name)).toEqual(['agent-runtime']);
    expect(chosenServices()).toEqual(services);
    expect(() => chosenServices(['agent'])).toThrow('Unknown service "agent". Expected one of: orchestrator,');
  });

  it('the base image is pinned by digest', () => {
    expect(defaultBase()).toMatch(/@sha256:[0-9a-f]{64}$/);
  });
});

it('the default settings of SearXNG have no proxy, no JSON and no plugins', () => {
  const settings = `search:
  formats:
    - json
  safe_search: 0
outgoing:
  enable_http2: true
  proxies:
    all://:
      - socks5://127.0.0.1:10808

ui:
  default_theme: simple
plugins:
  searx.plugins.calculator.SXNGPlugin:
    active: false
engines:
  - name: duckduckgo
`;
  expect(officialDefaults(settings)).toBe(`search:
  formats: [html]
  safe_search: 0
outgoing:
  enable_http2: true

ui:
  default_theme: simple
plugins: {}
engines:
  - name: duckduckgo
`);
});
