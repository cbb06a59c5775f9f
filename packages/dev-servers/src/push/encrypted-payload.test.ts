import { createECDH } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decryptPayload } from './encrypted-payload.js';

/** The example of RFC 8291, appendix A. */
const PRIVATE_KEY = 'q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94';
const AUTH = Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url');
const BODY = Buffer.from(
  'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  'base64url',
);

describe('an encrypted push payload', () => {
  const subscription = createECDH('prime256v1');
  subscription.setPrivateKey(Buffer.from(PRIVATE_KEY, 'base64url'));

  it('is decrypted as in the example of RFC 8291', () => {
    expect(decryptPayload(BODY, subscription, AUTH)).toBe('When I grow up, I want to be a watermelon');
  });

  it('is refused if it was encrypted for another subscription', () => {
    const other = createECDH('prime256v1');
    other.generateKeys();
    expect(() => decryptPayload(BODY, other, AUTH)).toThrow();
  });
});
