import { expect, it } from '@jest/globals';
import { ownUrl } from './own-url.js';

it.each([
  ['http://127.0.0.1:8080/v1/assets/icon.svg?size=24', '/v1/assets/icon.svg?size=24'],
  ['https://api.example.com/v1/assets/icon.svg', '/v1/assets/icon.svg'],
  ['/v1/assets/icon.svg', '/v1/assets/icon.svg'],
])('ownUrl returns the path of a file of the API at any address: %s', (url, path) => {
  expect(ownUrl(url)).toBe(path);
});
