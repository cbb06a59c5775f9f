import { describe, expect, it } from '@jest/globals';
import { corsOrigins } from './cors-origins.js';

describe('the setting of CORS origins', () => {
  it.each([
    ['', []],
    ['*', ['*']],
    ['https://app.test, http://localhost:3000,', ['https://app.test', 'http://localhost:3000']],
    ['capacitor://localhost', ['capacitor://localhost']],
  ])('reads %j', (text, origins) => {
    expect(corsOrigins.parse(text)).toEqual(origins);
  });

  it.each(['*,https://app.test', 'https://*.app.test', 'app.test', 'https://app.test/', 'https://a.test/path', 'null'])(
    'refuses %j',
    (text) => {
      expect(corsOrigins.safeParse(text).success).toBe(false);
    },
  );
});
