import { expect, it } from '@jest/globals';
import { searxngSettings, type SettingsOptions } from './searxng-settings.js';

const proxies = (environment: Record<string, string>, engines: SettingsOptions['engines'] = 'general'): unknown => {
  const folders = { templatesPath: '/t', staticPath: '/s' };
  const settings = searxngSettings({ port: 1, secret: 's', ...folders, engines, environment });
  return (settings as { outgoing: { proxies: unknown } }).outgoing.proxies;
};

it.each([
  [{}, null],
  [{ HTTPS_PROXY: 'http://p:1' }, { 'https://': 'http://p:1' }],
  [
    { https_proxy: 'http://p:1', HTTP_PROXY: 'http://p:2' },
    { 'https://': 'http://p:1', 'http://': 'http://p:2' },
  ],
  [
    { ALL_PROXY: 'socks5h://p:1', HTTPS_PROXY: '' },
    { 'https://': 'socks5h://p:1', 'http://': 'socks5h://p:1' },
  ],
])('SearXNG asks public engines through the proxy of %j', (environment, expected) => {
  expect(proxies(environment as Record<string, string>)).toEqual(expected);
});

it('SearXNG asks the engines of a test without a proxy', () => {
  expect(proxies({ HTTPS_PROXY: 'http://p:1' }, [])).toBeNull();
});
