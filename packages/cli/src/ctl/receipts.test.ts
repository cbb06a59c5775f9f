import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperationId, type Receipt, type RouteDefinition, ROUTES, SignedReceipt } from '@uswarm/contract';
import { createReceiptSigner, generateCallKeys, receiptJwk } from '@uswarm/service-kit';
import { verifyReceipts } from './receipts.js';

/** A route's example in the API document. */
function exampleOf(operation: OperationId): unknown {
  const routes: readonly RouteDefinition[] = ROUTES;
  return routes.find(({ operationId }) => operationId === operation)?.example.answer;
}
const EXAMPLE = (exampleOf('getReceipt') as { data: Receipt }).data;
const { jws: _, ...SIGNED } = EXAMPLE;

const [old, current, unknownSigner] = [0, 1, 2].map(() => createReceiptSigner(generateCallKeys().privateKey)) as [
  ReturnType<typeof createReceiptSigner>,
  ReturnType<typeof createReceiptSigner>,
  ReturnType<typeof createReceiptSigner>,
];

/** Another value with the same type. */
function changed(value: unknown): unknown {
  if (value === null) return 'x';
  if (typeof value === 'string') return /^\d{4}-/.test(value) ? '2026-01-01T00:00:00.000Z' : otherText(value);
  if (typeof value === 'number') return value + 1;
  return { ...(value as object), more: 'x' };
}
const otherText = (text: string): string => (text.endsWith('e') ? `${text.slice(0, -1)}f` : `${text.slice(0, -1)}e`);

