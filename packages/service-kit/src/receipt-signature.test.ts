import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CompactSign } from 'jose';
import { canonicalJson } from './canonical-json.js';
import {
  createReceiptSigner,
  receiptJwk,
  receiptPayload,
  verifyManifestSignature,
  verifyReceiptSignature,
} from './receipt-signature.js';
import { generateCallKeys } from './tokens.js';

const CALL_KEY = generateCallKeys().privateKey;
const signer = createReceiptSigner(CALL_KEY);

describe('the signature of a receipt', () => {
  it('verifies with the public key, and returns what was signed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (payload) => {
        const jws = await signer.sign(payload);
        const stored = JSON.parse(JSON.stringify(payload)) as unknown;
        expect(await verifyReceiptSignature(jws, [receiptJwk(signer)])).toEqual({ kid: signer.kid, payload: stored });
        expect(receiptPayload(jws)).toEqual(stored);
      }),
      { numRuns: 50 },
    );
  });

  it('is invalid after a change of any character', async () => {
    const jws = await signer.sign({ id: 'r' });
    const accepted: string[] = [];
    for (let at = 0; at < jws.length; at += 1) {
      const changed = jws.slice(0, at) + (jws[at] === 'A' ? 'B' : 'A') + jws.slice(at + 1);
      await verifyReceiptSignature(changed, [signer]).then(
        () => accepted.push(changed),
        (error: Error) => expect(error.name).toBe('ReceiptSignatureError'),
      );
    }
    expect(accepted).toEqual([]);
  });

  it('is refused with the key of another installation', async () => {
    const other = createReceiptSigner(generateCallKeys().privateKey);
    const jws = await other.sign({ id: 'r' });
    await expect(verifyReceiptSignature(jws, [signer])).rejects.toThrow(`the key ${other.kid} is unknown`);
    await expect(verifyReceiptSignature(jws, [{ kid: other.kid, x: signer.x }])).rejects.toThrow('is invalid');
  });

  it('is the same key after a restart, and another one for another call key', () => {
    const { kid, x } = createReceiptSigner(CALL_KEY);
    expect({ kid, x }).toEqual({ kid: signer.kid, x: signer.x });
    expect(createReceiptSigner(generateCallKeys().privateKey).kid).not.toBe(kid);
  });

  it('is not one of the key for calls to runtimes', async () => {
    const callKey = createPrivateKey(CALL_KEY);
    expect(callKey.export({ format: 'jwk' }).x).not.toBe(signer.x);
    const forged = await new CompactSign(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'EdDSA', kid: signer.kid, typ: 'uswarm-receipt+jws' })
      .sign(callKey);
    await expect(verifyReceiptSignature(forged, [signer])).rejects.toThrow('the signature is invalid');
  });

  it.each([
    ['no signature', ''],
    ['text', 'a.b.c'],
    [
      'the algorithm none',
      `${Buffer.from(JSON.stringify({ alg: 'none', kid: signer.kid })).toString('base64url')}.e30.`,
    ],
    [
      'a public key as shared secret',
      `${Buffer.from(JSON.stringify({ alg: 'HS256', kid: signer.kid })).toString('base64url')}.e30.AAAA`,
    ],
  ])('refuses %s', async (_what, jws) => {
    await expect(verifyReceiptSignature(jws, [signer])).rejects.toThrow(/^the signature is (malformed|invalid)$/);
  });
});

describe('the signature of a manifest', () => {
  const manifest = Buffer.from('{"format":"uswarm-workspace"}');

  it('verifies with the manifest, which it does not contain', async () => {
    const jws = await signer.signManifest(manifest);
    expect(jws.split('.')[1]).toBe('');
    expect(await verifyManifestSignature(jws, manifest, [signer])).toBe(signer.kid);
  });

  it('is invalid for a manifest with another byte', async () => {
    const jws = await signer.signManifest(manifest);
    const changed = Buffer.from(manifest.toString().replace('w', 'v'));
    await expect(verifyManifestSignature(jws, changed, [signer])).rejects.toThrow('the signature is invalid');
  });

  it('is not one of a receipt, nor the other way round', async () => {
    const detached = await signer.signManifest(manifest);
    const asReceipt = detached.replace('..', `.${manifest.toString('base64url')}.`);
    await expect(verifyReceiptSignature(asReceipt, [signer])).rejects.toThrow('one of something else');
    const receipt = await signer.sign({ format: 'uswarm-workspace' });
    const asManifest = receipt.replace(/\..*\./, '..');
    await expect(verifyManifestSignature(asManifest, manifest, [signer])).rejects.toThrow('one of something else');
  });

  it.each(['', '..', 'a.b.c', 'no signature'])('refuses %j', async (jws) => {
    await expect(verifyManifestSignature(jws, manifest, [signer])).rejects.toThrow('the signature is malformed');
  });
});

describe('canonical JSON', () => {
  it('does not depend on the order of properties', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        expect(canonicalJson(reversed)).toBe(canonicalJson(value));
      }),
    );
  });

  it('is the text of RFC 8785', () => {
    const value = {
      '\u20ac': 'Euro',
      '\r': 'CR',
      '1': 1e30,
      a: [56.0, { d: true, c: null }],
      numbers: [4.5, 2e-3, 1e-27],
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":"CR","1":1e+30,"a":[56,{"c":null,"d":true}],"numbers":[4.5,0.002,1e-27],"€":"Euro"}',
    );
  });
});
