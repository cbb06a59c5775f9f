import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Receipt, type RouteDefinition, ROUTES } from '@uswarm/contract';
import { createReceiptSigner, generateCallKeys, receiptJwk } from '@uswarm/service-kit';
import { type Content, KEYS_PATH, sealed, tablePath, TABLES, WORKSPACE_PATH } from '@uswarm/swarm-file';
import { type Zippable, zipSync } from 'fflate';
import { verifySwarmFile } from './swarm-file.js';

const signer = createReceiptSigner(generateCallKeys().privateKey);
const other = createReceiptSigner(generateCallKeys().privateKey);
const ABOUT = { created_at: '2026-11-20T08:30:00.000Z', workspace_id: '01931a5e-7c00-7000-8000-000000000001' };

/** The receipt of the API document. */
function unsignedReceipt(): Omit<Receipt, 'jws'> {
  const routes: readonly RouteDefinition[] = ROUTES;
  const answer = routes.find(({ operationId }) => operationId === 'getReceipt')?.example.answer;
  const { jws: _, ...receipt } = (answer as { data: Receipt }).data;
  return receipt;
}

describe('uswarmctl swarm-file verify', () => {
  let folder: string;
  let receipt: Receipt;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-swarm-file-'));
    const unsigned = unsignedReceipt();
    receipt = { ...unsigned, jws: await signer.sign(unsigned) };
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function members(receipts: unknown[], keys = [signer]): Promise<Zippable> {
    const texts: Record<string, string> = {
      [WORKSPACE_PATH]: '{}\n',
      ...Object.fromEntries(TABLES.map((table) => [tablePath(table), table === 'messages' ? '{}\n{}\n' : ''])),
      [tablePath('receipts')]: receipts.map((one) => `${JSON.stringify(one)}\n`).join(''),
      [KEYS_PATH]: JSON.stringify({ keys: keys.map(receiptJwk) }),
    };
    async function* contents(): AsyncGenerator<Content> {
      for (const [name, text] of Object.entries(texts)) {
        yield { path: name, compress: true, open: async () => Readable.from([Buffer.from(text)]) };
      }
    }
    const written: Zippable = {};
    for await (const { path: name, open } of sealed(contents(), ABOUT, signer))
      written[name] = await buffer(await open());
    return written;
  }

  async function verify(zippable: Zippable, keys?: string) {
    const file = path.join(folder, 'w.uswarm');
    await writeFile(file, zipSync(zippable));
    return verifySwarmFile({ name: 'swarm-file verify', file, keys });
  }
  async function keysOf({ kid, x }: { kid: string; x: string }): Promise<string> {
    const file = path.join(folder, 'keys.json');
    await writeFile(file, JSON.stringify({ keys: [receiptJwk({ kid, x })] }));
    return file;
  }

  it('accepts a file with the keys of its installation, and reports what it contains', async () => {
    const { json, text, partial } = await verify(await members([receipt]), await keysOf(signer));
    expect(json).toMatchObject({
      ...ABOUT,
      valid: true,
      origin_verified: true,
      kid: signer.kid,
      rows: { messages: 2, receipts: 1, files: 0 },
      invalid_receipts: 0,
      other_receipts: 0,
    });
    expect(text).toMatch(new RegExp(`^valid: workspace ${ABOUT.workspace_id} of ${ABOUT.created_at}, 10 members`));
    expect(text).toMatch(new RegExp(`\nsigned with ${signer.kid}$`));
    expect(partial).toBe(false);
  });

  it('reports that the keys of the file show no origin', async () => {
    const { json, text } = await verify(await members([]));
    expect(json).toMatchObject({ valid: true, origin_verified: false });
    expect(text).toContain("pass the installation's keys with --keys to verify who signed");
  });

  it('refuses a file of another installation', async () => {
    const { json, text, partial } = await verify(await members([]), await keysOf(other));
    const reason = `the key ${signer.kid} is unknown`;
    expect(json).toEqual({ valid: false, problem: 'signature_invalid', reason });
    expect({ text, partial }).toEqual({ text: `invalid: ${reason}`, partial: true });
  });

  it('refuses a file in which a line was changed', async () => {
    const changed = { ...(await members([])), [tablePath('messages')]: Buffer.from('{}\n[]\n') };
    const { json, partial } = await verify(changed);
    expect({ json, partial }).toEqual({
      json: { valid: false, problem: 'content_changed', reason: 'messages.jsonl is not what was signed' },
      partial: true,
    });
  });

  it('counts receipts that are not what was signed', async () => {
    const { json, text, partial } = await verify(await members([receipt, { ...receipt, outcome: 'Sent nothing.' }]));
    expect(json).toMatchObject({ valid: false, rows: { receipts: 2 }, invalid_receipts: 1 });
    expect({ last: text.split('\n').at(-1), partial }).toEqual({ last: '1 receipts are invalid', partial: true });
  });

  it('accepts receipts of another installation, which an import keeps, and reports that their key was not passed', async () => {
    const { jws: _, ...unsigned } = receipt;
    const imported = { ...unsigned, jws: await other.sign(unsigned) };
    const file = await members([receipt, imported], [signer, other]);
    const { json, text, partial } = await verify(file, await keysOf(signer));
    expect(json).toMatchObject({ valid: true, origin_verified: true, invalid_receipts: 0, other_receipts: 1 });
    expect(text.split('\n').at(-1)).toBe('1 receipts are signed with keys from the file that were not passed');
    expect(partial).toBe(false);
  });

  it('reports a file that cannot be read', async () => {
    const file = path.join(folder, 'none.uswarm');
    await expect(verifySwarmFile({ name: 'swarm-file verify', file, keys: undefined })).rejects.toMatchObject({
      name: 'Failure',
      message: `${file} cannot be read (ENOENT).`,
    });
  });
});
