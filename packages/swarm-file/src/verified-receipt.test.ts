import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Receipt, type RouteDefinition, ROUTES } from '@uswarm/contract';
import { receiptKeyId } from '@uswarm/service-kit';
import { verifiedReceipt } from './verified-receipt.js';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const x = String(publicKey.export({ format: 'jwk' }).x);
const key = { kid: receiptKeyId(x), x };

/** The maker of a file can sign any text. */
function signed(payload: string): string {
  const header = JSON.stringify({ alg: 'EdDSA', kid: key.kid, typ: 'uswarm-receipt+jws' });
  const text = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
}

/** From the API document. */
const routes: readonly RouteDefinition[] = ROUTES;
const answer = routes.find(({ operationId }) => operationId === 'getReceipt')?.example.answer;
const { jws: _, ...CONTENT } = (answer as { data: Receipt }).data;

describe('a receipt in a file', () => {
  const verify = (payload: string) => verifiedReceipt({ ...CONTENT, jws: signed(payload) }, [key]);

  it('is accepted if it equals what was signed', async () => {
    const { kid, receipt } = await verify(JSON.stringify(CONTENT));
    expect({ kid, receipt }).toEqual({ kid: key.kid, receipt: CONTENT });
  });

  it.each<[string, string, string]>([
    ['a number', '5', 'what was signed is malformed: Invalid input: expected object, received number'],
    ['another outcome', JSON.stringify({ ...CONTENT, outcome: 'x' }), 'outcome is not what was signed'],
    [
      'arguments that are nested more deeply than calls can be',
      JSON.stringify({ ...CONTENT, arguments: { a: 0 } }).replace(
        '"a":0',
        `"a":${'['.repeat(99_999)}${']'.repeat(99_999)}`,
      ),
      'the receipt is nested too deeply',
    ],
  ])('is refused if %s was signed', async (_what, payload, message) => {
    await expect(verify(payload)).rejects.toMatchObject({ name: 'ReceiptSignatureError', message });
  });
});
