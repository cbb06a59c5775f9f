import { writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readProxy } from './proxy.js';

const serverFor = (env: Record<string, string>, url: string) => readProxy(env).serverFor(new URL(url));
const originFor = (env: Record<string, string>, url: string): string | undefined => serverFor(env, url)?.origin;
const credentialsFor = (env: Record<string, string>, url = 'https://a.test'): string =>
  Buffer.from(serverFor(env, url)?.authorization?.replace('Basic ', '') ?? '', 'base64').toString();

describe('the proxy of a URL', () => {
  it.each([
    [{ HTTPS_PROXY: 'http://p.test:1' }, 'https://a.test', 'http://p.test:1'],
    [{ HTTPS_PROXY: 'http://p.test:1' }, 'http://a.test', undefined],
    [{ HTTP_PROXY: 'http://p.test:1' }, 'http://a.test', 'http://p.test:1'],
    [{ HTTP_PROXY: 'http://p.test:1' }, 'https://a.test', undefined],
    [{ ALL_PROXY: 'http://p.test:1' }, 'https://a.test', 'http://p.test:1'],
    [{ ALL_PROXY: 'http://p.test:1', HTTPS_PROXY: 'http://q.test:1' }, 'https://a.test', 'http://q.test:1'],
    [
      { ALL_PROXY: 'socks5://p.test:1', HTTPS_PROXY: 'http://q.test:1', HTTP_PROXY: 'q.test:1' },
      'http://a.test',
      'http://q.test:1',
    ],
    [{ https_proxy: 'http://low.test:1', HTTPS_PROXY: 'http://up.test:1' }, 'https://a.test', 'http://low.test:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://up.test:1' }, 'https://a.test', 'http://up.test:1'],
    [{ HTTPS_PROXY: 'p.test:3128' }, 'https://a.test', 'http://p.test:3128'],
    [{ HTTPS_PROXY: 'https://p.test' }, 'https://a.test', 'https://p.test'],
    [{ HTTPS_PROXY: 'http://[2001:db8::1]:3128' }, 'https://a.test', 'http://[2001:db8::1]:3128'],
    [{ HTTPS_PROXY: 'http://p.test:1', NO_PROXY: 'a.test' }, 'https://a.test', undefined],
    [{ HTTPS_PROXY: 'http://p.test:1', no_proxy: 'a.test', NO_PROXY: 'b.test' }, 'https://b.test', 'http://p.test:1'],
    [{ HTTPS_PROXY: 'http://p.test:1', NO_PROXY: 'a.test:443' }, 'https://a.test', undefined],
    [{ HTTPS_PROXY: 'http://p.test:1' }, 'https://127.0.0.1:8443', undefined],
    [{}, 'https://a.test', undefined],
  ])('is chosen by the environment: %j, %s, %s', (env, url, origin) => {
    expect(originFor(env as Record<string, string>, url)).toBe(origin);
  });

  it('has the credentials in its URL, which are percent-encoded', () => {
    expect(credentialsFor({ HTTPS_PROXY: 'http://ann:p%40ss%3A%2F@p.test:1', PROXY_USERNAME: 'other' })).toBe(
      'ann:p@ss:/',
    );
  });

  it('has the credentials of PROXY_USERNAME and PROXY_PASSWORD, which are not encoded', () => {
    const env = { ALL_PROXY: 'http://p.test:1', PROXY_USERNAME: 'ann', PROXY_PASSWORD: 'p@ss:/%' };
    expect(credentialsFor(env)).toBe('ann:p@ss:/%');
  });

  it('can be read from a file, like other secrets', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'uswarm-proxy-')), 'url');
    writeFileSync(file, 'http://ann:secret@p.test:1\n');
    expect(credentialsFor({ HTTPS_PROXY_FILE: file })).toBe('ann:secret');
  });

  it('is listed by its origin alone', () => {
    expect(readProxy({ ALL_PROXY: 'http://ann:secret@p.test:1' }).origins).toEqual(['http://p.test:1']);
  });
});

describe('a setting of a proxy', () => {
  it.each([
    ['HTTPS_PROXY', 'socks5://ann:hunter2@p.test:1080'],
    ['https_proxy', 'ftp://ann:hunter2@p.test'],
    ['HTTP_PROXY', 'http://ann:hunter2@'],
    ['ALL_PROXY', 'http://ann:hunter2@p.test:99999'],
    ['HTTPS_PROXY', 'http://ann:hunter2%zz@p.test'],
    ['HTTPS_PROXY', 'http://ann:hunter2 @p test'],
  ])('is rejected if %s is %j, without its value in the message', (name, value) => {
    const read = () => readProxy({ [name]: value });
    expect(read).toThrow(`${name} is not valid: must be the URL of a proxy`);
    expect(read).not.toThrow('hunter2');
  });

  it('is rejected if a password has no user name', () => {
    expect(() => readProxy({ HTTPS_PROXY: 'http://p.test', PROXY_PASSWORD: 'x' })).toThrow(
      'PROXY_PASSWORD is set without PROXY_USERNAME',
    );
  });
});
