import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { verify } from './verify.js';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keys = [{ kid: 'one', x: publicKey.export({ format: 'jwk' }).x ?? '' }];
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
function signed(payload: object, header: object = { alg: 'EdDSA', typ: 'uswarm-receipt+jws', kid: 'one' }): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
}

describe('the signature of a receipt', () => {
  it('is verified with the key that it names, and has the payload', async () => {
    const payload = { tool: 'send_mail', outcome: 'Grüße' };
    expect(await verify(signed(payload), keys)).toEqual({ state: 'verified', payload });
  });

  it('is invalid for another payload', async () => {
    const [head, , signature] = signed({ tool: 'send_mail' }).split('.');
    expect(await verify(`${head}.${encode({ tool: 'other' })}.${signature}`, keys)).toEqual({ state: 'invalid' });
  });

  it.each([
    ['another type', { alg: 'EdDSA', typ: 'JWT', kid: 'one' }],
    ['another algorithm', { alg: 'none', typ: 'uswarm-receipt+jws', kid: 'one' }],
    ['an unknown key', { alg: 'EdDSA', typ: 'uswarm-receipt+jws', kid: 'two' }],
  ])('is invalid with %s', async (_, header) => {
    expect(await verify(signed({}, header), keys)).toEqual({ state: 'invalid' });
  });

  it('is invalid if it cannot be read, and missing if there is none', async () => {
    expect(await verify('nonsense', keys)).toEqual({ state: 'invalid' });
    expect(await verify(null, keys)).toEqual({ state: 'unsigned' });
  });
});
