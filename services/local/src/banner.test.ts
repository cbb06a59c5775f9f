import { describe, expect, it } from '@jest/globals';
import { banner } from './banner.js';
import type { RunningLocal } from './running-local.js';

const running = (dataDirectory: string, environment: Record<string, string>): RunningLocal => ({
  url: 'http://127.0.0.1:8080',
  issuer: 'http://127.0.0.1:8080/dev/issuer',
  e2eToken: undefined,
  model: 'demo',
  search: () => 'off',
  dataDirectory,
  shared: false,
  environment,
});

/** The printed commands. */
const commands = (dataDirectory: string, environment: Record<string, string>): string[] =>
  banner(running(dataDirectory, environment))
    .split('\n')
    .filter((line) => line.includes('npm run chat'))
    .map((line) => line.trim());

describe('the banner of local mode', () => {
  it('calls the address a page, at the addresses where the page works', () => {
    const lines = (url: string) => banner({ ...running('/d', {}), url }).split('\n');
    expect(lines('http://127.0.0.1:8080')).toContain('Open this page in a browser. It signs you in with one click.');
    expect(lines('http://192.168.0.7:8080').filter((line) => line.includes('browser'))).toEqual([]);
  });

  it('prints commands without a data folder if it is the default one', () => {
    for (const environment of [{}, { USWARM_DATA_DIR: '' }])
      expect(commands('/home/ada/uswarm/.data', environment)[1]).toBe('npm run chat -- "show me everything"');
  });

  it.each([
    ['/data/uswarm-1', 'USWARM_DATA_DIR=/data/uswarm-1 npm run chat -- "show me everything"'],
    ["/Users/ada/my $data's", `USWARM_DATA_DIR='/Users/ada/my $data'\\''s' npm run chat -- "show me everything"`],
  ])('prints commands for a shell with the data folder %s', (folder, command) => {
    expect(commands(folder, { USWARM_DATA_DIR: folder })[1]).toBe(command);
  });
});
