import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { exceedsDepth, LIMITS, Receipt, SignedReceipt } from '@uswarm/contract';
import { canonicalJson, type ReceiptKey, ReceiptSignatureError, verifyReceiptSignature } from '@uswarm/service-kit';
import type { z } from 'zod';

export interface VerifiedReceipt {
  /** The key that signed. */
  kid: string;
  jws: string;
  /** Signed content. */
  receipt: SignedReceipt;
}

/**
 * Verifies a receipt, and that it contains what was signed.
 *
 * @throws ReceiptSignatureError that states what is wrong
 */
export async function verifiedReceipt(value: unknown, keys: readonly ReceiptKey[]): Promise<VerifiedReceipt> {
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
  const changed = fields.find((field) => !isDeepStrictEqual(shown?.[field], signed?.[field]));
  if (changed !== undefined) throw new ReceiptSignatureError(`${changed} is not what was signed`);
  // Arguments are not kept for changes to uswarm's own data.
  if (receipt.effect === 'own' && receipt.arguments === null) return { kid, jws, receipt };
  const hash = createHash('sha256').update(canonicalJson(signed?.['arguments'])).digest('hex');
  if (hash !== receipt.arguments_sha256)
    throw new ReceiptSignatureError('arguments_sha256 is not that of the arguments');
  return { kid, jws, receipt };
}

/** Values are compared and written recursively. */
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
