import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { replaceUnwritableFolders } from './home.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'home-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A home in which nothing can be created, also by root: its place is a file. */
function unwritableHome() {
  const home = join(folder, 'file', 'home');
  writeFileSync(join(folder, 'file'), '');
  return home;
}
function replace(environment) {
  const line = replaceUnwritableFolders({ environment, root: '/checkout' });
  return { line, environment };
}

describe('replaceUnwritableFolders', () => {
  it('changes nothing for a home that can be written, also if its folders do not exist yet', () => {
    expect(replace({ HOME: folder })).toEqual({ line: undefined, environment: { HOME: folder } });
  });

  it('uses folders in the checkout if the home cannot be written, and reports it in one line', () => {
    const home = unwritableHome();
    const { line, environment } = replace({ HOME: home });
    expect(environment).toEqual({
      HOME: home,
      npm_config_cache: '/checkout/.cache/home/.npm',
      XDG_CACHE_HOME: '/checkout/.cache/home/.cache',
      XDG_DATA_HOME: '/checkout/.cache/home/.local/share',
      XDG_STATE_HOME: '/checkout/.cache/home/.local/state',
    });
    expect(line).toBe(
      `${home}/.npm cannot be written, so caches are in /checkout/.cache/home. ` +
        'To use other folders, set npm_config_cache, XDG_CACHE_HOME, XDG_DATA_HOME, XDG_STATE_HOME.',
    );
  });

  it('keeps folders that the user chose, in any case', () => {
    const chosen = { NPM_CONFIG_CACHE: folder, XDG_CACHE_HOME: folder, XDG_DATA_HOME: folder, XDG_STATE_HOME: folder };
    const environment = { HOME: unwritableHome(), ...chosen };
    expect(replace({ ...environment })).toEqual({ line: undefined, environment });
  });

  it('replaces a single chosen folder that cannot be written', () => {
    const home = join(folder, 'home');
    mkdirSync(home);
    const { line, environment } = replace({ HOME: home, NPM_CONFIG_CACHE: join(unwritableHome(), 'npm') });
    expect(environment).toEqual({ HOME: home, npm_config_cache: '/checkout/.cache/home/.npm' });
    expect(line).toMatch(/set npm_config_cache\.$/);
  });
});
