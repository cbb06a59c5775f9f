import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { exceedsDepth, LIMITS, Receipt, ReceiptKeySet, SignedReceipt } from '@uswarm/contract';
import {
  canonicalJson,
  parseJson,
  type ReceiptKey,
  ReceiptSignatureError,
  verifyReceiptSignature,
} from '@uswarm/service-kit';
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

/** Verifies a receipt, and that it contains what was signed. */
export async function verifyReceipt(
  value: unknown,
  keys: readonly ReceiptKey[],
): Promise<{ result: Verified; text: string }> {
  const { id } = z
    .looseObject({ id: z.string().nullable().catch(null) })
    .catch({ id: null })
    .parse(value);
  try {
    const { kid, receipt } = await verified(value, keys);
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

/** @throws ReceiptSignatureError that states what is wrong */
async function verified(value: unknown, keys: readonly ReceiptKey[]): Promise<{ kid: string; receipt: SignedReceipt }> {
  requireDepth(value);
  const { status, jws } = parsed(Receipt, value, 'the receipt');
  if (status === 'sent') throw new ReceiptSignatureError('the receipt is not final: the call has not ended');
  if (jws === null) throw new ReceiptSignatureError('the signature is missing');
  const { kid, payload } = await verifyReceiptSignature(jws, keys);
  requireDepth(payload);
  const receipt = parsed(SignedReceipt, payload, 'what was signed');
  // As it was read: a schema can drop argument properties.
  const [shown, signed] = [value, payload] as Record<string, unknown>[];
  const fields = Object.keys(SignedReceipt.shape);
  const changed = fields.find((field) => canonicalJson(shown?.[field]) !== canonicalJson(signed?.[field]));
  if (changed !== undefined) throw new ReceiptSignatureError(`${changed} is not what was signed`);
  // Arguments are not kept for changes to uswarm's own data.
  if (receipt.effect === 'own' && receipt.arguments === null) return { kid, receipt };
  const hash = createHash('sha256').update(canonicalJson(signed?.['arguments'])).digest('hex');
  if (hash !== receipt.arguments_sha256)
    throw new ReceiptSignatureError('arguments_sha256 is not that of the arguments');
  return { kid, receipt };
}

/** Canonical JSON is written recursively. */
function requireDepth(value: unknown): void {
  if (exceedsDepth(value, LIMITS.jsonDepth)) throw new ReceiptSignatureError('the receipt is nested too deeply');
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const field = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new ReceiptSignatureError(`${what} is malformed: ${field}${issue?.message ?? ''}`);
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
