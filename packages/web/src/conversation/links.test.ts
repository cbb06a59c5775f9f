import { expect, it } from '@jest/globals';
import { allowedUrl, targetBeside } from './links.js';

it.each([
  'http://a.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '//a.example',
  '/account',
  '#a',
  '',
  'https://a.example%3E',
])('allowedUrl makes no link of %j', (url) => {
  expect(allowedUrl(url)).toBe('');
});

it.each([
  ['the host', 'bank', 'https://evil.example/a', 'evil.example'],
  ['another host that the text names', 'https://bank.example', 'https://evil.example/', 'evil.example'],
  ['the host after a user name', 'https://bank@evil.example', 'https://bank@evil.example', 'evil.example'],
  [
    'the real name of a host with letters that look alike',
    'b\u0430nk.example',
    'https://b\u0430nk.example/',
    'xn--bnk-6cd.example',
  ],
  ['the receiver of an e-mail', 'help@bank.example', 'mailto:thief@evil.example?subject=x', 'thief@evil.example'],
  ['nothing beside the address', 'https://a.example/b', 'https://a.example/b', ''],
  ['nothing beside the address without a slash', 'https://a.example', 'https://a.example', ''],
  ['nothing beside the host', 'a.example', 'https://a.example/b', ''],
  ['nothing beside the receiver', 'a@b.example', 'mailto:a@b.example', ''],
])('targetBeside is %s', (_, text, href, expected) => {
  expect(targetBeside(text, href)).toBe(expected);
});
