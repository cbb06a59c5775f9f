import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, loadConfig } from './config.js';
import { isPlaceholder, previousSecrets, secretText } from './secret-text.js';
import { parseSigningKey } from './tokens.js';

describe('a secret', () => {
  it.each([
    'changeme-changeme-changeme-changeme',
    'k1:PLEASE-CHANGE-ME-PLEASE-CHANGE-ME-1',
    'replace_this_with_openssl_rand_hex_32',
    'a-placeholder-of-thirty-two-characters',
    'your-secret-key-your-secret-key-0000',
  ])('is rejected if it is a placeholder, and is not printed: %s', (text) => {
    const load = (): unknown => loadConfig(z.object({ CURSOR_KEY: secretText(32) }), { CURSOR_KEY: text });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow('CURSOR_KEY is not valid: is a placeholder: generate a secret');
    expect(() => parseSigningKey(text)).toThrow('placeholder');
  });

  it('is accepted if it is random', () => {
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const secrets = Array.from({ length: 200 }, () => randomBytes(32).toString(encoding));
      expect(secrets.filter(isPlaceholder)).toEqual([]);
      expect(secretText(32).parse(secrets[0])).toBe(secrets[0]);
    }
  });

  it('is rejected if it is too short', () => {
    expect(secretText(32).safeParse('a'.repeat(31)).success).toBe(false);
  });
});

describe('a list of previous secrets', () => {
  const [one, two] = ['a'.repeat(32), 'b'.repeat(32)];

  it.each([`${one},${two}`, `${one}\n${two}\n`, ` ${one} , ${two} ,`])('is read from %j', (text) => {
    expect(previousSecrets(32).parse(text)).toEqual([one, two]);
  });

  it('rejects a short secret and a placeholder', () => {
    expect(previousSecrets(32).safeParse(`${one},short`).success).toBe(false);
    expect(previousSecrets(32).safeParse(`${one},change-me-${two}`).success).toBe(false);
  });
});
