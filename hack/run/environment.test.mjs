import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { checkCheckout, nodeBinary, serviceEnvironment } from './environment.mjs';

it("passes the user's variables to services, without npm's", () => {
  const environment = serviceEnvironment({
    E2E_TOKEN: 'x',
    INIT_CWD: '/somewhere',
    NODE: '/usr/bin/node',
    npm_config_cache: '/cache',
    npm_lifecycle_event: 'start',
    NPM_CONFIG_REGISTRY: 'http://mirror',
    PATH: '/repo/node_modules/.bin:/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin:/usr/bin',
  });
  expect(environment).toEqual({ E2E_TOKEN: 'x', PATH: `${dirname(nodeBinary)}:/usr/bin` });
});

it('rejects an incomplete checkout and Windows', () => {
  const empty = mkdtempSync(join(tmpdir(), 'checkout-'));
  expect(() => checkCheckout(empty, 'linux')).toThrow(`${empty} is an incomplete checkout (package.json is missing)`);
  expect(() => checkCheckout(empty, 'win32')).toThrow('use WSL');
  expect(() => checkCheckout(undefined, 'darwin')).not.toThrow();
  rmSync(empty, { recursive: true });
});