describe('uswarmctl receipt verify', () => {
  let folder: string;
  let keysFile: string;
  let receipt: Receipt;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-receipts-'));
    keysFile = await write('receipt-keys.json', { keys: [old, current].map(receiptJwk) });
    receipt = { ...SIGNED, jws: await current.sign(SIGNED) };
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function write(name: string, content: unknown): Promise<string> {
    const file = path.join(folder, name);
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  }
  /** Verifies a file with this content. */
  async function verify(content: unknown, keys?: string) {
    const file = await write('receipts.json', content);
    const { json, text, partial } = await verifyReceipts({ name: 'receipt verify', file, keys });
    const results = json as { id: string | null; valid: boolean; kid: string | null; reason: string | null }[];
    return { results, text, partial, reasons: results.map(({ reason }) => reason) };
  }
  const refusal = (content: unknown, keys?: string) =>
    verify(content, keys).then(
      () => undefined,
      ({ name, message }: Error) => ({ name, message }),
    );

  it('accepts a receipt, and reports what was signed', async () => {
    const { results, text, partial } = await verify(receipt);
    expect(results).toEqual([{ id: receipt.id, valid: true, kid: current.kid, reason: null, receipt: SIGNED }]);
    expect(text).toBe(
      `${receipt.id}: valid: send_mail succeeded at ${receipt.finished_at}, approved by ${receipt.approval?.user_id}`,
    );
    expect(partial).toBe(false);
  });

  it('accepts the example of the API document with the example of its keys', async () => {
    const keys = await write('example-keys.json', exampleOf('listReceiptKeys'));
    for (const operation of ['getReceipt', 'listReceipts'] as const) {
      expect((await verify(exampleOf(operation), keys)).reasons).toEqual([null]);
    }
  });

  it('accepts a receipt that was signed with a key that no longer signs', async () => {
    const { results } = await verify({ ...SIGNED, jws: await old.sign(SIGNED) });
    expect(results).toMatchObject([{ valid: true, kid: old.kid }]);
  });

  it.each<[string, (one: Receipt) => unknown]>([
    ['a receipt', (one) => one],
    ['the answer with one receipt', (one) => ({ data: one })],
    ['the answer with a list', (one) => ({ data: [one], pagination: {} })],
    ['a list', (one) => [one]],
  ])('reads %s', async (_what, wrap) => {
    expect((await verify(wrap(receipt))).reasons).toEqual([null]);
    const invalid = await verify(wrap({ ...receipt, tool: 'create_draft' }));
    expect(invalid).toMatchObject({ reasons: ['tool is not what was signed'], partial: true });
  });

  it('names each invalid receipt of a list', async () => {
    const { results, partial } = await verify([receipt, { ...receipt, outcome: 'Sent nothing.' }, receipt]);
    expect(results.map(({ valid }) => valid)).toEqual([true, false, true]);
    expect(partial).toBe(true);
  });

  it.each(Object.keys(SignedReceipt.shape))('refuses a receipt with another %s', async (field) => {
    const value = SIGNED[field as keyof SignedReceipt];
    const { results, partial } = await verify({ ...receipt, [field]: changed(value) });
    expect(results).toMatchObject([{ valid: false, kid: null, reason: expect.stringContaining(field) }]);
    expect(partial).toBe(true);
  });

  it.each(['effect', 'status'] as const)('refuses a receipt with another valid %s', async (field) => {
    const other = { effect: 'keyed', status: 'failed' }[field];
    expect((await verify({ ...receipt, [field]: other })).reasons).toEqual([`${field} is not what was signed`]);
  });

  it.each<[string, object]>([
    ['description', { description: 'To: “carol@example.com”' }],
    ['title', { title: 'Approve? Searching' }],
    ['user', { user_id: '01931a5e-7c00-7000-8000-0000000000ff' }],
    ['time', { approved_at: '2026-11-20T08:29:59.000Z' }],
  ])('refuses an approval with another %s', async (_what, change) => {
    const { reasons } = await verify({ ...receipt, approval: { ...receipt.approval, ...change } });
    expect(reasons).toEqual(['approval is not what was signed']);
  });

  it('refuses arguments with a property that schemas ignore', async () => {
    const text = JSON.stringify(receipt).replace('"subject":', '"__proto__":{"bcc":["eve@example.com"]},"subject":');
    expect((await verify(text)).reasons).toEqual(['arguments is not what was signed']);
  });

  it('refuses a further field', async () => {
    expect((await verify({ ...receipt, note: 'x' })).reasons).toEqual([expect.stringContaining('note')]);
  });

  it('refuses a missing field', async () => {
    const { key: __, ...rest } = receipt;
    expect((await verify(rest)).reasons).toEqual([expect.stringContaining('the receipt is malformed: key:')]);
  });

  it('refuses a changed signature, payload and header', async () => {
    const [header = '', payload = '', signature = ''] = (receipt.jws ?? '').split('.');
    const forged = Buffer.from(JSON.stringify({ ...SIGNED, key: 'x' })).toString('base64url');
    const swap = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
    const { reasons } = await verify([
      { ...receipt, jws: [header, payload, swap(signature)].join('.') },
      { ...receipt, key: 'x', jws: [header, forged, signature].join('.') },
      { ...receipt, jws: [header, payload].join('.') },
      { ...receipt, jws: '' },
    ]);
    expect(reasons).toEqual([
      'the signature is invalid',
      'the signature is invalid',
      'the signature is malformed',
      'the signature is malformed',
    ]);
  });

  it('refuses another key id', async () => {
    const [header = '', payload, signature] = (receipt.jws ?? '').split('.');
    const withKid = (kid: string) => {
      const fields = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
      return [Buffer.from(JSON.stringify({ ...fields, kid })).toString('base64url'), payload, signature].join('.');
    };
    const { reasons } = await verify([
      { ...receipt, jws: withKid(old.kid) },
      { ...receipt, jws: withKid('other') },
    ]);
    expect(reasons).toEqual(['the signature is invalid', 'the key other is unknown']);
  });

  it('refuses a key that never existed', async () => {
    const { reasons } = await verify({ ...SIGNED, jws: await unknownSigner.sign(SIGNED) });
    expect(reasons).toEqual([`the key ${unknownSigner.kid} is unknown`]);
  });

  it('refuses a signature of something else', async () => {
    const { reasons } = await verify({ ...receipt, jws: await current.sign({ id: receipt.id }) });
    expect(reasons).toEqual([expect.stringContaining('what was signed is malformed')]);
  });

  it('refuses a signed hash that is not that of the arguments', async () => {
    const wrong = { ...SIGNED, arguments_sha256: '0'.repeat(64) };
    const { reasons } = await verify({ ...wrong, jws: await current.sign(wrong) });
    expect(reasons).toEqual(['arguments_sha256 is not that of the arguments']);
  });

  it('verifies a receipt of a change of data of uswarm, which has no arguments', async () => {
    const own = { ...SIGNED, version: 2, effect: 'own', arguments: null, approval: null } as const;
    const { results } = await verify({ ...own, jws: await current.sign(own) });
    expect(results).toMatchObject([{ valid: true }]);
  });

  it('refuses a receipt of a call to another system without its arguments', async () => {
    const without = { ...SIGNED, arguments: null };
    const { reasons } = await verify({ ...without, jws: await current.sign(without) });
    expect(reasons).toEqual(['arguments_sha256 is not that of the arguments']);
  });

  it('does not accept a receipt that is not final, or that has no signature', async () => {
    const sent = { ...receipt, status: 'sent', finished_at: null, outcome: null };
    const { reasons } = await verify([{ ...sent, jws: null }, sent, { ...receipt, jws: null }]);
    const notFinal = 'the receipt is not final: the call has not ended';
    expect(reasons).toEqual([notFinal, notFinal, 'the signature is missing']);
  });

  it('refuses a receipt that is nested so deeply that it could not be compared', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const text = JSON.stringify({ ...receipt, arguments: { deep: 'HERE' } }).replace('"HERE"', deep);
    expect((await verify(text)).reasons).toEqual(['the receipt is nested too deeply']);
  });

  it('removes control characters from what it prints', async () => {
    const { text } = await verify({ ...receipt, id: '\u001B[2Jx' });
    expect(text).toMatch(/^\[2Jx: invalid: /);
  });

  it.each<[string, unknown, RegExp]>([
    ['no list', 'null', /receipts\.json contains no receipts\.$/],
    ['an empty list', { data: [] }, /receipts\.json contains no receipts\.$/],
    ['text', 'hello', /receipts\.json is not JSON\.$/],
  ])('reports a file with %s', async (_what, content, message) => {
    expect(await refusal(content)).toEqual({ name: 'Failure', message: expect.stringMatching(message) });
  });

  it('reports missing and invalid keys', async () => {
    const missing = await refusal(receipt, path.join(folder, 'none.json'));
    expect(missing?.message).toMatch(/none\.json cannot be read \(ENOENT\)\. Save GET \/v1\/receipt-keys/);
    const invalid = await refusal(receipt, await write('keys.json', { keys: [{ kid: 'k' }] }));
    expect(invalid?.message).toMatch(/keys\.json is not a key set of GET \/v1\/receipt-keys\.$/);
    expect(keysFile).toContain('receipt-keys.json');
  });
});
