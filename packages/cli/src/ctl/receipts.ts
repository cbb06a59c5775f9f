import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ReceiptKeySet, type SignedReceipt } from '@uswarm/contract';
import { parseJson, type ReceiptKey, ReceiptSignatureError } from '@uswarm/service-kit';
import { verifiedReceipt } from '@uswarm/swarm-file';
import { z } from 'zod';
import { Failure } from '../failure.js';
import type { CommandResult } from './commands.js';
import type { CtlCommand } from './ctl-arguments.js';
import { plain } from './show.js';

const KEYS_FILE = 'receipt-keys.json';

/** Verification result. */
interface Verified {
  /** Null if it cannot be read. */
  id: string | null;
  valid: boolean;
  /** The key that signed; null if the receipt is invalid. */
  kid: string | null;
  /** Why the receipt is invalid. */
  reason: string | null;
  /** Signed content; null if the receipt is invalid. */
  receipt: SignedReceipt | null;
}

/** A receipt, or receipts, alone or in `data` as routes and the data export return them. */
const Receipts = z.union([
  z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data),
  z.object({ data: z.looseObject({}) }).transform(({ data }) => [data]),
  z.array(z.unknown()),
  z.looseObject({}).transform((receipt) => [receipt]),
]);

/**
 * Verifies receipts without a connection.
 *
 * @throws Failure if a file cannot be read
 */
export async function verifyReceipts({
  file,
  keys: keysFile,
}: Extract<CtlCommand, { name: 'receipt verify' }>): Promise<CommandResult> {
  const receipts = Receipts.safeParse(await readJson(file));
  if (!receipts.success || receipts.data.length === 0) throw new Failure(`${file} contains no receipts.`);
  const keys = await readKeys(keysFile ?? path.join(path.dirname(file), KEYS_FILE));
  const results = await Promise.all(receipts.data.map((receipt) => verifyReceipt(receipt, keys)));
  return {
    json: results.map(({ result }) => result),
    text: results.map(({ text }) => text).join('\n'),
    partial: results.some(({ result }) => !result.valid),
  };
}

/** Reports whether a receipt is valid, and contains what was signed. */
export async function verifyReceipt(
  value: unknown,
  keys: readonly ReceiptKey[],
): Promise<{ result: Verified; text: string }> {
  const { id } = z
    .looseObject({ id: z.string().nullable().catch(null) })
    .catch({ id: null })
    .parse(value);
  try {
    const { kid, receipt } = await verifiedReceipt(value, keys);
    const approved = receipt.approval === null ? 'without an approval' : `approved by ${receipt.approval.user_id}`;
    const what = `${receipt.tool} ${receipt.status} at ${receipt.finished_at}, ${approved}`;
    return { result: { id, valid: true, kid, reason: null, receipt }, text: plain(`${id}: valid: ${what}`) };
  } catch (error) {
    if (!(error instanceof ReceiptSignatureError)) throw error;
    const { message: reason } = error;
    return {
      result: { id, valid: false, kid: null, reason, receipt: null },
      text: plain(`${id ?? '-'}: invalid: ${reason}`),
    };
  }
}

/** @throws Failure */
export async function readKeys(file: string): Promise<ReceiptKey[]> {
  const keys = ReceiptKeySet.safeParse(
    await readJson(file, `Save GET /v1/receipt-keys, and pass the file with --keys.`),
  );
  if (!keys.success) throw new Failure(`${file} is not a key set of GET /v1/receipt-keys.`);
  return keys.data.keys;
}

async function readJson(file: string, advice?: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure([`${file} cannot be read (${cause.code}).`, advice].join(' ').trim(), { cause });
  });
  const value = parseJson(text);
  if (value === undefined) throw new Failure(`${file} is not JSON.`);
  return value;
}
